//! ResNet-50 with the structure, and so the tensor names, of `torchvision.models.resnet50`.
//!
//! He et al., "Deep Residual Learning for Image Recognition", <https://arxiv.org/abs/1512.03385>, with the stride in
//! the 3x3 convolution ("v1.5"). The stages are `SequentialT`s of blocks, as in tch's own vision models.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path, from: i64, to: i64, kernel: i64, stride: i64) -> nn::Conv2D {
    let config = nn::ConvConfig { stride, padding: kernel / 2, bias: false, ..Default::default() };
    nn::conv2d(p, from, to, kernel, config)
}

fn bn(p: nn::Path, channels: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, channels, nn::BatchNormConfig::default())
}

fn downsample(p: &nn::Path, from: i64, to: i64, stride: i64) -> nn::SequentialT {
    nn::seq_t().add(conv(p / 0, from, to, 1, stride)).add(bn(p / 1, to))
}

/// A narrow 3x3 convolution between two 1x1 ones, and a connection that skips them.
#[derive(Debug, Module)]
pub struct Bottleneck {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
    conv3: nn::Conv2D,
    bn3: nn::BatchNorm,
    downsample: Option<nn::SequentialT>,
}

impl Bottleneck {
    /// The block widens its narrowest part by this factor.
    const EXPANSION: i64 = 4;

    fn new(p: &nn::Path, from: i64, width: i64, stride: i64) -> Self {
        let to = width * Self::EXPANSION;
        let resized = stride != 1 || from != to;
        Self {
            conv1: conv(p / "conv1", from, width, 1, 1),
            bn1: bn(p / "bn1", width),
            conv2: conv(p / "conv2", width, width, 3, stride),
            bn2: bn(p / "bn2", width),
            conv3: conv(p / "conv3", width, to, 1, 1),
            bn3: bn(p / "bn3", to),
            downsample: if resized { Some(downsample(&(p / "downsample"), from, to, stride)) } else { None },
        }
    }
}

#[traceable]
impl nn::ModuleT for Bottleneck {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.conv1).apply_t(&self.bn1, train).relu();
        let ys = ys.apply(&self.conv2).apply_t(&self.bn2, train).relu();
        let ys = ys.apply(&self.conv3).apply_t(&self.bn3, train);
        let skip = match &self.downsample {
            Some(downsample) => xs.apply_t(downsample, train),
            None => xs.shallow_clone(),
        };
        (ys + skip).relu()
    }
}

/// The 50-layer residual network.
#[derive(Debug, Module)]
pub struct ResNet50 {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    layer1: nn::SequentialT,
    layer2: nn::SequentialT,
    layer3: nn::SequentialT,
    layer4: nn::SequentialT,
    fc: nn::Linear,
}

fn layer(p: nn::Path, from: i64, width: i64, stride: i64, count: i64) -> nn::SequentialT {
    let mut layer = nn::seq_t().add(Bottleneck::new(&(&p / 0), from, width, stride));
    for index in 1..count {
        layer = layer.add(Bottleneck::new(&(&p / index), width * Bottleneck::EXPANSION, width, 1));
    }
    layer
}

impl ResNet50 {
    /// A network that tells `classes` classes apart, with fresh weights under `p`.
    pub fn new(p: &nn::Path, classes: i64) -> Self {
        Self {
            conv1: conv(p / "conv1", 3, 64, 7, 2),
            bn1: bn(p / "bn1", 64),
            layer1: layer(p / "layer1", 64, 64, 1, 3),
            layer2: layer(p / "layer2", 256, 128, 2, 4),
            layer3: layer(p / "layer3", 512, 256, 2, 6),
            layer4: layer(p / "layer4", 1024, 512, 2, 3),
            fc: nn::linear(p / "fc", 2048, classes, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl ResNet50 {
    /// Images `[N, 3, H, W]`, normalised, to one score a class, `[N, classes]`.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.conv1)
            .apply_t(&self.bn1, train)
            .relu()
            .max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false)
            .apply_t(&self.layer1, train)
            .apply_t(&self.layer2, train)
            .apply_t(&self.layer3, train)
            .apply_t(&self.layer4, train)
            .adaptive_avg_pool2d([1, 1])
            .flat_view()
            .apply(&self.fc)
    }
}
