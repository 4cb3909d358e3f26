//! Rotary positions, with vectors of sizes that are edited.

use super::*;
use tch::IndexOp;

pub fn frequencies(xs: &Tensor, base: f64) -> Tensor {
    let (_, n, dim) = xs.size3().unwrap();
    let inverse: Vec<f32> = (0..dim).step_by(2).map(|i| 1f32 / (base as f32).powf(i as f32 / dim as f32)).collect();
    let inverse = Tensor::from_slice(&inverse).to_device(xs.device());
    let steps = Tensor::arange(n, (Kind::Float, xs.device()));
    steps.outer(&inverse).repeat([1, 2])
}

pub fn rotate(xs: &Tensor, freqs: &Tensor) -> Tensor {
    xs * freqs.cos() + swap(xs) * freqs.sin()
}

fn swap(xs: &Tensor) -> Tensor {
    let mut sizes = xs.size();
    let last = sizes.pop().unwrap();
    let half = last / 2;
    sizes.push(half);
    let left = xs.narrow(-1, 0, half).reshape(&sizes);
    let right = xs.narrow(-1, half, last - half);
    Tensor::cat(&[-right, left], -1)
}

pub fn halves(xs: &Tensor) -> Tensor {
    let n = xs.size()[2] / 2;
    xs.i((.., .., ..n)) + xs.i((.., .., n..))
}
