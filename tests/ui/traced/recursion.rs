//! A graph is finite.

use fx_runtime::{Tensor, traceable};

#[traceable(strict)]
pub fn deepen(xs: &Tensor) -> Tensor {
    again(&xs.relu())
}

#[traceable(strict)]
pub fn again(xs: &Tensor) -> Tensor {
    deepen(xs)
}

fn main() {}
