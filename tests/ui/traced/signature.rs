//! What a generated `forward` cannot repeat; `strict` insists.

use fx_runtime::{Module, Tensor, traceable};

#[traceable(strict)]
pub async fn remote(xs: &Tensor) -> Tensor {
    xs.relu()
}

#[derive(Debug, Module)]
pub struct Net;

#[traceable(strict)]
impl Net {
    pub unsafe fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[derive(Debug, Module)]
pub struct Slope;

#[traceable(strict)]
impl Slope {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let energy = xs.square().sum(fx_runtime::Kind::Float);
        Tensor::run_backward(&[energy], &[xs], false, false).remove(0)
    }
}

#[derive(Debug, Module)]
pub enum Either {
    One(fx_runtime::nn::Linear),
}

#[traceable(strict)]
impl Either {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Either::One(layer) = self;
        xs.apply(layer)
    }
}

fn main() {}
