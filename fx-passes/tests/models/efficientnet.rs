//! EfficientNetV2 (Tan and Le 2021): blocks of two kinds in stages, each an enum in lists of lists.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Clone, Copy)]
pub enum Act {
    Silu,
    Linear,
}

/// A convolution, its normalization and its activation.
#[derive(Debug, Module)]
pub struct ConvNorm {
    conv: nn::Conv2D,
    norm: nn::BatchNorm,
    act: Act,
}


impl ConvNorm {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.norm.forward_t(&self.conv.forward(xs), false);
        match self.act {
            Act::Silu => ys.silu(),
            Act::Linear => ys,
        }
    }
}

/// Weights channels by what all pixels of them say.
#[derive(Debug, Module)]
pub struct SqueezeExcitation {
    fc1: nn::Conv2D,
    fc2: nn::Conv2D,
}


impl SqueezeExcitation {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scale = self.fc1.forward(&xs.adaptive_avg_pool2d([1, 1])).silu();
        xs * self.fc2.forward(&scale).sigmoid()
    }
}

/// An inverted bottleneck whose window is depthwise.
#[derive(Debug, Module)]
pub struct MBConv {
    expand: Option<ConvNorm>,
    depthwise: ConvNorm,
    excitation: SqueezeExcitation,
    project: ConvNorm,
    skip: bool,
}


impl MBConv {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = match &self.expand {
            Some(expand) => expand.forward(xs),
            None => xs.shallow_clone(),
        };
        let ys = self.project.forward(&self.excitation.forward(&self.depthwise.forward(&ys)));
        if self.skip { ys + xs } else { ys }
    }
}

/// The same whose window is dense, and expands.
#[derive(Debug, Module)]
pub struct FusedMBConv {
    expand: ConvNorm,
    project: Option<ConvNorm>,
    skip: bool,
}


impl FusedMBConv {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.expand.forward(xs);
        let ys = match &self.project {
            Some(project) => project.forward(&ys),
            None => ys,
        };
        if self.skip { ys + xs } else { ys }
    }
}

#[derive(Debug, Module)]
pub enum Block {
    Depthwise(MBConv),
    Fused(FusedMBConv),
}


impl Block {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Block::Depthwise(block) => block.forward(xs),
            Block::Fused(block) => block.forward(xs),
        }
    }
}

#[derive(Debug, Module)]
pub struct EfficientNet {
    stem: ConvNorm,
    stages: Vec<Vec<Block>>,
    head: ConvNorm,
    classifier: nn::Linear,
}

#[traceable(strict)]
impl EfficientNet {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = self.stem.forward(xs);
        for stage in &self.stages {
            for block in stage {
                xs = block.forward(&xs);
            }
        }
        let xs = self.head.forward(&xs).adaptive_avg_pool2d([1, 1]).flatten(1, -1);
        self.classifier.forward(&xs)
    }
}
