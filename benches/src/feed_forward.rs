//! Feed-forward blocks of a large language model, of which one row takes the time that it takes to read the weights.

use fx_runtime::{Module, Tensor, nn, traceable};

/// `down(silu(gate(x)) · up(x))`, as LLaMA has it.
#[derive(Debug, Module)]
pub struct FeedForward {
    gate: nn::Linear,
    up: nn::Linear,
    down: nn::Linear,
}

impl FeedForward {
    fn new(p: &nn::Path, width: i64, inner: i64) -> Self {
        let layer = |name: &str, from: i64, to| {
            // So small that values stay within f16 through all blocks.
            let stdev = 0.5 / f64::from(u32::try_from(from).unwrap_or(1)).sqrt();
            let ws_init = nn::Init::Randn { mean: 0.0, stdev };
            nn::linear(p / name, from, to, nn::LinearConfig { bias: false, ws_init, ..Default::default() })
        };
        Self { gate: layer("gate", width, inner), up: layer("up", width, inner), down: layer("down", inner, width) }
    }
}

#[traceable]
impl FeedForward {
    /// `[.., width]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (xs.apply(&self.gate).silu() * xs.apply(&self.up)).apply(&self.down)
    }
}

/// Some of them, each added to what comes in.
#[derive(Debug, Module)]
pub struct FeedForwards {
    blocks: Vec<FeedForward>,
}

impl FeedForwards {
    /// So many blocks of `width` numbers a row, and `inner` between their layers.
    pub fn new(p: &nn::Path, blocks: usize, width: i64, inner: i64) -> Self {
        Self { blocks: (0..blocks).map(|number| FeedForward::new(&(p / number), width, inner)).collect() }
    }
}

#[traceable]
impl FeedForwards {
    /// `[rows, width]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for block in &self.blocks {
            xs = &xs + block.forward(&xs);
        }
        xs
    }
}
