//! Without a function of a known name there is nothing to trace.

use fx_runtime::{Tensor, traceable};

pub struct Encoder;

#[traceable]
impl Encoder {
    pub fn new() -> Encoder {
        Encoder
    }

    pub fn encode(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

#[traceable(entry = "decode")]
impl Encoder {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub struct Refiner;

#[traceable(entry = ["encode", "decode", "refine"])]
impl Refiner {
    pub fn encode(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }

    pub fn refine(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub struct Empty;

#[traceable]
impl Empty {}

fn main() {}
