//! A frozen model is read by many threads at once, so that the entry takes `&self`.

use std::rc::Rc;

use fx_runtime::{Tensor, traceable};

pub struct Stateful;

#[traceable]
impl Stateful {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub struct Consumed;

#[traceable]
impl Consumed {
    pub fn forward(self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub struct Shared;

#[traceable]
impl Shared {
    pub fn forward(self: Rc<Self>, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub struct Absent;

#[traceable]
impl Absent {
    pub fn forward(xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

fn main() {}
