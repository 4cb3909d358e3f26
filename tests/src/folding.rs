//! Where a convolution and a batch norm must not be merged, or must be although they lie far apart.
//!
//! torch.fx's fuser looks at names of modules, so that it folds into a convolution that is called twice and misses what
//! lies across the border of a module.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path, bias: bool) -> nn::Conv2D {
    nn::conv2d(p, 3, 3, 3, nn::ConvConfig { padding: 1, bias, ..Default::default() })
}

fn bn(p: nn::Path) -> nn::BatchNorm {
    nn::batch_norm2d(p, 3, nn::BatchNormConfig::default())
}

/// One convolution, called with and without its batch norm.
#[derive(Debug, Module)]
pub struct Twice {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl Twice {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv", true), bn: bn(p / "bn") }
    }
}

#[traceable]
impl Twice {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.conv.forward(xs));
        self.conv.forward(&ys)
    }
}

/// One convolution with two batch norms, one after each call.
#[derive(Debug, Module)]
pub struct TwoNorms {
    conv: nn::Conv2D,
    bn1: nn::BatchNorm,
    bn2: nn::BatchNorm,
}

impl TwoNorms {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv", false), bn1: bn(p / "bn1"), bn2: bn(p / "bn2") }
    }
}

#[traceable]
impl TwoNorms {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.conv.forward(xs)).relu();
        self.bn2.forward(&self.conv.forward(&ys))
    }
}

/// What the convolution gives is needed before the batch norm, too.
#[derive(Debug, Module)]
pub struct Elsewhere {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl Elsewhere {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv", true), bn: bn(p / "bn") }
    }
}

#[traceable]
impl Elsewhere {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv.forward(xs);
        self.bn.forward(&ys).relu() + ys
    }
}

/// A batch norm that normalises by the batch at hand, in inference too.
#[derive(Debug, Module)]
pub struct OfTheBatch {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl OfTheBatch {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv", true), bn: bn(p / "bn") }
    }
}

#[traceable]
impl OfTheBatch {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward_t(&self.conv.forward(xs), true).relu()
    }
}

/// The same pair, three times in a row.
#[derive(Debug, Module)]
pub struct Loop {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
    rounds: i64,
}

impl Loop {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv", false), bn: bn(p / "bn"), rounds: 3 }
    }
}

#[traceable]
impl Loop {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for _ in 0..self.rounds {
            ys = self.bn.forward(&self.conv.forward(&ys));
        }
        ys
    }
}

/// One batch norm behind each of several convolutions.
#[derive(Debug, Module)]
pub struct SharedNorm {
    convs: Vec<nn::Conv2D>,
    bn: nn::BatchNorm,
}

impl SharedNorm {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { convs: (0..3).map(|index| conv(p / "convs" / index, true)).collect(), bn: bn(p / "bn") }
    }
}

#[traceable]
impl SharedNorm {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for conv in &self.convs {
            ys = self.bn.forward(&conv.forward(&ys)).relu();
        }
        ys
    }
}

/// A convolution in a module of its own.
#[derive(Debug, Module)]
pub struct Inner {
    conv: nn::Conv2D,
}

#[traceable]
impl Inner {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(xs)
    }
}

/// The convolution inside, the batch norm outside; then the batch norm at the head of a `SequentialT`.
#[derive(Debug, Module)]
pub struct Borders {
    inner: Inner,
    bn: nn::BatchNorm,
    conv: nn::Conv2D,
    tail: nn::SequentialT,
}

impl Borders {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let tail = p / "tail";
        Self {
            inner: Inner { conv: conv(p / "inner" / "conv", true) },
            bn: bn(p / "bn"),
            conv: conv(p / "conv", false),
            tail: nn::seq_t().add(bn(&tail / 0)).add(nn::relu()).add(conv(&tail / 2, true)).add(bn(&tail / 3)),
        }
    }
}

#[traceable]
impl Borders {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.inner.forward(xs));
        self.tail.forward_t(&self.conv.forward(&ys), false)
    }
}

/// A grouped transposed convolution and its batch norm.
#[derive(Debug, Module)]
pub struct Transposed {
    up: nn::ConvTranspose2D,
    bn: nn::BatchNorm,
}

impl Transposed {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let config = nn::ConvTransposeConfig { stride: 2, groups: 2, bias: false, ..Default::default() };
        Self {
            up: nn::conv_transpose2d(p / "up", 4, 6, 3, config),
            bn: nn::batch_norm2d(p / "bn", 6, nn::BatchNormConfig::default()),
        }
    }
}

#[traceable]
impl Transposed {
    /// `[N, 4, H, W]` to `[N, 6, 2H + 1, 2W + 1]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.up.forward(xs)).relu()
    }
}

/// A linear layer and a batch norm over axis 1, which is the layer's only if the input has two axes.
#[derive(Debug, Module)]
pub struct LinearNorm {
    fc: nn::Linear,
    bn: nn::BatchNorm,
}

impl LinearNorm {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            fc: nn::linear(p / "fc", 5, 7, nn::LinearConfig::default()),
            bn: nn::batch_norm1d(p / "bn", 7, nn::BatchNormConfig::default()),
        }
    }
}

#[traceable]
impl LinearNorm {
    /// `[N, 5]` to `[N, 7]`, or `[N, 7, 5]` to `[N, 7, 7]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.fc.forward(xs)).relu()
    }
}

/// A linear layer behind something of two axes for sure, and its batch norm.
#[derive(Debug, Module)]
pub struct FlatNorm {
    fc: nn::Linear,
    bn: nn::BatchNorm,
}

impl FlatNorm {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            fc: nn::linear(p / "fc", 12, 7, nn::LinearConfig { bias: false, ..Default::default() }),
            bn: nn::batch_norm1d(p / "bn", 7, nn::BatchNormConfig::default()),
        }
    }
}

#[traceable]
impl FlatNorm {
    /// `[N, 3, 2, 2]` to `[N, 7]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.fc.forward(&xs.flat_view()))
    }
}
