//! Two fields under one name would overwrite each other in a weights file.

use fx_runtime::{Module, nn};

#[derive(Module)]
pub struct Net {
    fc: nn::Linear,
    #[module(name = "fc")]
    head: nn::Linear,
    #[module(name = "fc")]
    other: nn::Linear,
}

fn main() {}
