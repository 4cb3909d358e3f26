//! Blocks of models as their users write them, small enough that what surrounds a kernel shows.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Multi-head attention, its scores written out.
#[derive(Debug, Module)]
pub struct Attention {
    query: nn::Linear,
    key: nn::Linear,
    value: nn::Linear,
    out: nn::Linear,
    heads: i64,
}

impl Attention {
    /// So many heads of this width.
    pub fn new(p: &nn::Path, heads: i64, width: i64) -> Self {
        let linear = |name| nn::linear(p / name, heads * width, heads * width, nn::LinearConfig::default());
        Self { query: linear("query"), key: linear("key"), value: linear("value"), out: linear("out"), heads }
    }
}

#[traceable]
impl Attention {
    /// `f32[batch, tokens, heads * width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (batch, tokens, width) = xs.size3().unwrap();
        let split = |ys: Tensor| ys.view([batch, tokens, self.heads, width / self.heads]).transpose(1, 2);
        let query = split(xs.apply(&self.query));
        let key = split(xs.apply(&self.key));
        let value = split(xs.apply(&self.value));
        let scores = query.matmul(&key.transpose(-2, -1)) / ((width / self.heads) as f64).sqrt();
        let ys = scores.softmax(-1, Kind::Float).matmul(&value);
        ys.transpose(1, 2).contiguous().view([batch, tokens, width]).apply(&self.out)
    }
}

/// Attention whose scores get a learned bias, as in Swin's windows.
#[derive(Debug, Module)]
pub struct BiasedAttention {
    qkv: nn::Linear,
    out: nn::Linear,
    bias: Tensor,
    heads: i64,
}

impl BiasedAttention {
    /// So many heads of this width, for this many tokens.
    pub fn new(p: &nn::Path, heads: i64, width: i64, tokens: i64) -> Self {
        let wide = heads * width;
        Self {
            qkv: nn::linear(p / "qkv", wide, 3 * wide, nn::LinearConfig::default()),
            out: nn::linear(p / "out", wide, wide, nn::LinearConfig::default()),
            bias: p.randn_standard("bias", &[1, heads, tokens, tokens]),
            heads,
        }
    }
}

#[traceable]
impl BiasedAttention {
    /// `f32[batch, tokens, heads * width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (batch, tokens, width) = xs.size3().unwrap();
        let depth = width / self.heads;
        let qkv = xs.apply(&self.qkv).reshape([batch, tokens, 3, self.heads, depth]).permute([2, 0, 3, 1, 4]);
        let query = qkv.get(0) * (depth as f64).powf(-0.5);
        let scores = query.matmul(&qkv.get(1).transpose(-2, -1)) + &self.bias;
        let ys = scores.softmax(-1, Kind::Float).matmul(&qkv.get(2));
        ys.transpose(1, 2).reshape([batch, tokens, width]).apply(&self.out)
    }
}

/// A softmax over rows to which a bias is added.
#[derive(Debug, Module)]
pub struct AddSoftmax {
    bias: Tensor,
}

impl AddSoftmax {
    /// Rows of this length.
    pub fn new(p: &nn::Path, length: i64) -> Self {
        Self { bias: p.randn_standard("bias", &[length]) }
    }
}

#[traceable]
impl AddSoftmax {
    /// `f32[.., length]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (xs + &self.bias).softmax(-1, Kind::Float)
    }
}

/// A transformer's feed-forward block with its norm.
#[derive(Debug, Module)]
pub struct FeedForward {
    norm: nn::LayerNorm,
    up: nn::Linear,
    down: nn::Linear,
}

impl FeedForward {
    /// Tokens of this width, four times as wide within.
    pub fn new(p: &nn::Path, width: i64) -> Self {
        Self {
            norm: nn::layer_norm(p / "norm", vec![width], nn::LayerNormConfig::default()),
            up: nn::linear(p / "up", width, 4 * width, nn::LinearConfig::default()),
            down: nn::linear(p / "down", 4 * width, width, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl FeedForward {
    /// `f32[.., width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs + xs.apply(&self.norm).apply(&self.up).gelu("none").apply(&self.down)
    }
}

/// A residual addition and a norm behind it.
#[derive(Debug, Module)]
pub struct AddNorm {
    norm: nn::LayerNorm,
}

impl AddNorm {
    /// Tokens of this width.
    pub fn new(p: &nn::Path, width: i64) -> Self {
        Self { norm: nn::layer_norm(p / "norm", vec![width], nn::LayerNormConfig::default()) }
    }
}

#[traceable]
impl AddNorm {
    /// `f32[.., width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (xs + xs.tanh()).apply(&self.norm)
    }
}

/// A residual block of two convolutions.
#[derive(Debug, Module)]
pub struct Residual {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    bn2: nn::BatchNorm,
}

impl Residual {
    /// Images of so many channels.
    pub fn new(p: &nn::Path, channels: i64) -> Self {
        let config = nn::ConvConfig { padding: 1, bias: false, ..Default::default() };
        Self {
            conv1: nn::conv2d(p / "conv1", channels, channels, 3, config),
            bn1: nn::batch_norm2d(p / "bn1", channels, nn::BatchNormConfig::default()),
            conv2: nn::conv2d(p / "conv2", channels, channels, 3, config),
            bn2: nn::batch_norm2d(p / "bn2", channels, nn::BatchNormConfig::default()),
        }
    }
}

#[traceable]
impl Residual {
    /// `f32[batch, channels, height, width]`, both ways.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.conv1).apply_t(&self.bn1, train).relu();
        (ys.apply(&self.conv2).apply_t(&self.bn2, train) + xs).relu()
    }
}

/// A layer of a dense block: norms in front of its convolutions, its result beside its input.
#[derive(Debug, Module)]
pub struct Dense {
    norm1: nn::BatchNorm,
    conv1: nn::Conv2D,
    norm2: nn::BatchNorm,
    conv2: nn::Conv2D,
}

impl Dense {
    /// Images of so many channels, a quarter of which are added.
    pub fn new(p: &nn::Path, channels: i64) -> Self {
        let config = |padding| nn::ConvConfig { padding, bias: false, ..Default::default() };
        Self {
            norm1: nn::batch_norm2d(p / "norm1", channels, nn::BatchNormConfig::default()),
            conv1: nn::conv2d(p / "conv1", channels, channels, 1, config(0)),
            norm2: nn::batch_norm2d(p / "norm2", channels, nn::BatchNormConfig::default()),
            conv2: nn::conv2d(p / "conv2", channels, channels / 4, 3, config(1)),
        }
    }
}

#[traceable]
impl Dense {
    /// `f32[batch, channels, height, width]` to a quarter more channels.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply_t(&self.norm1, train).relu().apply(&self.conv1);
        let ys = ys.apply_t(&self.norm2, train).relu().apply(&self.conv2);
        Tensor::cat(&[xs, &ys], 1)
    }
}

