//! A residual network with and without a downsampled skip, in tch's `forward_t` form.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path, from: i64, to: i64, kernel: i64, stride: i64) -> nn::Conv2D {
    let config = nn::ConvConfig { stride, padding: kernel / 2, bias: false, ..Default::default() };
    nn::conv2d(p, from, to, kernel, config)
}

fn bn(p: nn::Path, channels: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, channels, nn::BatchNormConfig::default())
}

/// Brings the skip connection to the size of the block's result.
#[derive(Debug, Module)]
pub struct Shortcut {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

/// Two convolutions and what skips them.
#[derive(Debug, Module)]
pub struct Block {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
    shortcut: Option<Shortcut>,
}

impl Block {
    fn new(p: &nn::Path, from: i64, to: i64, stride: i64) -> Self {
        let skip = p / "shortcut";
        let shortcut = (stride != 1 || from != to)
            .then(|| Shortcut { conv: conv(&skip / "conv", from, to, 1, stride), bn: bn(&skip / "bn", to) });
        Self {
            conv1: conv(p / "conv1", from, to, 3, stride),
            bn1: bn(p / "bn1", to),
            conv2: conv(p / "conv2", to, to, 3, 1),
            bn2: bn(p / "bn2", to),
            shortcut,
        }
    }
}

#[traceable]
impl nn::ModuleT for Block {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.conv1).apply_t(&self.bn1, train).relu();
        let ys = ys.apply(&self.conv2).apply_t(&self.bn2, train);
        let skip = match &self.shortcut {
            Some(shortcut) => xs.apply(&shortcut.conv).apply_t(&shortcut.bn, train),
            None => xs.shallow_clone(),
        };
        (ys + skip).relu()
    }
}

/// A stem, four blocks of which the third downsamples, and a classifier.
#[derive(Debug, Module)]
pub struct Residual {
    stem: nn::Conv2D,
    bn: nn::BatchNorm,
    blocks: Vec<Block>,
    dropout: nn::Dropout,
    fc: nn::Linear,
}

impl Residual {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let blocks = [(8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1)];
        let block = |(index, (from, to, stride))| Block::new(&(p / "blocks" / index), from, to, stride);
        Self {
            stem: conv(p / "stem", 3, 8, 3, 1),
            bn: bn(p / "bn", 8),
            blocks: blocks.into_iter().enumerate().map(block).collect(),
            dropout: nn::dropout(0.5),
            fc: nn::linear(p / "fc", 16, 10, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl Residual {
    /// Images `[N, 3, H, W]` to scores `[N, 10]`.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let mut ys = xs.apply(&self.stem).apply_t(&self.bn, train).relu();
        for block in &self.blocks {
            ys = ys.apply_t(block, train);
        }
        let ys = ys.adaptive_avg_pool2d([1, 1]).flatten(1, -1);
        ys.apply_t(&self.dropout, train).apply(&self.fc)
    }
}

/// Layers that are numbered, in both ways of counting.
#[derive(Debug, Module)]
pub struct Numbered {
    layers: Vec<nn::Linear>,
    offsets: Vec<f64>,
}

impl Numbered {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let layer = |index| nn::linear(p / "layers" / index, 6, 6, nn::LinearConfig::default());
        Self { layers: (0..4).map(layer).collect(), offsets: vec![0.5, -0.25] }
    }
}

#[traceable]
impl Numbered {
    /// `[N, 6]` to `[N, 6]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (index, layer) in self.layers.iter().enumerate() {
            ys = layer.forward(&ys).roll(index as i64, 1);
        }
        for index in 0..3 {
            ys = &ys * ys.narrow(1, index, 1);
        }
        for (index, offset) in self.offsets.iter().enumerate() {
            ys = ys.roll(index as i64, 1) + *offset;
        }
        for index in 0..self.layers.len() {
            ys = self.layers[index].forward(&ys).tanh();
        }
        ys
    }
}
