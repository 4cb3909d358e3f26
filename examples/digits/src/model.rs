//! Three convolutions with batch norms, and a linear layer.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A convolution of each channel by itself, then one over all channels of each pixel, each with its batch norm.
#[derive(Debug, Module)]
pub struct Separable {
    depthwise: nn::Conv2D,
    bn1: nn::BatchNorm,
    pointwise: nn::Conv2D,
    bn2: nn::BatchNorm,
}

impl Separable {
    fn new(p: &nn::Path, i: i64, o: i64, stride: i64) -> Self {
        let depthwise = nn::ConvConfig { stride, padding: 1, groups: i, ..nn::no_bias() };
        Self {
            depthwise: nn::conv2d(p / "depthwise", i, i, 3, depthwise),
            bn1: nn::batch_norm2d(p / "bn1", i, norm()),
            pointwise: nn::conv2d(p / "pointwise", i, o, 1, nn::no_bias()),
            bn2: nn::batch_norm2d(p / "bn2", o, norm()),
        }
    }
}

#[traceable]
impl Separable {
    /// `[N, i, H, W]` to `[N, o, H / stride, W / stride]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = self.bn1.forward(&self.depthwise.forward(xs)).relu();
        self.bn2.forward(&self.pointwise.forward(&xs)).relu()
    }
}

/// A classifier of pictures of 8 by 8 pixels.
#[derive(Debug, Module)]
pub struct Digits {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
    block1: Separable,
    block2: Separable,
    fc: nn::Linear,
}

impl Digits {
    /// The model with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            conv: nn::conv2d(p / "conv", 1, 8, 3, nn::ConvConfig { padding: 1, ..nn::no_bias() }),
            bn: nn::batch_norm2d(p / "bn", 8, norm()),
            block1: Separable::new(&(p / "block1"), 8, 16, 2),
            block2: Separable::new(&(p / "block2"), 16, 24, 2),
            fc: nn::linear(p / "fc", 96, 10, nn::LinearConfig::default()),
        }
    }
}

fn norm() -> nn::BatchNormConfig {
    nn::BatchNormConfig { ws_init: nn::Init::Const(1.0), ..nn::BatchNormConfig::default() }
}

#[traceable]
impl Digits {
    /// Pictures `[N, 1, 8, 8]` to the logits of the digits, `[N, 10]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = self.bn.forward(&self.conv.forward(xs)).relu();
        let xs = self.block2.forward(&self.block1.forward(&xs));
        self.fc.forward(&xs.flatten(1, -1))
    }
}
