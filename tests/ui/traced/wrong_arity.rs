//! Known ops and layers take a known number of arguments; all calls that do not are reported at once.

use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

#[derive(Debug, Module)]
pub struct Net {
    conv1: nn::Conv2D,
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv1.forward(xs, false);
        ys.relu(1.0).softmax(-1)
    }
}

fn main() {}
