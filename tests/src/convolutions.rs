//! Convolutions of every kind, each with the batch norm and the activation that a network would put behind it.

use fx_runtime::{Module, Tensor, nn, traceable};

fn bn(p: nn::Path, channels: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, channels, nn::BatchNormConfig::default())
}

/// `MobileNetV2`'s inverted residual: widen, convolve each channel by itself, narrow, add.
#[derive(Debug, Module)]
pub struct Depthwise {
    expand: nn::Conv2D,
    bn1: nn::BatchNorm,
    spatial: nn::Conv2D,
    bn2: nn::BatchNorm,
    project: nn::Conv2D,
    bn3: nn::BatchNorm,
}

impl Depthwise {
    /// The block with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let grouped = nn::ConvConfig { padding: 1, groups: 24, bias: false, ..Default::default() };
        Self {
            expand: nn::conv2d(p / "expand", 6, 24, 1, nn::no_bias()),
            bn1: bn(p / "bn1", 24),
            spatial: nn::conv2d(p / "spatial", 24, 24, 3, grouped),
            bn2: bn(p / "bn2", 24),
            project: nn::conv2d(p / "project", 24, 6, 1, nn::no_bias()),
            bn3: bn(p / "bn3", 6),
        }
    }
}

#[traceable]
impl nn::Module for Depthwise {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.expand.forward(xs)).relu6();
        let ys = self.bn2.forward(&self.spatial.forward(&ys)).relu6();
        xs + self.bn3.forward(&self.project.forward(&ys))
    }
}

/// Groups and dilation, with a bias before the batch norm.
#[derive(Debug, Module)]
pub struct Dilated {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
}

impl Dilated {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let grouped = nn::ConvConfig { padding: 2, dilation: 2, groups: 2, ..Default::default() };
        let uneven = nn::ConvConfigND::<[i64; 2]> {
            stride: [2, 1],
            padding: [1, 2],
            dilation: [1, 2],
            groups: 4,
            ..Default::default()
        };
        Self {
            conv1: nn::conv2d(p / "conv1", 4, 8, 3, grouped),
            bn1: bn(p / "bn1", 8),
            conv2: nn::conv(p / "conv2", 8, 12, [3, 3], uneven),
            bn2: bn(p / "bn2", 12),
        }
    }
}

#[traceable]
impl Dilated {
    /// `[N, 4, H, W]` to `[N, 12, H / 2, W]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.conv1.forward(xs)).silu();
        self.bn2.forward(&self.conv2.forward(&ys)).hardswish()
    }
}

/// Transposed convolutions: plain, grouped, and with an output padding.
#[derive(Debug, Module)]
pub struct Decoder {
    up1: nn::ConvTranspose2D,
    bn1: nn::BatchNorm,
    up2: nn::ConvTranspose2D,
    bn2: nn::BatchNorm,
    up3: nn::ConvTranspose2D,
}

impl Decoder {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let plain = nn::ConvTransposeConfig { stride: 2, padding: 1, ..Default::default() };
        let grouped = nn::ConvTransposeConfig { groups: 2, bias: false, dilation: 2, ..Default::default() };
        let padded = nn::ConvTransposeConfig { stride: 2, padding: 1, output_padding: 1, ..Default::default() };
        Self {
            up1: nn::conv_transpose2d(p / "up1", 8, 6, 4, plain),
            bn1: bn(p / "bn1", 6),
            up2: nn::conv_transpose2d(p / "up2", 6, 4, 3, grouped),
            bn2: bn(p / "bn2", 4),
            up3: nn::conv_transpose2d(p / "up3", 4, 3, 3, padded),
        }
    }
}

#[traceable]
impl Decoder {
    /// `[N, 8, H, W]` to `[N, 3, 4H + 8, 4W + 8]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.up1.forward(xs)).relu();
        let ys = self.bn2.forward(&self.up2.forward(&ys)).gelu("none");
        self.up3.forward(&ys).sigmoid()
    }
}

/// One spatial axis.
#[derive(Debug, Module)]
pub struct Waves {
    conv: nn::Conv1D,
    bn: nn::BatchNorm,
    down: nn::Conv1D,
    bn_down: nn::BatchNorm,
    up: nn::ConvTranspose1D,
}

