//! Nets.

mod blocks;
pub mod closures;

use fx_runtime::{nn, nn::ModuleT};
use tch::Tensor; // as ever

pub use blocks::{Act, Block};

/// Which data a net is for: no module.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub classes: i64,
}

/// A net.
#[derive(fx_runtime::Module)]
pub struct Net {
    stem:   nn::Conv2D,   // aligned by hand
    blocks: Vec<Block>,
    config: Config,
}

impl Net {
    pub fn new(vs: &nn::Path, config: Config) -> Net {
        let stem = nn::conv2d(vs / "stem", 3, 8, 3, Default::default());
        Net { stem, blocks: vec![Block::new(&(vs / "block"), 8)], config }
    }

    pub fn classes(&self) -> i64 { self.config.classes }
}

#[fx_runtime::traceable]
impl ModuleT for Net {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.blocks.iter().fold(xs.apply(&self.stem), |xs, block| block.forward(&xs, train))
    }
}

/// Trains a net: it holds one, and is none.
pub struct Trainer {
    pub vs: nn::VarStore,
    pub net: Net,
}

#[cfg(test)]
mod tests {
    use fx_runtime::nn;
    use tch::Device;

    #[test]
    fn a_net() {
        let vs = nn::VarStore::new(Device::Cpu);
        super::Net::new(&vs.root(), super::Config { classes: 2 });
    }
}
