//! ResNet-18 with the structure, and so the tensor names, of `torchvision.models.resnet18`.
//!
//! He et al., "Deep Residual Learning for Image Recognition", <https://arxiv.org/abs/1512.03385>. Only the `use` line,
//! `derive(Module)` and `#[traceable]` tell it from a model written with tch alone.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path, from: i64, to: i64, kernel: i64, stride: i64) -> nn::Conv2D {
    let config = nn::ConvConfig { stride, padding: kernel / 2, bias: false, ..Default::default() };
    nn::conv2d(p, from, to, kernel, config)
}

fn bn(p: nn::Path, channels: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, channels, nn::BatchNormConfig::default())
}

/// Brings the skip connection to the size of the block's output. Its tensors are `downsample.0.*` and `downsample.1.*`.
#[derive(Debug, Module)]
pub struct Downsample(nn::Conv2D, nn::BatchNorm);

#[traceable]
impl Downsample {
    /// `[N, from, H, W]` to `[N, to, H / stride, W / stride]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.1.forward(&self.0.forward(xs))
    }
}

/// Two 3x3 convolutions and a connection that skips them.
#[derive(Debug, Module)]
pub struct BasicBlock {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
    downsample: Option<Downsample>,
}

impl BasicBlock {
    fn new(p: nn::Path, from: i64, to: i64, stride: i64) -> Self {
        let resized = stride != 1 || from != to;
        let skip = &p / "downsample";
        Self {
            conv1: conv(&p / "conv1", from, to, 3, stride),
            bn1: bn(&p / "bn1", to),
            conv2: conv(&p / "conv2", to, to, 3, 1),
            bn2: bn(&p / "bn2", to),
            downsample: resized.then(|| Downsample(conv(&skip / 0, from, to, 1, stride), bn(&skip / 1, to))),
        }
    }
}

#[traceable]
impl BasicBlock {
    /// `[N, from, H, W]` to `[N, to, H / stride, W / stride]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let skip = match &self.downsample {
            Some(downsample) => downsample.forward(xs),
            None => xs.shallow_clone(),
        };
        let ys = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let ys = self.bn2.forward(&self.conv2.forward(&ys));
        (ys + skip).relu()
    }
}

/// The 18-layer residual network.
#[derive(Debug, Module)]
pub struct ResNet18 {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    layer1: Vec<BasicBlock>,
    layer2: Vec<BasicBlock>,
    layer3: Vec<BasicBlock>,
    layer4: Vec<BasicBlock>,
    fc: nn::Linear,
}

fn layer(p: nn::Path, from: i64, to: i64, stride: i64) -> Vec<BasicBlock> {
    vec![BasicBlock::new(&p / 0, from, to, stride), BasicBlock::new(&p / 1, to, to, 1)]
}

impl ResNet18 {
    /// A network that tells `classes` classes apart, with fresh weights under `p`.
    pub fn new(p: &nn::Path, classes: i64) -> Self {
        Self {
            conv1: conv(p / "conv1", 3, 64, 7, 2),
            bn1: bn(p / "bn1", 64),
            layer1: layer(p / "layer1", 64, 64, 1),
            layer2: layer(p / "layer2", 64, 128, 2),
            layer3: layer(p / "layer3", 128, 256, 2),
            layer4: layer(p / "layer4", 256, 512, 2),
            fc: nn::linear(p / "fc", 512, classes, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl ResNet18 {
    /// Images `[N, 3, H, W]`, normalised, to one score a class, `[N, classes]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let mut ys = ys.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        for block in &self.layer1 {
            ys = block.forward(&ys);
        }
        for block in &self.layer2 {
            ys = block.forward(&ys);
        }
        for block in &self.layer3 {
            ys = block.forward(&ys);
        }
        for block in &self.layer4 {
            ys = block.forward(&ys);
        }
        let ys = ys.adaptive_avg_pool2d([1, 1]).flatten(1, -1);
        self.fc.forward(&ys)
    }
}
