//! A layer of `tch` itself, which keeps its configuration to itself.

extern crate fx_runtime as tch;

use fx_runtime::{Module, Tensor, traceable};
use tch::nn;

#[derive(Module)]
pub struct Net {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        nn::Module::forward(&self.fc, xs)
    }
}

fn main() {}
