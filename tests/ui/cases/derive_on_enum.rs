//! A module has its fields all at once.

use fx_runtime::{Module, nn};

#[derive(Module)]
pub enum Stem {
    Plain(nn::Linear),
    Deep(nn::Linear, nn::Linear),
}

#[derive(Module)]
pub union Either {
    one: std::mem::ManuallyDrop<nn::Linear>,
}

fn main() {}
