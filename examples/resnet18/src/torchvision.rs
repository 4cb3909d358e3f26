//! ResNet-18 as torchvision declares it, module for module: activations and pools are fields, stages and `downsample`
//! chains, and the sum is written to `out`.
//!
//! [`model`](crate::model) is the same network as one would write it in Rust. This one is for reading the two declarations
//! side by side: the graph of the live model is torch.fx's, node for node.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv3x3(p: nn::Path, in_planes: i64, out_planes: i64, stride: i64) -> nn::Conv2D {
    let config = nn::ConvConfig { stride, padding: 1, bias: false, ..Default::default() };
    nn::conv2d(p, in_planes, out_planes, 3, config)
}

fn conv1x1(p: nn::Path, in_planes: i64, out_planes: i64, stride: i64) -> nn::Conv2D {
    nn::conv2d(p, in_planes, out_planes, 1, nn::ConvConfig { stride, bias: false, ..Default::default() })
}

fn batch_norm(p: nn::Path, planes: i64) -> nn::BatchNorm {
    nn::batch_norm2d(p, planes, nn::BatchNormConfig::default())
}

/// Two 3x3 convolutions and a connection that skips them.
#[derive(Debug, Module)]
pub struct BasicBlock {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    relu: nn::ReLU,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
    downsample: Option<nn::SequentialT>,
}

impl BasicBlock {
    fn new(p: &nn::Path, inplanes: i64, planes: i64, stride: i64) -> Self {
        let skip = p / "downsample";
        let downsample =
            || nn::seq_t().add(conv1x1(&skip / 0, inplanes, planes, stride)).add(batch_norm(&skip / 1, planes));
        Self {
            conv1: conv3x3(p / "conv1", inplanes, planes, stride),
            bn1: batch_norm(p / "bn1", planes),
            relu: nn::relu(),
            conv2: conv3x3(p / "conv2", planes, planes, 1),
            bn2: batch_norm(p / "bn2", planes),
            downsample: (stride != 1 || inplanes != planes).then(downsample),
        }
    }
}

impl nn::Module for BasicBlock {
    /// `[N, inplanes, H, W]` to `[N, planes, H / stride, W / stride]`.
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut identity = x.shallow_clone();
        let out = self.conv1.forward(x);
        let out = self.bn1.forward(&out);
        let out = self.relu.forward(&out);
        let out = self.conv2.forward(&out);
        let mut out = self.bn2.forward(&out);
        if let Some(downsample) = &self.downsample {
            identity = downsample.forward(x);
        }
        out += identity;
        self.relu.forward(&out)
    }
}

/// The 18-layer residual network.
#[derive(Debug, Module)]
pub struct ResNet {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    relu: nn::ReLU,
    maxpool: nn::MaxPool2D,
    layer1: nn::SequentialT,
    layer2: nn::SequentialT,
    layer3: nn::SequentialT,
    layer4: nn::SequentialT,
    avgpool: nn::AdaptiveAvgPool2D,
    fc: nn::Linear,
}

fn layer(p: &nn::Path, inplanes: i64, planes: i64, stride: i64) -> nn::SequentialT {
    nn::seq_t().add(BasicBlock::new(&(p / 0), inplanes, planes, stride)).add(BasicBlock::new(
        &(p / 1),
        planes,
        planes,
        1,
    ))
}

impl ResNet {
    /// A network that tells `num_classes` classes apart, with fresh weights under `p`.
    pub fn new(p: &nn::Path, num_classes: i64) -> Self {
        let config = nn::ConvConfig { stride: 2, padding: 3, bias: false, ..Default::default() };
        Self {
            conv1: nn::conv2d(p / "conv1", 3, 64, 7, config),
            bn1: batch_norm(p / "bn1", 64),
            relu: nn::relu(),
            maxpool: nn::max_pool2d(3, nn::MaxPoolConfig { stride: 2, padding: 1, ..Default::default() }),
            layer1: layer(&(p / "layer1"), 64, 64, 1),
            layer2: layer(&(p / "layer2"), 64, 128, 2),
            layer3: layer(&(p / "layer3"), 128, 256, 2),
            layer4: layer(&(p / "layer4"), 256, 512, 2),
            avgpool: nn::adaptive_avg_pool2d([1, 1]),
            fc: nn::linear(p / "fc", 512, num_classes, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl ResNet {
    /// Images `[N, 3, H, W]`, normalised, to one score a class, `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv1.forward(x);
        let x = self.bn1.forward(&x);
        let x = self.relu.forward(&x);
        let x = self.maxpool.forward(&x);

        let x = self.layer1.forward(&x);
        let x = self.layer2.forward(&x);
        let x = self.layer3.forward(&x);
        let x = self.layer4.forward(&x);

        let x = self.avgpool.forward(&x);
        let x = x.flatten(1, -1);
        self.fc.forward(&x)
    }
}
