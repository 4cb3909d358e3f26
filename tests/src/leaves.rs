//! Modules that are not looked into, and stages whose chains are built under conditions: what the live graph calls them.

use fx_runtime::{Module, Tensor, nn, nn::RNN as _, traceable};

/// A norm and a linear layer around an addition.
#[derive(Debug, Module)]
pub struct Block {
    norm: nn::LayerNorm,
    fc: nn::Linear,
}

impl Block {
    fn new(p: &nn::Path) -> Block {
        Block {
            norm: nn::layer_norm(p / "norm", vec![4], nn::LayerNormConfig::default()),
            fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()),
        }
    }
}

impl nn::Module for Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + xs.apply(&self.norm).apply(&self.fc).relu()
    }
}

/// Blocks behind each other, behind a linear layer where one is asked for.
#[derive(Debug, Module)]
pub struct Stage {
    layers: nn::Sequential,
}

impl Stage {
    fn new(p: &nn::Path, widens: bool, blocks: i64) -> Stage {
        let p = p / "layers";
        let mut layers = nn::seq();
        if widens {
            layers = layers.add(nn::linear(&p / 0, 4, 4, nn::LinearConfig::default()));
        }
        for _ in 0..blocks {
            let at = layers.len();
            layers = layers.add(Block::new(&(&p / at)));
        }
        Stage { layers }
    }
}

/// A head that stays one call.
#[derive(Debug, Module)]
pub struct Head {
    fc: nn::Linear,
}

impl Head {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).tanh()
    }
}

/// An LSTM, stages and a head.
#[derive(Debug, Module)]
pub struct Staged {
    lstm: nn::LSTM,
    stages: Vec<Stage>,
    #[fx(leaf)]
    head: Head,
}

impl Staged {
    /// With fresh weights.
    pub fn new(p: &nn::Path) -> Staged {
        let stage = |at: i64, widens| Stage::new(&(p / "stages" / at), widens, at + 1);
        Staged {
            lstm: nn::lstm(p / "lstm", 4, 4, nn::RNNConfig::default()),
            stages: vec![stage(0, false), stage(1, true)],
            head: Head { fc: nn::linear(p / "head" / "fc", 4, 2, nn::LinearConfig::default()) },
        }
    }
}

#[traceable]
impl Staged {
    /// Of sequences.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut ys, _) = self.lstm.seq(xs);
        for stage in &self.stages {
            ys = ys.apply(&stage.layers);
        }
        self.head.forward(&ys)
    }
}
