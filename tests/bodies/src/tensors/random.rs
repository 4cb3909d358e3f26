//! Random numbers stay random, dropout is off.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Noise {
    fc: nn::Linear,
    level: f64,
}

#[traceable]
impl Noise {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let noise = xs.randn_like() * self.level;
        let ys = self.fc.forward(&(xs + noise)).dropout(0.5, train);
        let unused = Tensor::rand([3], (Kind::Float, xs.device()));
        let mask = Tensor::rand(ys.size(), (Kind::Float, xs.device())).ge(0.5);
        let _ = unused;
        if train { ys.dropout(0.1, true) } else { ys * mask.to_kind(Kind::Float) }
    }
}

/// Reparametrisation, as in a VAE.
#[derive(Debug, Module)]
pub struct Vae {
    mu: nn::Linear,
    logvar: nn::Linear,
    decode: nn::Linear,
}

impl Vae {
    fn encode(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let h = xs.relu();
        (self.mu.forward(&h), self.logvar.forward(&h))
    }
}

#[traceable]
impl Vae {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (mu, logvar) = self.encode(&xs.view([-1, 4]));
        let std = (&logvar * 0.5).exp();
        let eps = std.randn_like();
        let z = &mu + eps * std;
        (self.decode.forward(&z).sigmoid(), mu, logvar)
    }
}

/// Training flags under other names, and dropout layers.
#[derive(Debug, Module)]
pub struct Dropouts {
    fc: nn::Linear,
    drop: nn::Dropout,
    p: f64,
}

#[traceable]
impl nn::ModuleT for Dropouts {
    fn forward_t(&self, xs: &Tensor, training: bool) -> Tensor {
        let ys = self.fc.forward(xs).apply_t(&self.drop, training);
        let ys = ys.dropout(self.p, training);
        let ys = if training && self.p > 0.0 { ys.relu() } else { ys.tanh() };
        if !training { ys } else { ys.neg() }
    }
}

/// The same random numbers, drawn twice: never merged.
#[derive(Debug, Module)]
pub struct Twice {}

#[traceable]
impl Twice {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let a = xs.rand_like();
        let b = xs.rand_like();
        let c = xs.bernoulli();
        a - b + c
    }
}

/// A seed that the forward sets: what it draws behind that is the same in each call.
#[derive(Debug, Module)]
pub struct Seeded {
    fc: nn::Linear,
    seed: Option<i64>,
}

#[traceable(strict)]
impl Seeded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        if let Some(seed) = self.seed {
            tch::manual_seed(seed);
        };
        let rotations = Tensor::randn([4, 4], (xs.kind(), xs.device()));
        xs.apply(&self.fc).matmul(&rotations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};
    use fx_runtime::nn::ModuleT as _;

    not_interpreted!(Seeded: "interpreting the code");

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn noise() {
        agree!(|p| Noise { fc: linear(p / 0), level: 0.1 }, [randn(&[2, 4])], |net, xs| net.forward_t(xs, false));
    }

    #[test]
    fn vae() {
        agree!(
            |p| Vae { mu: linear(p / 0), logvar: linear(p / 1), decode: linear(p / 2) },
            [randn(&[2, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn dropouts() {
        agree!(|p| Dropouts { fc: linear(p / 0), drop: nn::dropout(0.5), p: 0.2 }, [randn(&[2, 4])], |net, xs| net
            .forward_t(xs, false));
    }

    #[test]
    fn twice() {
        agree!(|_| Twice {}, [randn(&[2, 4]).sigmoid()], |net, xs| net.forward(xs));
    }

    #[test]
    fn seeded() {
        for seed in [Some(7), None] {
            agree!(|p| Seeded { fc: linear(p / 0), seed }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
