//! Pointwise operators in a row, as models have them that are no textbook: each row is one pass over memory.

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: nn::Path, from: i64, to: i64) -> nn::Linear {
    nn::linear(p, from, to, nn::LinearConfig::default())
}

/// Activations that no kernel knows, numbers of the model's own among them.
#[derive(Debug, Module)]
pub struct Custom {
    fc1: nn::Linear,
    fc2: nn::Linear,
    slope: f64,
}

impl Custom {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc1: linear(p / "fc1", 12, 40), fc2: linear(p / "fc2", 40, 12), slope: 0.3 }
    }
}

#[traceable]
impl Custom {
    /// `[.., 12]` to `[.., 12]`: a quick GELU, a squared ReLU, and a leaky one with a slope of the model's own.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc1.forward(xs);
        let ys = &ys * (&ys * 1.702).sigmoid();
        let ys = self.fc2.forward(&ys);
        let ys = ys.relu().square() - (-ys).relu() * self.slope;
        let width = xs.size()[0];
        (ys + xs) / (1 + width)
    }
}

/// A gated layer whose gate and value are halves of one tensor, and a modulation by scale and shift.
#[derive(Debug, Module)]
pub struct Modulated {
    gated: nn::Linear,
    film: nn::Linear,
    weight: Tensor,
}

impl Modulated {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let weight = p.ones("weight", &[12]);
        Self { gated: linear(p / "gated", 12, 24), film: linear(p / "film", 12, 24), weight }
    }
}

#[traceable]
impl Modulated {
    /// `[batch, length, 12]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let halves = self.gated.forward(xs).chunk(2, -1);
        let gated = halves[0].silu() * &halves[1];
        let film = self.film.forward(&xs.mean_dim([1i64].as_slice(), true, None));
        let (scale, shift) = (film.narrow(-1, 0, 12), film.narrow(-1, 12, 12));
        let modulated = gated * (scale + 1.0) + shift;
        let squares = modulated.square();
        modulated * (squares.mean_dim([-1i64].as_slice(), true, None) + 1e-6).rsqrt() * &self.weight
    }
}

/// Positions as rotations, on heads that lie across memory.
#[derive(Debug, Module)]
pub struct Rotated {
    query: nn::Linear,
    cos: Tensor,
    sin: Tensor,
}

impl Rotated {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let query = linear(p / "query", 16, 16);
        Self { query, cos: p.ones("cos", &[32, 8]), sin: p.ones("sin", &[32, 8]) }
    }

    fn rotate_half(xs: &Tensor) -> Tensor {
        let half = xs.size()[3] / 2;
        Tensor::cat(&[-xs.narrow(3, half, half), xs.narrow(3, 0, half)], 3)
    }
}

#[traceable]
impl Rotated {
    /// `[batch, length, 16]` to `[batch, 2, length, 8]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (batch, length, _) = xs.size3().unwrap();
        let query = self.query.forward(xs).view([batch, length, 2, 8]).transpose(1, 2);
        let (cos, sin) = (self.cos.narrow(0, 0, length), self.sin.narrow(0, 0, length));
        &query * cos + Self::rotate_half(&query) * sin
    }
}

/// Values of a row that are read elsewhere, in a loop over layers and beside a convolution.
#[derive(Debug, Module)]
pub struct Bent {
    convs: Vec<nn::Conv2D>,
    gains: Vec<Tensor>,
}

impl Bent {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let conv = |index: usize| {
            let config = nn::ConvConfig { padding: 1, ..Default::default() };
            nn::conv2d(p / "convs" / index, 4, 4, 3, config)
        };
        let gain = |index: usize| (p / "gains").var(&index.to_string(), &[4, 1, 1], nn::Init::Const(1.0));
        Self { convs: (0..3).map(conv).collect(), gains: (0..3).map(gain).collect() }
    }
}

#[traceable]
impl Bent {
    /// Images of 4 channels to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (conv, gain) in self.convs.iter().zip(&self.gains) {
            let scaled = ys * gain + 0.1;
            let bent = scaled.tanh() * 2;
            ys = conv.forward(&bent) - &scaled * bent.abs();
        }
        ys
    }
}

/// Norms, means and a softmax among pointwise operators: each row is gone over in one piece.
#[derive(Debug, Module)]
pub struct Normed {
    position: Tensor,
    norm: nn::LayerNorm,
    plain: nn::LayerNorm,
    fc: nn::Linear,
    gain: Tensor,
    scale: f64,
}

impl Normed {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let without = nn::LayerNormConfig { elementwise_affine: false, eps: 1e-6, ..Default::default() };
        Self {
            position: p.randn("position", &[1, 48], 0.0, 1.0),
            norm: nn::layer_norm(p / "norm", vec![48], nn::LayerNormConfig::default()),
            plain: nn::layer_norm(p / "plain", vec![48], without),
            fc: linear(p / "fc", 48, 48),
            gain: p.ones("gain", &[48]),
            scale: 0.7,
        }
    }
}

#[traceable]
impl Normed {
    /// `[.., 48]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let sum = xs + &self.position;
        let ys = self.fc.forward(&self.norm.forward(&sum)).relu();
        let gated = self.plain.forward(&(ys * 0.5)) * sum.sigmoid();
        let scaled = &gated * (gated.square().mean_dim([-1i64].as_slice(), true, None) + 1e-6).rsqrt() * &self.gain;
        let spread = scaled.amax([-1i64], true) - scaled.mean_dim([-1i64].as_slice(), true, None);
        let ys = self.fc.forward(&(scaled / (spread + 1.0)));
        (ys * self.scale + sum).softmax(-1, None)
    }
}

/// A norm over rows of a length that the source says: others are a mistake.
#[derive(Debug, Module)]
pub struct Rows {
    bias: Tensor,
}

impl Rows {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { bias: p.randn("bias", &[1], 0.0, 1.0) }
    }
}

#[traceable]
impl Rows {
    /// `[.., 48]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let none: Option<&Tensor> = None;
        (xs + &self.bias).layer_norm([48i64].as_slice(), none, none, 1e-5, false).sigmoid() * 2.0
    }
}
