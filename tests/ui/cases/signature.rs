//! What a generated `forward` cannot repeat.

use fx_runtime::{Tensor, traceable};

#[traceable]
pub async fn remote(xs: &Tensor) -> Tensor {
    xs.relu()
}

pub struct Net;

#[traceable]
impl Net {
    pub unsafe fn forward<T: AsRef<Tensor>, const N: usize>(&self, xs: T) -> Tensor {
        xs.as_ref().relu()
    }
}

fn main() {}
