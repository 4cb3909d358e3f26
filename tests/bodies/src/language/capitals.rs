//! Variables that begin with a capital, as formulas have them, beside constants and variants.

#![allow(non_snake_case, reason = "as formulas are written")]

use fx_runtime::{Module, Tensor, nn, traceable};

/// What `T` stands for elsewhere.
#[derive(Debug)]
pub struct Sizes {
    pub T: i64,
    pub width: i64,
}

fn scaled(X: &Tensor, K: f64) -> Tensor {
    X * K
}

/// The names of papers: batch, time, channels.
#[derive(Debug, Module)]
pub struct Formulas {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Formulas {
    pub fn forward(&self, X: &Tensor) -> (Tensor, i64) {
        let (B, C) = X.size2().unwrap();
        let Y = X.apply(&self.fc);
        let T = match Y.size()[..] {
            [B, D] => B * D + 2,
            _ => panic!("{B} rows of {C}"),
        };
        let sizes = Sizes { T, width: C };
        let Z: Vec<Tensor> = (0..2).map(|I| &Y * I + scaled(&Y, 0.5)).collect();
        (Tensor::stack(&Z, 0).view([2 * B, sizes.width]) * T, sizes.T)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    #[test]
    fn of_formulas() {
        agree!(|p| Formulas { fc: linear(p / 0) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
