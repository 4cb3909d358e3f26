//! A frozen type repeats the signature, for which it needs the names of its types.

use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

#[derive(Debug, Module)]
pub struct Net {
    conv1: nn::Conv2D,
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: impl AsRef<Tensor>) -> Tensor {
        self.conv1.forward(xs.as_ref())
    }
}

fn main() {}
