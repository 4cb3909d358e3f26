//! Three convolutions with batch norms, and a linear layer.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A classifier of pictures of 8 by 8 pixels.
#[derive(Debug, Module)]
pub struct Digits {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
    conv3: nn::Conv2D,
    bn3: nn::BatchNorm,
    fc: nn::Linear,
}

impl Digits {
    /// The model with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let norm = nn::BatchNormConfig { ws_init: nn::Init::Const(1.0), ..nn::BatchNormConfig::default() };
        let conv = |stride: i64| nn::ConvConfig { stride, padding: 1, ..nn::no_bias() };
        Self {
            conv1: nn::conv2d(p / "conv1", 1, 8, 3, conv(1)),
            bn1: nn::batch_norm2d(p / "bn1", 8, norm),
            conv2: nn::conv2d(p / "conv2", 8, 12, 3, conv(2)),
            bn2: nn::batch_norm2d(p / "bn2", 12, norm),
            conv3: nn::conv2d(p / "conv3", 12, 12, 3, conv(2)),
            bn3: nn::batch_norm2d(p / "bn3", 12, norm),
            fc: nn::linear(p / "fc", 48, 10, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl Digits {
    /// Pictures `[N, 1, 8, 8]` to the logits of the digits, `[N, 10]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let xs = self.bn2.forward(&self.conv2.forward(&xs)).relu();
        let xs = self.bn3.forward(&self.conv3.forward(&xs)).relu();
        self.fc.forward(&xs.flatten(1, -1))
    }
}
