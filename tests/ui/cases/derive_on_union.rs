//! A module has its fields all at once, or is one of several.

use fx_runtime::{Module, nn};

#[derive(Module)]
#[module(skip)]
pub enum Stem {
    Plain(#[module(nmae = "fc")] nn::Linear),
    Deep {
        #[module(name = "fc")]
        first: nn::Linear,
        #[module(name = "fc")]
        second: nn::Linear,
    },
}

#[derive(Module)]
pub union Either {
    one: std::mem::ManuallyDrop<nn::Linear>,
}

fn main() {}
