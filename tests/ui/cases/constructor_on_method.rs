//! A method that makes a model of closures cannot be traced; a function that takes its type can.

use fx_runtime::{Tensor, nn, traceable};

/// Where parameters are.
pub struct Path;

pub struct Config {
    width: i64,
}

impl Config {
    #[traceable]
    pub fn build(&self, p: &Path) -> impl nn::Module {
        let _ = (self.width, p);
        nn::Linear
    }
}

fn main() {
    let _ = Tensor;
}
