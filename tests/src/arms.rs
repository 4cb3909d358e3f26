//! Layers and attention with an `if` or a `match` in the middle.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path) -> nn::Conv2D {
    nn::conv2d(p, 4, 4, 3, nn::ConvConfig { padding: 1, bias: false, ..Default::default() })
}

/// A residual under a flag, as in `MobileNetV2`.
#[derive(Debug, Module)]
pub struct Shortcut {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
    shortcut: bool,
}

impl Shortcut {
    /// The network with fresh weights under `p`, with the shortcut.
    pub fn new(p: &nn::Path) -> Self {
        Self::with(p, true)
    }

    /// The network with fresh weights under `p`.
    pub fn with(p: &nn::Path, shortcut: bool) -> Self {
        Self { conv: conv(p / "conv"), bn: nn::batch_norm2d(p / "bn", 4, nn::BatchNormConfig::default()), shortcut }
    }
}

#[traceable]
impl Shortcut {
    /// `[N, 4, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.conv.forward(xs));
        let out = if self.shortcut { ys + xs } else { ys };
        out.relu()
    }
}

/// A layer that may be missing, with a batch norm, a sum and an activation behind.
#[derive(Debug, Module)]
pub struct Projected {
    conv: Option<nn::Conv2D>,
    bn: nn::BatchNorm,
}

impl Projected {
    /// The network with fresh weights under `p`, with the layer.
    pub fn new(p: &nn::Path) -> Self {
        Self::with(p, true)
    }

    /// The network with fresh weights under `p`.
    pub fn with(p: &nn::Path, projected: bool) -> Self {
        let conv = if projected { Some(conv(p / "conv")) } else { None };
        Self { conv, bn: nn::batch_norm2d(p / "bn", 4, nn::BatchNormConfig::default()) }
    }
}

#[traceable]
impl Projected {
    /// `[N, 4, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = match &self.conv {
            Some(conv) => conv.forward(xs),
            None => xs.shallow_clone(),
        };
        (self.bn.forward(&ys) + xs.tanh()).silu()
    }
}

/// A residual whose branch is scaled for each channel, as in `ConvNeXt` and `CaiT`.
#[derive(Debug, Module)]
pub struct LayerScale {
    conv: nn::Conv2D,
    fc: nn::Linear,
    of_channels: Tensor,
    of_features: Tensor,
}

impl LayerScale {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self::with(p, &[4, 1, 1], &[6])
    }

    /// The network with fresh weights under `p` and factors of these shapes.
    pub fn with(p: &nn::Path, channels: &[i64], features: &[i64]) -> Self {
        Self {
            conv: conv(p / "conv"),
            fc: nn::linear(p / "fc", 6, 6, nn::LinearConfig::default()),
            of_channels: p.ones("of_channels", channels),
            of_features: p.ones("of_features", features),
        }
    }
}

#[traceable]
impl LayerScale {
    /// `[N, 4, H, 6]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs + self.conv.forward(xs) * &self.of_channels;
        (&self.of_features * self.fc.forward(&ys)).relu()
    }
}