/// A block of `ConvNeXt`, with torchvision's layer scale of `[channels, 1, 1]`.
#[derive(Debug, Module)]
pub struct ConvNext {
    depthwise: nn::Conv2D,
    norm: nn::LayerNorm,
    up: nn::Linear,
    down: nn::Linear,
    scale: Tensor,
}

impl ConvNext {
    /// Images of so many channels.
    pub fn new(p: &nn::Path, channels: i64) -> Self {
        let config = nn::ConvConfig { padding: 3, groups: channels, ..Default::default() };
        Self {
            depthwise: nn::conv2d(p / "depthwise", channels, channels, 7, config),
            norm: nn::layer_norm(p / "norm", vec![channels], nn::LayerNormConfig::default()),
            up: nn::linear(p / "up", channels, 4 * channels, nn::LinearConfig::default()),
            down: nn::linear(p / "down", 4 * channels, channels, nn::LinearConfig::default()),
            scale: p.randn_standard("scale", &[channels, 1, 1]),
        }
    }
}

#[traceable]
impl ConvNext {
    /// `f32[batch, channels, height, width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.depthwise).permute([0, 2, 3, 1]).apply(&self.norm);
        let ys = ys.apply(&self.up).gelu("none").apply(&self.down).permute([0, 3, 1, 2]);
        &self.scale * ys + xs
    }
}

/// A separable block whose convolution's residual addition stands in the arms of a condition.
#[derive(Debug, Module)]
pub struct InvertedResidual {
    expand: nn::Conv2D,
    bn1: nn::BatchNorm,
    depthwise: nn::Conv2D,
    bn2: nn::BatchNorm,
    project: nn::Conv2D,
    bn3: nn::BatchNorm,
    is_residual: bool,
}

impl InvertedResidual {
    /// Images of so many channels, four times as many within.
    pub fn new(p: &nn::Path, channels: i64) -> Self {
        let wide = 4 * channels;
        let config = |padding, groups| nn::ConvConfig { padding, groups, bias: false, ..Default::default() };
        let norm = |name, channels| nn::batch_norm2d(p / name, channels, nn::BatchNormConfig::default());
        Self {
            expand: nn::conv2d(p / "expand", channels, wide, 1, config(0, 1)),
            bn1: norm("bn1", wide),
            depthwise: nn::conv2d(p / "depthwise", wide, wide, 3, config(1, wide)),
            bn2: norm("bn2", wide),
            project: nn::conv2d(p / "project", wide, channels, 1, config(0, 1)),
            bn3: norm("bn3", channels),
            is_residual: true,
        }
    }
}

#[traceable]
impl InvertedResidual {
    /// `f32[batch, channels, height, width]`, both ways.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.expand).apply_t(&self.bn1, train).silu();
        let ys = ys.apply(&self.depthwise).apply_t(&self.bn2, train).silu();
        let ys = ys.apply(&self.project).apply_t(&self.bn3, train);
        if self.is_residual { ys + xs } else { ys }
    }
}

/// Positions gathered number by number, as rotary and sinusoidal encodings are often written.
#[derive(Debug, Module)]
pub struct Positions {
    width: i64,
}

impl Positions {
    /// Encodings of this width.
    pub fn new(_: &nn::Path, width: i64) -> Self {
        Self { width }
    }
}

#[traceable]
impl Positions {
    /// `f32[tokens, width]`, both ways.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut frequencies = vec![];
        for i in 0..self.width {
            frequencies.push(1f32 / 10000f32.powf(i as f32 / self.width as f32));
        }
        let frequencies = Tensor::from_slice(&frequencies).to_device(xs.device());
        xs * frequencies
    }
}
