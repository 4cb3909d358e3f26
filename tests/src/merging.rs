//! Linear layers on one input, which become one layer; and others beside them, which must not.

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: nn::Path, from: i64, to: i64, bias: bool) -> nn::Linear {
    nn::linear(p, from, to, nn::LinearConfig { bias, ..Default::default() })
}

/// Multi-head attention with queries, keys and values of their own, of which the values have no bias.
#[derive(Debug, Module)]
pub struct Attention {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    out: nn::Linear,
    heads: i64,
}

impl Attention {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            q: linear(p / "q", 12, 12, true),
            k: linear(p / "k", 12, 12, true),
            v: linear(p / "v", 12, 18, false),
            out: linear(p / "out", 18, 12, true),
            heads: 3,
        }
    }

    fn split(&self, xs: &Tensor) -> Tensor {
        let size = xs.size();
        xs.view([size[0], size[1], self.heads, size[2] / self.heads]).transpose(1, 2)
    }
}

#[traceable]
impl Attention {
    /// `[N, T, 12]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let q = self.split(&self.q.forward(xs));
        let k = self.split(&self.k.forward(xs));
        let v = self.split(&self.v.forward(xs));
        let weights = (q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, None);
        let ys = weights.matmul(&v).transpose(1, 2).contiguous();
        let size = xs.size();
        xs + self.out.forward(&ys.view([size[0], size[1], -1]))
    }
}

/// A gated block: SiLU of the gate, spelled out, times the way up.
#[derive(Debug, Module)]
pub struct Gated {
    gate: nn::Linear,
    up: nn::Linear,
    down: nn::Linear,
}

impl Gated {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            gate: linear(p / "gate", 6, 16, false),
            up: linear(p / "up", 6, 16, false),
            down: linear(p / "down", 16, 6, false),
        }
    }
}

#[traceable]
impl Gated {
    /// `[.., 6]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let gate = self.gate.forward(xs);
        let gate = &gate * gate.sigmoid();
        xs + self.down.forward(&(gate * self.up.forward(xs)))
    }
}

/// Two heads of different sizes on one trunk, beside a layer that is called twice, one with a residual, and one whose
/// input was written to in between.
#[derive(Debug, Module)]
pub struct Heads {
    first: nn::Linear,
    second: nn::Linear,
    deep: nn::Linear,
    shared: nn::Linear,
    residual: nn::Linear,
    late: nn::Linear,
}

impl Heads {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self {
            first: linear(p / "first", 6, 4, true),
            second: linear(p / "second", 6, 9, true),
            deep: linear(p / "deep", 9, 9, true),
            shared: linear(p / "shared", 6, 6, true),
            residual: linear(p / "residual", 6, 6, true),
            late: linear(p / "late", 6, 3, true),
        }
    }
}

#[traceable]
impl Heads {
    /// `[N, 6]` to `[N, 28]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.tanh();
        let first = self.first.forward(&ys).relu();
        let second = self.deep.forward(&self.second.forward(&ys)).sigmoid();
        let shared = self.shared.forward(&self.shared.forward(&ys));
        let residual = self.residual.forward(&ys) + &ys;
        let _ = ys.relu_();
        let late = self.late.forward(&ys).exp();
        Tensor::cat(&[first, second, shared, residual, late], 1)
    }
}
