//! Variants with data that the forward makes, and matches where it or a helper made them.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug)]
pub enum Out {
    Pair(Tensor, Tensor),
    One(Tensor),
    Scaled(Tensor, i64),
}

impl Out {
    fn sum(&self) -> Tensor {
        match self {
            Out::Pair(a, b) => a + b,
            Out::One(a) => a.relu(),
            Out::Scaled(a, by) => a * *by,
        }
    }
}

#[derive(Debug, Module)]
pub struct Net {
    fc: nn::Linear,
    deep: bool,
}

impl Net {
    fn run(&self, xs: &Tensor) -> Out {
        let ys = self.fc.forward(xs);
        if self.deep { Out::Pair(ys.tanh(), ys) } else { Out::One(ys) }
    }

    fn by_size(&self, xs: &Tensor) -> Out {
        match xs.size()[0] {
            0..=2 => Out::Pair(xs.tanh(), self.fc.forward(xs)),
            3 => Out::Scaled(xs.neg(), 3),
            _ => Out::One(xs.shallow_clone()),
        }
    }
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let out = Out::Scaled(self.fc.forward(xs), 5);
        let ys = match out {
            Out::Pair(a, b) => a - b,
            Out::Scaled(a, by) => a * by,
            Out::One(a) => a,
        };
        let zs = match &self.run(xs) {
            Out::Pair(a, b) => a * b,
            Out::One(a) => a.neg(),
            Out::Scaled(a, _) => a.exp(),
        };
        let ws = self.by_size(xs).sum() + self.run(&ys).sum();
        let vs = match self.by_size(xs) {
            Out::Pair(a, b) => a + b,
            Out::Scaled(a, by) => a * by + by,
            Out::One(mut a) => {
                let _ = a.relu_();
                a + 1
            }
        };
        (ys, zs, ws, vs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn made_variants() {
        for deep in [false, true] {
            let make = |p: &nn::Path| Net { fc: nn::linear(p / "fc", 4, 4, Default::default()), deep };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
        }
    }
}
