//! Attention as it is written down, whose masks, scales and shapes differ.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Scales and fills that are whole numbers.
#[derive(Debug, Module)]
pub struct Whole {
    qkv: nn::Linear,
}

#[traceable]
impl Whole {
    pub fn forward(&self, xs: &Tensor, mask: &Tensor) -> (Tensor, Tensor) {
        let parts = self.qkv.forward(xs).chunk(3, -1);
        let scores = parts[0].matmul(&parts[1].transpose(-2, -1)) / 2;
        let scores = scores.masked_fill(mask, -1_000_000_000i64);
        let filled = scores.softmax(-1, Kind::Float).matmul(&parts[2]);
        let scores = parts[0].matmul(&parts[1].transpose(-2, -1)) * 2;
        (filled, (scores + mask).softmax(-1, Kind::Float).matmul(&parts[2]))
    }
}

/// An added mask with more batches than anything else has.
#[derive(Debug, Module)]
pub struct ManyMasks {
    qkv: nn::Linear,
}

#[traceable]
impl ManyMasks {
    pub fn forward(&self, xs: &Tensor, mask: &Tensor) -> Tensor {
        let parts = self.qkv.forward(xs).chunk(3, -1);
        let scores = parts[0].matmul(&parts[1].transpose(-2, -1)) / 2.0 + mask;
        scores.softmax(-1, Kind::Float).matmul(&parts[2])
    }
}

/// The result is taken for contiguous, as that of a product is.
#[derive(Debug, Module)]
pub struct Viewed {
    qkv: nn::Linear,
    heads: i64,
}

#[traceable]
impl Viewed {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (batch, length, _) = xs.size3().unwrap();
        let parts = self.qkv.forward(xs).chunk(3, -1);
        let split = |x: &Tensor| x.view([batch, length, self.heads, -1]).transpose(1, 2);
        let (q, k, v) = (split(&parts[0]), split(&parts[1]), split(&parts[2]));
        let ys = (q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, Kind::Float).matmul(&v);
        let single = (&parts[0]).matmul(&parts[1].transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&parts[2]);
        let merged = ys.view([batch * self.heads, length, -1]);
        (merged, single.view([batch, -1]), ys.view(-1))
    }
}

/// One set of keys and values for all heads.
#[derive(Debug, Module)]
pub struct MultiQuery {
    q: nn::Linear,
    kv: nn::Linear,
    heads: i64,
}

#[traceable]
impl MultiQuery {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (batch, length, _) = xs.size3().unwrap();
        let q = self.q.forward(xs).view([batch, length, self.heads, -1]).transpose(1, 2);
        let kv = self.kv.forward(xs).chunk(2, -1);
        let (k, v) = (kv[0].unsqueeze(1), kv[1].unsqueeze(1));
        let scores = q.matmul(&k.transpose(-2, -1)) / (k.size()[3] as f64).sqrt();
        let causal = Tensor::ones([length, length], (Kind::Bool, xs.device())).triu(1);
        let scores = scores.masked_fill(&causal, f64::NEG_INFINITY);
        scores.softmax(-1, Kind::Float).matmul(&v).transpose(1, 2).reshape([batch, length, -1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn whole_numbers_scale_and_fill() {
        let mask = randn(&[9, 9]).gt(0.3);
        agree!(
            |p| Whole { qkv: nn::linear(p / "qkv", 8, 24, Default::default()) },
            [(randn(&[3, 9, 8]), mask)],
            |net, (xs, mask)| net.forward(xs, mask)
        );
    }

    #[test]
    fn a_mask_may_have_more_batches() {
        agree!(
            |p| ManyMasks { qkv: nn::linear(p / "qkv", 8, 24, Default::default()) },
            [(randn(&[1, 9, 8]), randn(&[5, 9, 9]))],
            |net, (xs, mask)| net.forward(xs, mask)
        );
    }

    #[test]
    fn the_result_is_viewed() {
        agree!(
            |p| Viewed { qkv: nn::linear(p / "qkv", 8, 24, Default::default()), heads: 2 },
            [randn(&[3, 9, 8])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn heads_share_keys() {
        agree!(
            |p| MultiQuery {
                q: nn::linear(p / "q", 8, 24, Default::default()),
                kv: nn::linear(p / "kv", 8, 12, Default::default()),
                heads: 4
            },
            [randn(&[3, 9, 8])],
            |net, xs| net.forward(xs)
        );
    }
}
