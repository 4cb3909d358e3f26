//! What stands in front of a layer, or is multiplied with its result, as a part of its weights.

use fx_runtime::{Module, Tensor, nn, traceable};

fn bn(p: nn::Path, channels: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, channels, nn::BatchNormConfig::default())
}

/// A batch norm in front of a convolution in groups, which pads or does not.
#[derive(Debug, Module)]
pub struct LeadingNorm {
    bn: nn::BatchNorm,
    conv: nn::Conv2D,
}

impl LeadingNorm {
    /// The network with fresh weights under `p`; nothing is padded.
    pub fn new(p: &nn::Path) -> Self {
        Self::padded(p, 0)
    }

    /// The same with a border of zeros.
    pub fn padded(p: &nn::Path, padding: i64) -> Self {
        let config = nn::ConvConfig { padding, groups: 2, ..Default::default() };
        Self { bn: bn(p / "bn", 4), conv: nn::conv2d(p / "conv", 4, 6, 3, config) }
    }
}

#[traceable]
impl LeadingNorm {
    /// `[N, 4, H, W]` to `[N, 6, H - 2, W - 2]`, or to `[N, 6, H, W]` where a border is added.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(&self.bn.forward(xs)).relu()
    }
}

/// A batch norm in front of a linear layer on matrices.
#[derive(Debug, Module)]
pub struct LeadingFlat {
    bn: nn::BatchNorm,
    fc: nn::Linear,
}

impl LeadingFlat {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            bn: nn::batch_norm1d(p / "bn", 12, nn::BatchNormConfig::default()),
            fc: nn::linear(p / "fc", 12, 7, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl LeadingFlat {
    /// `[N, 3, 2, 2]` to `[N, 7]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(&self.bn.forward(&xs.flat_view())).tanh()
    }
}

/// Factors on both sides of a convolution and a linear layer, written out and of the model.
#[derive(Debug, Module)]
pub struct Scaled {
    conv: nn::Conv2D,
    fc: nn::Linear,
    scale: f64,
}

impl Scaled {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let config = nn::ConvConfig { padding: 1, ..Default::default() };
        Self {
            conv: nn::conv2d(p / "conv", 3, 5, 3, config),
            fc: nn::linear(p / "fc", 5, 4, nn::LinearConfig { bias: false, ..Default::default() }),
            scale: 0.7,
        }
    }
}

#[traceable]
impl Scaled {
    /// `[N, 3, H, W]` to `[N, 4]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = (self.conv.forward(&(xs.sigmoid() / 3)) * self.scale).relu();
        let ys = ys.adaptive_avg_pool2d([1, 1]).flat_view();
        self.fc.forward(&(ys * 2)) / 4.0
    }
}
