//! Linear layers, embeddings, and the norms that are not batch norms.

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: nn::Path, from: i64, to: i64) -> nn::Linear {
    nn::linear(p, from, to, nn::LinearConfig::default())
}

/// Every activation that a linear layer's kernel may take over, wide enough that the kernels are packed.
#[derive(Debug, Module)]
pub struct Activations {
    fc: Vec<nn::Linear>,
    last: nn::Linear,
}

impl Activations {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            fc: (0..10).map(|index| linear(p / "fc" / index, 256, 256)).collect(),
            last: nn::linear(p / "last", 256, 4, nn::LinearConfig { bias: false, ..Default::default() }),
        }
    }
}

#[traceable]
impl Activations {
    /// `[.., 256]` to `[.., 4]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc[0].forward(xs).relu();
        let ys = self.fc[1].forward(&ys).relu6();
        let ys = self.fc[2].forward(&ys).gelu("none");
        let ys = self.fc[3].forward(&ys).gelu("tanh");
        let ys = self.fc[4].forward(&ys).silu();
        let ys = self.fc[5].forward(&ys).hardswish();
        let ys = self.fc[6].forward(&ys).sigmoid();
        let ys = self.fc[7].forward(&ys).tanh();
        let ys = self.fc[8].forward(&ys).leaky_relu();
        let ys = self.fc[9].forward(&ys).clamp(-0.5, 0.75);
        self.last.forward(&(ys + xs))
    }
}

/// The same activations as layers, in a `Sequential`.
#[derive(Debug, Module)]
pub struct Layers {
    net: nn::Sequential,
}

impl Layers {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let net = p / "net";
        Self {
            net: nn::seq()
                .add(linear(&net / 0, 16, 32))
                .add(nn::relu())
                .add(linear(&net / 2, 32, 32))
                .add(nn::gelu())
                .add(linear(&net / 4, 32, 32))
                .add(nn::silu())
                .add(linear(&net / 6, 32, 32))
                .add(nn::leaky_relu(0.2))
                .add(linear(&net / 8, 32, 32))
                .add(nn::hard_swish())
                .add_fn(|xs| xs * 0.5)
                .add(linear(&net / 11, 32, 8))
                .add(nn::softmax(-1)),
        }
    }
}

#[traceable]
impl Layers {
    /// `[.., 16]` to `[.., 8]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.net.forward(xs)
    }
}

/// Words to scores: an embedding, a layer norm and the mean over the words.
#[derive(Debug, Module)]
pub struct Tokens {
    embedding: nn::Embedding,
    norm: nn::LayerNorm,
    fc1: nn::Linear,
    fc2: nn::Linear,
}

impl Tokens {
    /// Number of different words.
    pub const VOCABULARY: i64 = 50;

    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            embedding: nn::embedding(p / "embedding", Self::VOCABULARY, 16, nn::EmbeddingConfig::default()),
            norm: nn::layer_norm(p / "norm", vec![16], nn::LayerNormConfig::default()),
            fc1: linear(p / "fc1", 16, 32),
            fc2: linear(p / "fc2", 32, 5),
        }
    }
}

#[traceable]
impl Tokens {
    /// Words `i64[N, length]` to `[N, 5]`.
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        let xs = self.norm.forward(&self.embedding.forward(ids));
        let ys = self.fc1.forward(&xs).gelu("none");
        self.fc2.forward(&ys).mean_dim(1, false, None)
    }
}

/// Two linear layers, of which an input decides whether the second is asked.
#[derive(Debug, Module)]
pub struct Decided {
    fc1: nn::Linear,
    fc2: nn::Linear,
}

impl Decided {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc1: linear(p / "fc1", 32, 64), fc2: linear(p / "fc2", 64, 64) }
    }
}

#[traceable]
impl Decided {
    /// `[N, 32]` to `[N, 64]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc1.forward(xs).relu();
        if xs.double_value(&[0, 0]) > 0.0 { self.fc2.forward(&ys) } else { ys }
    }
}

/// A table of words and a linear layer, in which nearly all weights are, and which are large enough to be kept as integers.
#[derive(Debug, Module)]
pub struct Bag {
    embedding: nn::Embedding,
    fc: nn::Linear,
}

impl Bag {
    /// Number of different words.
    pub const VOCABULARY: i64 = 1024;

    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            embedding: nn::embedding(p / "embedding", Self::VOCABULARY, 128, nn::EmbeddingConfig::default()),
            fc: linear(p / "fc", 128, 1024),
        }
    }
}

#[traceable]
impl Bag {
    /// Words `i64[N, length]` to `[N, 1024]`.
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        self.fc.forward(&self.embedding.forward(ids).mean_dim(1, false, None))
    }
}

/// A convolution with a group norm behind it.
#[derive(Debug, Module)]
pub struct Grouped {
    conv: nn::Conv2D,
    norm: nn::GroupNorm,
    conv2: nn::Conv2D,
}

impl Grouped {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let same = nn::ConvConfig { padding: 1, ..Default::default() };
        Self {
            conv: nn::conv2d(p / "conv", 3, 8, 3, same),
            norm: nn::group_norm(p / "norm", 4, 8, nn::GroupNormConfig::default()),
            conv2: nn::conv2d(p / "conv2", 8, 3, 3, same),
        }
    }
}

#[traceable]
impl nn::ModuleT for Grouped {
    fn forward_t(&self, xs: &Tensor, _train: bool) -> Tensor {
        let ys = self.norm.forward(&self.conv.forward(xs)).silu();
        xs - self.conv2.forward(&ys)
    }
}
