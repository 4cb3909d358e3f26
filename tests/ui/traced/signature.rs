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

fn main() {}
