//! Faulty options of fields, all reported together.

use fx_runtime::{Module, Tensor, nn};

#[derive(Module)]
#[module(name = "net")]
pub struct Net {
    #[module(nmae = "fc")]
    fc: nn::Linear,
    #[module(frozen)]
    stem: nn::Linear,
    #[module(skip, buffer)]
    cache: Tensor,
    #[module(parameter, buffer)]
    scale: Tensor,
    #[module(name = "layer..1")]
    layer: nn::Linear,
    #[module(skip, name = "x")]
    renamed: nn::Linear,
    #[module(name = 3)]
    number: nn::Linear,
}

fn main() {}
