//! A field that the struct does not have.

use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

#[derive(Debug, Module)]
pub struct Net {
    conv1: nn::Conv2D,
    conv2: nn::Conv2D,
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv1.forward(xs).relu();
        self.conv3.forward(&ys)
    }
}

fn main() {}
