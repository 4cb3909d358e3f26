//! The graph `ResNet` of a live model, written by `GraphModule::to_folder`.

use std::path::Path;

#[allow(unused_imports, reason = "not every graph needs all of them")]
use fx_runtime::{
    Device, IndexOp as _, Kind, Module, Result, Tensor,
    graph_module::GraphModule,
    nn::{self, Layer as _, RNN as _},
    tch::Reduction,
};

/// The layers and tensors of the graph, under the names that they have in it.
#[derive(Debug, Module)]
pub struct ResNetGraph {
    pub avgpool: nn::AdaptiveAvgPool2D,
    pub bn1: nn::BatchNorm,
    pub conv1: nn::Conv2D,
    pub fc: nn::Linear,
    #[module(name = "layer1.0.bn1")]
    pub layer1_0_bn1: nn::BatchNorm,
    #[module(name = "layer1.0.bn2")]
    pub layer1_0_bn2: nn::BatchNorm,
    #[module(name = "layer1.0.conv1")]
    pub layer1_0_conv1: nn::Conv2D,
    #[module(name = "layer1.0.conv2")]
    pub layer1_0_conv2: nn::Conv2D,
    #[module(name = "layer1.0.relu")]
    pub layer1_0_relu: nn::ReLU,
    #[module(name = "layer1.1.bn1")]
    pub layer1_1_bn1: nn::BatchNorm,
    #[module(name = "layer1.1.bn2")]
    pub layer1_1_bn2: nn::BatchNorm,
    #[module(name = "layer1.1.conv1")]
    pub layer1_1_conv1: nn::Conv2D,
    #[module(name = "layer1.1.conv2")]
    pub layer1_1_conv2: nn::Conv2D,
    #[module(name = "layer1.1.relu")]
    pub layer1_1_relu: nn::ReLU,
    #[module(name = "layer2.0.bn1")]
    pub layer2_0_bn1: nn::BatchNorm,
    #[module(name = "layer2.0.bn2")]
    pub layer2_0_bn2: nn::BatchNorm,
    #[module(name = "layer2.0.conv1")]
    pub layer2_0_conv1: nn::Conv2D,
    #[module(name = "layer2.0.conv2")]
    pub layer2_0_conv2: nn::Conv2D,
    #[module(name = "layer2.0.downsample.0")]
    pub layer2_0_downsample_0: nn::Conv2D,
    #[module(name = "layer2.0.downsample.1")]
    pub layer2_0_downsample_1: nn::BatchNorm,
    #[module(name = "layer2.0.relu")]
    pub layer2_0_relu: nn::ReLU,
    #[module(name = "layer2.1.bn1")]
    pub layer2_1_bn1: nn::BatchNorm,
    #[module(name = "layer2.1.bn2")]
    pub layer2_1_bn2: nn::BatchNorm,
    #[module(name = "layer2.1.conv1")]
    pub layer2_1_conv1: nn::Conv2D,
    #[module(name = "layer2.1.conv2")]
    pub layer2_1_conv2: nn::Conv2D,
    #[module(name = "layer2.1.relu")]
    pub layer2_1_relu: nn::ReLU,
    #[module(name = "layer3.0.bn1")]
    pub layer3_0_bn1: nn::BatchNorm,
    #[module(name = "layer3.0.bn2")]
    pub layer3_0_bn2: nn::BatchNorm,
    #[module(name = "layer3.0.conv1")]
    pub layer3_0_conv1: nn::Conv2D,
    #[module(name = "layer3.0.conv2")]
    pub layer3_0_conv2: nn::Conv2D,
    #[module(name = "layer3.0.downsample.0")]
    pub layer3_0_downsample_0: nn::Conv2D,
    #[module(name = "layer3.0.downsample.1")]
    pub layer3_0_downsample_1: nn::BatchNorm,
    #[module(name = "layer3.0.relu")]
    pub layer3_0_relu: nn::ReLU,
    #[module(name = "layer3.1.bn1")]
    pub layer3_1_bn1: nn::BatchNorm,
    #[module(name = "layer3.1.bn2")]
    pub layer3_1_bn2: nn::BatchNorm,
    #[module(name = "layer3.1.conv1")]
    pub layer3_1_conv1: nn::Conv2D,
    #[module(name = "layer3.1.conv2")]
    pub layer3_1_conv2: nn::Conv2D,
    #[module(name = "layer3.1.relu")]
    pub layer3_1_relu: nn::ReLU,
    #[module(name = "layer4.0.bn1")]
    pub layer4_0_bn1: nn::BatchNorm,
    #[module(name = "layer4.0.bn2")]
    pub layer4_0_bn2: nn::BatchNorm,
    #[module(name = "layer4.0.conv1")]
    pub layer4_0_conv1: nn::Conv2D,
    #[module(name = "layer4.0.conv2")]
    pub layer4_0_conv2: nn::Conv2D,
    #[module(name = "layer4.0.downsample.0")]
    pub layer4_0_downsample_0: nn::Conv2D,
    #[module(name = "layer4.0.downsample.1")]
    pub layer4_0_downsample_1: nn::BatchNorm,
    #[module(name = "layer4.0.relu")]
    pub layer4_0_relu: nn::ReLU,
    #[module(name = "layer4.1.bn1")]
    pub layer4_1_bn1: nn::BatchNorm,
    #[module(name = "layer4.1.bn2")]
    pub layer4_1_bn2: nn::BatchNorm,
    #[module(name = "layer4.1.conv1")]
    pub layer4_1_conv1: nn::Conv2D,
    #[module(name = "layer4.1.conv2")]
    pub layer4_1_conv2: nn::Conv2D,
    #[module(name = "layer4.1.relu")]
    pub layer4_1_relu: nn::ReLU,
    pub maxpool: nn::MaxPool2D,
    pub relu: nn::ReLU,
}

