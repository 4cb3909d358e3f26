//! A module of its own, private to its parent.

use fx_runtime::{Kind, Tensor as T};

use self::scale::of as scale_of;

pub(super) fn scaled(q: &T, k: &T, v: &T) -> T {
    let dim = last(q);
    (q.matmul(&k.transpose(-2, -1)) * scale_of(dim)).softmax(-1, Kind::Float).matmul(v)
}

fn last(xs: &T) -> i64 {
    *xs.size().last().unwrap()
}

mod scale {
    pub fn of(dim: i64) -> f64 {
        1.0 / (dim as f64).sqrt()
    }
}
