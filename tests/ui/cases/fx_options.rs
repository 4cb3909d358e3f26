//! Faulty `#[fx(..)]`, imported and within a traceable impl.

use fx_runtime::{Tensor, fx, traceable};

#[fx(laef)]
pub fn embed(xs: &Tensor) -> Tensor {
    xs.relu()
}

#[fx(leaf)]
pub struct Net;

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.mix(xs)
    }

    #[fx(leaf, inline)]
    fn mix(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

fn main() {}
