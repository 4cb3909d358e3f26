//! A frozen model is called more than once, so that the entry takes the model by reference; `strict` insists.

use std::rc::Rc;

use fx_runtime::{Module, Tensor, traceable};

#[derive(Debug, Module)]
pub struct Consumed;

#[traceable(strict)]
impl Consumed {
    pub fn forward(self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[derive(Debug, Module)]
pub struct Shared;

#[traceable(strict)]
impl Shared {
    pub fn forward(self: Rc<Self>, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[derive(Debug, Module)]
pub struct Absent;

#[traceable(strict)]
impl Absent {
    pub fn forward(xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

fn main() {}