impl Waves {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let same = nn::ConvConfig { padding: 2, ..Default::default() };
        let half = nn::ConvConfig { stride: 2, padding: 1, groups: 2, bias: false, ..Default::default() };
        let twice = nn::ConvTransposeConfig { stride: 2, ..Default::default() };
        let norm = nn::BatchNormConfig::default();
        Self {
            conv: nn::conv1d(p / "conv", 4, 8, 5, same),
            bn: nn::batch_norm1d(p / "bn", 8, norm),
            down: nn::conv1d(p / "down", 8, 8, 4, half),
            bn_down: nn::batch_norm1d(p / "bn_down", 8, norm),
            up: nn::conv_transpose1d(p / "up", 8, 4, 2, twice),
        }
    }
}

#[traceable]
impl Waves {
    /// `[N, 4, L]` with an even `L` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.conv.forward(xs)).leaky_relu();
        let ys = self.bn_down.forward(&self.down.forward(&ys)).tanh();
        (self.up.forward(&ys) + xs).relu()
    }
}

/// Three spatial axes.
#[derive(Debug, Module)]
pub struct Volume {
    conv: nn::Conv3D,
    bn: nn::BatchNorm,
    up: nn::ConvTranspose3D,
}

impl Volume {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let half = nn::ConvConfig { stride: 2, padding: 1, bias: false, ..Default::default() };
        let twice = nn::ConvTransposeConfig { stride: 2, ..Default::default() };
        Self {
            conv: nn::conv3d(p / "conv", 2, 6, 3, half),
            bn: nn::batch_norm3d(p / "bn", 6, nn::BatchNormConfig::default()),
            up: nn::conv_transpose3d(p / "up", 6, 2, 2, twice),
        }
    }
}

#[traceable]
impl Volume {
    /// `[N, 2, D, H, W]` with even sizes to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.conv.forward(xs)).relu();
        xs + self.up.forward(&ys)
    }
}

/// Borders that are not zeros.
#[derive(Debug, Module)]
pub struct Padded {
    reflect: nn::Conv2D,
    bn: nn::BatchNorm,
    replicate: nn::Conv2D,
    circular: nn::Conv2D,
}

impl Padded {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let padded = |padding_mode| nn::ConvConfig { padding: 1, padding_mode, ..Default::default() };
        Self {
            reflect: nn::conv2d(p / "reflect", 3, 6, 3, padded(nn::PaddingMode::Reflect)),
            bn: bn(p / "bn", 6),
            replicate: nn::conv2d(p / "replicate", 6, 6, 3, padded(nn::PaddingMode::Replicate)),
            circular: nn::conv2d(p / "circular", 6, 3, 3, padded(nn::PaddingMode::Circular)),
        }
    }
}

#[traceable]
impl Padded {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.reflect.forward(xs)).relu();
        let ys = self.replicate.forward(&ys);
        self.circular.forward(&ys) + xs
    }
}

/// Convolutions with a bias, pooling, and no batch norm.
#[derive(Debug, Module)]
pub struct Plain {
    conv1: nn::Conv2D,
    conv2: nn::Conv2D,
    fc: nn::Linear,
}

impl Plain {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            conv1: nn::conv2d(p / "conv1", 1, 6, 5, nn::ConvConfig::default()),
            conv2: nn::conv2d(p / "conv2", 6, 8, 3, nn::ConvConfig::default()),
            fc: nn::linear(p / "fc", 32, 10, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl Plain {
    /// Images `[N, 1, H, W]` to the logarithms of probabilities, `[N, 10]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.conv1).relu().max_pool2d_default(2);
        let ys = ys.apply(&self.conv2).relu().adaptive_avg_pool2d([2, 2]);
        ys.flatten(1, -1).apply(&self.fc).log_softmax(-1, None)
    }
}

/// A batch norm that learns nothing but statistics, and one that comes first.
#[derive(Debug, Module)]
pub struct NoAffine {
    bn_first: nn::BatchNorm,
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl NoAffine {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let plain = nn::BatchNormConfig { affine: false, eps: 1e-3, ..Default::default() };
        Self {
            bn_first: nn::batch_norm2d(p / "bn_first", 3, plain),
            conv: nn::conv2d(p / "conv", 3, 5, 3, nn::ConvConfig { padding: 1, ..Default::default() }),
            bn: nn::batch_norm2d(p / "bn", 5, plain),
        }
    }
}

#[traceable]
impl NoAffine {
    /// `[N, 3, H, W]` to `[N, 5, H, W]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.conv.forward(&self.bn_first.forward(xs)))
    }
}
