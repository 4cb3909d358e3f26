//! Attention under masks, in the spellings that models use.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Queries, keys and values of two heads.
#[derive(Debug, Module)]
pub struct Projections {
    qkv: nn::Linear,
}

impl Projections {
    fn new(p: &nn::Path) -> Self {
        Self { qkv: nn::linear(p / "qkv", 8, 24, nn::LinearConfig::default()) }
    }

    /// `[N, T, 8]` to three of `[N, 2, T, 4]`.
    fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (n, t, _) = xs.size3().unwrap();
        let parts = self.qkv.forward(xs).view([n, t, 3, 2, 4]).permute([2, 0, 3, 1, 4]);
        (parts.get(0), parts.get(1), parts.get(2))
    }
}

/// Filled with minus infinity.
#[derive(Debug, Module)]
pub struct Infinite(Projections);

#[traceable]
impl Infinite {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask of what is hidden, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, hidden: &Tensor) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let scores = (q * 0.5).matmul(&k.transpose(-2, -1)).masked_fill(hidden, f64::NEG_INFINITY);
        scores.softmax(-1, None).matmul(&v)
    }
}

/// Filled with a large number.
#[derive(Debug, Module)]
pub struct Large(Projections);

#[traceable]
impl Large {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask of what is hidden, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, hidden: &Tensor) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let scores = q.matmul(&k.transpose(2, 3)) / (q.size()[3] as f64).sqrt();
        scores.masked_fill(hidden, -1e9).softmax(-1, Kind::Float).matmul(&v)
    }
}

/// Filled with the least number.
#[derive(Debug, Module)]
pub struct Least(Projections);

#[traceable]
impl Least {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask of what is hidden, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, hidden: &Tensor) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let scores = q.matmul(&k.permute([0, 1, 3, 2])).masked_fill(hidden, f64::from(f32::MIN));
        scores.softmax(-1, None).matmul(&v)
    }
}

/// Filled with a number that hides nothing for certain.
#[derive(Debug, Module)]
pub struct Small(Projections);

#[traceable]
impl Small {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask of what is hidden, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, hidden: &Tensor) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let scores = q.matmul(&k.transpose(-1, -2)).masked_fill(hidden, -4.0);
        scores.softmax(-1, None).matmul(&v)
    }
}

/// A mask that may be missing, added as it comes.
#[derive(Debug, Module)]
pub struct Added(Projections);

#[traceable]
impl Added {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask that is added, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let scores = q.matmul(&k.transpose(-1, -2)) / 2.0;
        let scores = match mask {
            Some(mask) => scores + mask,
            None => scores,
        };
        scores.softmax(-1, scores.kind()).matmul(&v)
    }
}

/// Zeros and ones, made a mask as BERT does.
#[derive(Debug, Module)]
pub struct Extended(Projections);

#[traceable]
impl Extended {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self(Projections::new(p))
    }

    /// `[N, T, 8]` under a mask of what is seen, `[N, T]`, to `[N, 2, T, 4]`.
    pub fn forward(&self, xs: &Tensor, seen: &Tensor) -> Tensor {
        let (q, k, v) = self.0.forward(xs);
        let mask = (1.0 - seen.unsqueeze(1).unsqueeze(2).to_kind(xs.kind())) * -10000.0;
        let scores: Tensor = q.matmul(&k.transpose(-1, -2)) / 2.0 + mask;
        scores.softmax(-1, None).matmul(&v)
    }
}
