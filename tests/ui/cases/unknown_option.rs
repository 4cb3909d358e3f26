//! All unknown options are named at once, each with what was probably meant.

use fx_runtime::{Tensor, traceable};

pub struct Net;

#[traceable(strct, depth = 3, entry = 1)]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[traceable(entry = ["relu", 2, "relu"])]
impl Net {
    pub fn relu(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[traceable(specialize(trian = false, train))]
pub fn forward(xs: &Tensor, train: bool) -> Tensor {
    if train { xs.relu() } else { xs.shallow_clone() }
}

#[traceable(specialize(trian = false))]
pub fn forward_t(xs: &Tensor, train: bool) -> Tensor {
    if train { xs.relu() } else { xs.shallow_clone() }
}

fn main() {}
