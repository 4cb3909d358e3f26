//! Under `strict` nothing is carried along as it is, in what is called neither.

use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

#[derive(Debug, Module)]
pub struct Net {
    conv1: nn::Conv2D,
}

fn largest(xs: Vec<Tensor>) -> Tensor {
    xs.into_iter().max_by_key(|x| x.softmax(0).relu().to_string()).unwrap_or(Tensor)
}

#[traceable(strict)]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv1.forward(xs);
        let zs = loop {
            if String::new().is_empty() {
                break ys.relu();
            }
        };
        largest(vec![ys, zs])
    }
}

fn main() {}
