//! Shadowing, operators in every ownership, numbers, constants.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// One name for everything.
#[derive(Debug, Module)]
pub struct Shadow {
    w: Tensor,
    fc: nn::Linear,
}

#[traceable]
impl Shadow {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = xs.relu();
        let xs = &xs * 2.0;
        let xs = xs + 1;
        let xs = self.fc.forward(&xs);
        let xs = xs - &self.w;
        xs
    }
}

/// Owned and borrowed operands, numbers on either side.
#[derive(Debug, Module)]
pub struct Ownership {
    scale: f64,
    shift: i64,
}

#[traceable]
impl Ownership {
    pub fn forward(&self, a: &Tensor, b: Tensor) -> Tensor {
        let c = a + &b;
        let d = &c * a;
        let e = 2.0 * &d - 1i64;
        let f: Tensor = 1 - e;
        let g = &f / 2 + a.neg() - -&d;
        let h: Tensor = 1.0 / (g.square() + 1.0);
        (h * self.scale + self.shift) / &b.exp()
    }
}

pub const EPS: f64 = 1e-5;
pub static HALF: f64 = 0.5;

/// A norm from pointwise ops, with constants from everywhere.
#[derive(Debug, Module)]
pub struct RmsNorm {
    weight: Tensor,
}

impl RmsNorm {
    const POWER: i64 = 2;
}

#[traceable]
impl RmsNorm {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        const LOCAL: f64 = 3.0;
        let norm = (xs.pow_tensor_scalar(Self::POWER).mean_dim(-1, true, Kind::Float) + EPS).rsqrt();
        let ys = xs * norm * &self.weight;
        ys * HALF * std::f64::consts::PI / LOCAL
    }
}

/// Comparisons make masks.
#[derive(Debug, Module)]
pub struct Masks {}

#[traceable]
impl Masks {
    pub fn forward(&self, xs: &Tensor, ys: &Tensor) -> Tensor {
        let mask = xs.gt(0.).logical_and(&ys.lt_tensor(xs));
        let picked = xs.where_self(&mask, ys);
        let filled = picked.masked_fill(&xs.eq_tensor(ys).logical_not(), f64::from(1u8)).clamp(-1., 1.);
        filled * mask.to_kind(Kind::Float) + xs.maximum(ys).minimum(&(xs * 0.5))
    }
}

/// Arithmetic on numbers decides what is done with tensors.
#[derive(Debug, Module)]
pub struct Numbers {
    heads: i64,
    fc: nn::Linear,
}

#[traceable]
impl Numbers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (b, c) = xs.size2().unwrap();
        let head_dim = c / self.heads;
        let scale = 1.0 / (head_dim as f64).sqrt();
        let offset = ((b as f64 / 2.0).floor() as i64) % 3;
        let ys = self.fc.forward(xs).view([b, self.heads, head_dim]);
        let ys = ys * scale + offset as f64;
        ys.sum_dim_intlist([2i64].as_slice(), false, Kind::Float) * (-1i64).pow(2) as f64
    }
}

/// One long chain, and what is written in one expression.
#[derive(Debug, Module)]
pub struct Chain {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
    fc: nn::Linear,
}

#[traceable]
impl nn::ModuleT for Chain {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.conv)
            .apply_t(&self.bn, train)
            .relu()
            .max_pool2d_default(2)
            .flat_view()
            .dropout(0.5, train)
            .apply(&self.fc)
            .log_softmax(-1, Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};
    use fx_runtime::nn::ModuleT as _;

    #[test]
    fn shadow() {
        let make = |p: &nn::Path| Shadow {
            w: p.randn_standard("w", &[3]),
            fc: nn::linear(p / "fc", 4, 3, Default::default()),
        };
        agree!(make, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ownership() {
        let cases = [(randn(&[2, 4]), randn(&[2, 4])), (randn(&[3]), randn(&[1]))];
        agree!(|_| Ownership { scale: 0.3, shift: 2 }, cases, |net, (a, b)| net.forward(a, b.shallow_clone()));
    }

    #[test]
    fn rms_norm() {
        let make = |p: &nn::Path| RmsNorm { weight: p.randn_standard("w", &[4]) };
        agree!(make, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn masks() {
        agree!(|_| Masks {}, [(randn(&[6]), randn(&[6])), (randn(&[2, 3]), randn(&[3]))], |net, (a, b)| net
            .forward(a, b));
    }

    #[test]
    fn numbers() {
        let make = |p: &nn::Path| Numbers { heads: 2, fc: nn::linear(p / "fc", 6, 6, Default::default()) };
        agree!(make, [randn(&[2, 6]), randn(&[5, 6])], |net, xs| net.forward(xs));
    }

    #[test]
    fn chain() {
        let make = |p: &nn::Path| Chain {
            conv: nn::conv2d(p / "conv", 3, 4, 3, Default::default()),
            bn: nn::batch_norm2d(p / "bn", 4, Default::default()),
            fc: nn::linear(p / "fc", 4 * 9, 5, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8, 8]), randn(&[1, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
    }
}