impl ResNetGraph {
    /// Loads what `weights.safetensors` beside this crate's manifest holds, or another file that `GraphModule::save` wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<ResNetGraph> {
        ResNetGraph::new(&GraphModule::load(path)?)
    }

    /// Takes the layers and tensors of a graph, and shares them with it.
    pub fn new(parts: &GraphModule) -> Result<ResNetGraph> {
        Ok(ResNetGraph {
            avgpool: parts.shared_layer("avgpool")?,
            bn1: parts.shared_layer("bn1")?,
            conv1: parts.shared_layer("conv1")?,
            fc: parts.shared_layer("fc")?,
            layer1_0_bn1: parts.shared_layer("layer1.0.bn1")?,
            layer1_0_bn2: parts.shared_layer("layer1.0.bn2")?,
            layer1_0_conv1: parts.shared_layer("layer1.0.conv1")?,
            layer1_0_conv2: parts.shared_layer("layer1.0.conv2")?,
            layer1_0_relu: parts.shared_layer("layer1.0.relu")?,
            layer1_1_bn1: parts.shared_layer("layer1.1.bn1")?,
            layer1_1_bn2: parts.shared_layer("layer1.1.bn2")?,
            layer1_1_conv1: parts.shared_layer("layer1.1.conv1")?,
            layer1_1_conv2: parts.shared_layer("layer1.1.conv2")?,
            layer1_1_relu: parts.shared_layer("layer1.1.relu")?,
            layer2_0_bn1: parts.shared_layer("layer2.0.bn1")?,
            layer2_0_bn2: parts.shared_layer("layer2.0.bn2")?,
            layer2_0_conv1: parts.shared_layer("layer2.0.conv1")?,
            layer2_0_conv2: parts.shared_layer("layer2.0.conv2")?,
            layer2_0_downsample_0: parts.shared_layer("layer2.0.downsample.0")?,
            layer2_0_downsample_1: parts.shared_layer("layer2.0.downsample.1")?,
            layer2_0_relu: parts.shared_layer("layer2.0.relu")?,
            layer2_1_bn1: parts.shared_layer("layer2.1.bn1")?,
            layer2_1_bn2: parts.shared_layer("layer2.1.bn2")?,
            layer2_1_conv1: parts.shared_layer("layer2.1.conv1")?,
            layer2_1_conv2: parts.shared_layer("layer2.1.conv2")?,
            layer2_1_relu: parts.shared_layer("layer2.1.relu")?,
            layer3_0_bn1: parts.shared_layer("layer3.0.bn1")?,
            layer3_0_bn2: parts.shared_layer("layer3.0.bn2")?,
            layer3_0_conv1: parts.shared_layer("layer3.0.conv1")?,
            layer3_0_conv2: parts.shared_layer("layer3.0.conv2")?,
            layer3_0_downsample_0: parts.shared_layer("layer3.0.downsample.0")?,
            layer3_0_downsample_1: parts.shared_layer("layer3.0.downsample.1")?,
            layer3_0_relu: parts.shared_layer("layer3.0.relu")?,
            layer3_1_bn1: parts.shared_layer("layer3.1.bn1")?,
            layer3_1_bn2: parts.shared_layer("layer3.1.bn2")?,
            layer3_1_conv1: parts.shared_layer("layer3.1.conv1")?,
            layer3_1_conv2: parts.shared_layer("layer3.1.conv2")?,
            layer3_1_relu: parts.shared_layer("layer3.1.relu")?,
            layer4_0_bn1: parts.shared_layer("layer4.0.bn1")?,
            layer4_0_bn2: parts.shared_layer("layer4.0.bn2")?,
            layer4_0_conv1: parts.shared_layer("layer4.0.conv1")?,
            layer4_0_conv2: parts.shared_layer("layer4.0.conv2")?,
            layer4_0_downsample_0: parts.shared_layer("layer4.0.downsample.0")?,
            layer4_0_downsample_1: parts.shared_layer("layer4.0.downsample.1")?,
            layer4_0_relu: parts.shared_layer("layer4.0.relu")?,
            layer4_1_bn1: parts.shared_layer("layer4.1.bn1")?,
            layer4_1_bn2: parts.shared_layer("layer4.1.bn2")?,
            layer4_1_conv1: parts.shared_layer("layer4.1.conv1")?,
            layer4_1_conv2: parts.shared_layer("layer4.1.conv2")?,
            layer4_1_relu: parts.shared_layer("layer4.1.relu")?,
            maxpool: parts.shared_layer("maxpool")?,
            relu: parts.shared_layer("relu")?,
        })
    }

    /// What the graph computes, a line a node.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let conv1 = self.conv1.f_forward(x)?;
        let bn1 = self.bn1.f_forward_t(&conv1, self.bn1.training() == Some(true))?;
        let relu = self.relu.f_forward(&bn1)?;
        let maxpool = self.maxpool.f_forward(&relu)?;
        let layer1_0_conv1 = self.layer1_0_conv1.f_forward(&maxpool)?;
        let layer1_0_bn1 = self.layer1_0_bn1.f_forward_t(&layer1_0_conv1, self.layer1_0_bn1.training() == Some(true))?;
        let layer1_0_relu = self.layer1_0_relu.f_forward(&layer1_0_bn1)?;
        let layer1_0_conv2 = self.layer1_0_conv2.f_forward(&layer1_0_relu)?;
        let layer1_0_bn2 = self.layer1_0_bn2.f_forward_t(&layer1_0_conv2, self.layer1_0_bn2.training() == Some(true))?;
        let add = layer1_0_bn2.f_add(&maxpool)?;
        let layer1_0_relu_1 = self.layer1_0_relu.f_forward(&add)?;
        let layer1_1_conv1 = self.layer1_1_conv1.f_forward(&layer1_0_relu_1)?;
        let layer1_1_bn1 = self.layer1_1_bn1.f_forward_t(&layer1_1_conv1, self.layer1_1_bn1.training() == Some(true))?;
        let layer1_1_relu = self.layer1_1_relu.f_forward(&layer1_1_bn1)?;
        let layer1_1_conv2 = self.layer1_1_conv2.f_forward(&layer1_1_relu)?;
        let layer1_1_bn2 = self.layer1_1_bn2.f_forward_t(&layer1_1_conv2, self.layer1_1_bn2.training() == Some(true))?;
        let add_1 = layer1_1_bn2.f_add(&layer1_0_relu_1)?;
        let layer1_1_relu_1 = self.layer1_1_relu.f_forward(&add_1)?;
        let layer2_0_conv1 = self.layer2_0_conv1.f_forward(&layer1_1_relu_1)?;
        let layer2_0_bn1 = self.layer2_0_bn1.f_forward_t(&layer2_0_conv1, self.layer2_0_bn1.training() == Some(true))?;
        let layer2_0_relu = self.layer2_0_relu.f_forward(&layer2_0_bn1)?;
        let layer2_0_conv2 = self.layer2_0_conv2.f_forward(&layer2_0_relu)?;
        let layer2_0_bn2 = self.layer2_0_bn2.f_forward_t(&layer2_0_conv2, self.layer2_0_bn2.training() == Some(true))?;
        let layer2_0_downsample_0 = self.layer2_0_downsample_0.f_forward(&layer1_1_relu_1)?;
        let layer2_0_downsample_1 = self.layer2_0_downsample_1.f_forward_t(&layer2_0_downsample_0, self.layer2_0_downsample_1.training() == Some(true))?;
        let add_2 = layer2_0_bn2.f_add(&layer2_0_downsample_1)?;
        let layer2_0_relu_1 = self.layer2_0_relu.f_forward(&add_2)?;
        let layer2_1_conv1 = self.layer2_1_conv1.f_forward(&layer2_0_relu_1)?;
        let layer2_1_bn1 = self.layer2_1_bn1.f_forward_t(&layer2_1_conv1, self.layer2_1_bn1.training() == Some(true))?;
        let layer2_1_relu = self.layer2_1_relu.f_forward(&layer2_1_bn1)?;
        let layer2_1_conv2 = self.layer2_1_conv2.f_forward(&layer2_1_relu)?;
        let layer2_1_bn2 = self.layer2_1_bn2.f_forward_t(&layer2_1_conv2, self.layer2_1_bn2.training() == Some(true))?;
        let add_3 = layer2_1_bn2.f_add(&layer2_0_relu_1)?;
        let layer2_1_relu_1 = self.layer2_1_relu.f_forward(&add_3)?;
        let layer3_0_conv1 = self.layer3_0_conv1.f_forward(&layer2_1_relu_1)?;
        let layer3_0_bn1 = self.layer3_0_bn1.f_forward_t(&layer3_0_conv1, self.layer3_0_bn1.training() == Some(true))?;
        let layer3_0_relu = self.layer3_0_relu.f_forward(&layer3_0_bn1)?;
        let layer3_0_conv2 = self.layer3_0_conv2.f_forward(&layer3_0_relu)?;
        let layer3_0_bn2 = self.layer3_0_bn2.f_forward_t(&layer3_0_conv2, self.layer3_0_bn2.training() == Some(true))?;
        let layer3_0_downsample_0 = self.layer3_0_downsample_0.f_forward(&layer2_1_relu_1)?;
        let layer3_0_downsample_1 = self.layer3_0_downsample_1.f_forward_t(&layer3_0_downsample_0, self.layer3_0_downsample_1.training() == Some(true))?;
        let add_4 = layer3_0_bn2.f_add(&layer3_0_downsample_1)?;
        let layer3_0_relu_1 = self.layer3_0_relu.f_forward(&add_4)?;
        let layer3_1_conv1 = self.layer3_1_conv1.f_forward(&layer3_0_relu_1)?;
        let layer3_1_bn1 = self.layer3_1_bn1.f_forward_t(&layer3_1_conv1, self.layer3_1_bn1.training() == Some(true))?;
        let layer3_1_relu = self.layer3_1_relu.f_forward(&layer3_1_bn1)?;
        let layer3_1_conv2 = self.layer3_1_conv2.f_forward(&layer3_1_relu)?;
        let layer3_1_bn2 = self.layer3_1_bn2.f_forward_t(&layer3_1_conv2, self.layer3_1_bn2.training() == Some(true))?;
        let add_5 = layer3_1_bn2.f_add(&layer3_0_relu_1)?;
        let layer3_1_relu_1 = self.layer3_1_relu.f_forward(&add_5)?;
        let layer4_0_conv1 = self.layer4_0_conv1.f_forward(&layer3_1_relu_1)?;
        let layer4_0_bn1 = self.layer4_0_bn1.f_forward_t(&layer4_0_conv1, self.layer4_0_bn1.training() == Some(true))?;
        let layer4_0_relu = self.layer4_0_relu.f_forward(&layer4_0_bn1)?;
        let layer4_0_conv2 = self.layer4_0_conv2.f_forward(&layer4_0_relu)?;
        let layer4_0_bn2 = self.layer4_0_bn2.f_forward_t(&layer4_0_conv2, self.layer4_0_bn2.training() == Some(true))?;
        let layer4_0_downsample_0 = self.layer4_0_downsample_0.f_forward(&layer3_1_relu_1)?;
        let layer4_0_downsample_1 = self.layer4_0_downsample_1.f_forward_t(&layer4_0_downsample_0, self.layer4_0_downsample_1.training() == Some(true))?;
        let add_6 = layer4_0_bn2.f_add(&layer4_0_downsample_1)?;
        let layer4_0_relu_1 = self.layer4_0_relu.f_forward(&add_6)?;
        let layer4_1_conv1 = self.layer4_1_conv1.f_forward(&layer4_0_relu_1)?;
        let layer4_1_bn1 = self.layer4_1_bn1.f_forward_t(&layer4_1_conv1, self.layer4_1_bn1.training() == Some(true))?;
        let layer4_1_relu = self.layer4_1_relu.f_forward(&layer4_1_bn1)?;
        let layer4_1_conv2 = self.layer4_1_conv2.f_forward(&layer4_1_relu)?;
        let layer4_1_bn2 = self.layer4_1_bn2.f_forward_t(&layer4_1_conv2, self.layer4_1_bn2.training() == Some(true))?;
        let add_7 = layer4_1_bn2.f_add(&layer4_0_relu_1)?;
        let layer4_1_relu_1 = self.layer4_1_relu.f_forward(&add_7)?;
        let avgpool = self.avgpool.f_forward(&layer4_1_relu_1)?;
        let flatten = avgpool.f_flatten(1, -1)?;
        let fc = self.fc.f_forward(&flatten)?;
        Ok(fc)
    }
}
