//! What would fail is left out where no call comes to it: views of weights, elements, and tensors that options hold, in branches
//! that an input decides.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A part of the model that is switched off, and has no weights that fit.
#[derive(Debug, Module)]
pub struct SwitchedOff {
    fc: nn::Linear,
    weight: Tensor,
    wide: bool,
}

#[traceable(strict)]
impl SwitchedOff {
    fn table(&self) -> Tensor {
        self.weight.view([7, 7]).relu()
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        if self.wide && xs.dim() > 1 { ys + self.table() } else { ys + self.weight.get(0) }
    }
}

/// In a `match`, a closure, a loop and behind an early return.
#[derive(Debug, Module)]
pub struct NeverReached {
    fc: nn::Linear,
    weight: Tensor,
    bias: Option<Tensor>,
    more: Vec<i64>,
}

#[traceable(strict)]
impl NeverReached {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for at in 0..xs.dim() as i64 - 2 {
            ys = ys + self.weight.narrow(0, 9, 9) * at;
        }
        let zs = match xs.dim() {
            1 | 2 => ys,
            3 => ys + self.bias.as_ref().unwrap(),
            _ => ys + self.more[5],
        };
        let other = (xs.dim() > 5).then(|| self.weight.reshape([7, -1]));
        let zs = zs + other.unwrap_or_else(|| self.weight.select(0, 1));
        if xs.dim() < 6 {
            return zs;
        }
        zs * self.weight.double_value(&[9, 9])
    }
}

/// The weight of a kernel, in a branch that is taken.
#[derive(Debug, Module)]
pub struct PartsOfWeights {
    weight: Tensor,
    fc: nn::Linear,
}

#[traceable(strict)]
impl PartsOfWeights {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        if xs.size()[0] > 1 {
            let ys = xs.matmul(&self.weight.narrow(0, 0, 4).tr());
            ys.apply(&self.fc) + self.weight.view([2, 4, 4]).select(0, 1).get(0)
        } else {
            xs.apply(&self.fc)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 2] {
        [randn(&[2, 4]), randn(&[1, 4])]
    }

    #[test]
    fn switched_off() {
        agree!(
            |p: &nn::Path| SwitchedOff { fc: linear(p), weight: p.randn("weight", &[4, 4], 0.0, 1.0), wide: false },
            cases(),
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn never_reached() {
        let make = |p: &nn::Path| NeverReached {
            fc: linear(p),
            weight: p.randn("weight", &[4, 4], 0.0, 1.0),
            bias: None,
            more: Vec::new(),
        };
        agree!(make, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn parts_of_weights() {
        agree!(
            |p: &nn::Path| PartsOfWeights { weight: p.randn("weight", &[8, 4], 0.0, 1.0), fc: linear(p) },
            cases(),
            |net, xs| net.forward(xs)
        );
    }
}
