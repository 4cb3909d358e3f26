//! `#[traceable]` on models with parameters.

use fx_runtime::{Tensor, nn, traceable};

struct Repeated<const N: usize> {
    fc: nn::Linear,
}

#[traceable]
impl<const N: usize> Repeated<N> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let _ = (&self.fc, N);
        xs.shallow_clone()
    }
}

struct Wrapped<M> {
    inner: M,
}

#[traceable]
impl Wrapped<nn::Linear> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let _ = &self.inner;
        xs.shallow_clone()
    }
}

fn main() {}
