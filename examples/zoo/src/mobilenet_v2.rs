//! `MobileNetV2` with the structure, and so the tensor names, of `torchvision.models.mobilenet_v2`.
//!
//! Sandler et al., "`MobileNetV2`: Inverted Residuals and Linear Bottlenecks", <https://arxiv.org/abs/1801.04381>. The
//! layers stand in `SequentialT`s, some of which hold a layer more or less, as the settings demand.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A convolution, a batch norm and `ReLU6`. Its tensors are `0.*` and `1.*`.
#[derive(Debug, Module)]
pub struct ConvBNReLU6(nn::Conv2D, nn::BatchNorm);

impl ConvBNReLU6 {
    fn new(p: &nn::Path, from: i64, to: i64, kernel: i64, stride: i64, groups: i64) -> Self {
        let config = nn::ConvConfig { stride, padding: (kernel - 1) / 2, groups, bias: false, ..Default::default() };
        Self(nn::conv2d(p / 0, from, to, kernel, config), nn::batch_norm2d(p / 1, to, nn::BatchNormConfig::default()))
    }
}

#[traceable]
impl nn::ModuleT for ConvBNReLU6 {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.0).apply_t(&self.1, train).clamp(0., 6.)
    }
}

/// Widens, filters each channel by itself, and narrows; with a skip connection where the sizes allow it.
#[derive(Debug, Module)]
pub struct InvertedResidual {
    conv: nn::SequentialT,
    use_res_connect: bool,
}

impl InvertedResidual {
    fn new(p: &nn::Path, from: i64, to: i64, stride: i64, expand_ratio: i64) -> Self {
        let p = p / "conv";
        let hidden = from * expand_ratio;
        let mut conv = nn::seq_t();
        if expand_ratio != 1 {
            conv = conv.add(ConvBNReLU6::new(&(&p / 0), from, hidden, 1, 1, 1));
        }
        let at = conv.len();
        conv = conv
            .add(ConvBNReLU6::new(&(&p / at), hidden, hidden, 3, stride, hidden))
            .add(nn::conv2d(&p / (at + 1), hidden, to, 1, nn::no_bias()))
            .add(nn::batch_norm2d(&p / (at + 2), to, nn::BatchNormConfig::default()));
        Self { conv, use_res_connect: stride == 1 && from == to }
    }
}

#[traceable]
impl nn::ModuleT for InvertedResidual {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply_t(&self.conv, train);
        if self.use_res_connect { xs + ys } else { ys }
    }
}

/// Expansion, output channels, blocks, and the stride of the first block, for each stage.
const SETTINGS: [(i64, i64, i64, i64); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

/// The network of width 1.
#[derive(Debug, Module)]
pub struct MobileNetV2 {
    features: nn::SequentialT,
    classifier: nn::SequentialT,
}

impl MobileNetV2 {
    /// A network that tells `classes` classes apart, with fresh weights under `p`.
    pub fn new(p: &nn::Path, classes: i64) -> Self {
        let (f, c) = (p / "features", p / "classifier");
        let mut from = 32;
        let mut features = nn::seq_t().add(ConvBNReLU6::new(&(&f / 0), 3, from, 3, 2, 1));
        for (expand_ratio, to, count, stride) in SETTINGS {
            for index in 0..count {
                let stride = if index == 0 { stride } else { 1 };
                let p = &f / features.len();
                features = features.add(InvertedResidual::new(&p, from, to, stride, expand_ratio));
                from = to;
            }
        }
        let last = &f / features.len();
        features = features.add(ConvBNReLU6::new(&last, from, 1280, 1, 1, 1));
        let classifier = nn::seq_t().add_fn_t(|xs, train| xs.dropout(0.2, train)).add(nn::linear(
            &c / 1,
            1280,
            classes,
            nn::LinearConfig::default(),
        ));
        Self { features, classifier }
    }
}

#[traceable]
impl MobileNetV2 {
    /// Images `[N, 3, H, W]`, normalised, to one score a class, `[N, classes]`.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.features, train).adaptive_avg_pool2d([1, 1]).flatten(1, -1).apply_t(&self.classifier, train)
    }
}
