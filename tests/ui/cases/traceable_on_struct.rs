//! `#[traceable]` is for what computes.

use fx_runtime::{nn, traceable};

#[traceable]
pub struct Net {
    pub fc: nn::Linear,
}

#[traceable(strict)]
mod model {}

#[traceable]
pub const LAYERS: usize = 2;

#[traceable]
pub trait Forward {
    fn forward(&self);
}

fn main() {}
