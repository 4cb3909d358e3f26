//! Layers whose mode a field says, or a flag that the model asks while it runs.

use std::cell::Cell;

use fx_runtime::{Module, Tensor, nn, traceable};

/// A batch norm in the mode that a field says.
#[derive(Debug, Module)]
pub struct ByField {
    fc: nn::Linear,
    norm: nn::BatchNorm,
    train: bool,
}

#[traceable]
impl ByField {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).apply_t(&self.norm, self.train).relu()
    }
}

/// The same of a flag that may change between calls.
#[derive(Debug, Module)]
pub struct ByFlag {
    fc: nn::Linear,
    norm: nn::BatchNorm,
    train: Cell<bool>,
}

#[traceable]
impl ByFlag {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.norm.forward_t(&xs.apply(&self.fc), self.train.get());
        ys.relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    // What trains is opaque.
    understood!(ByField: 3 of 5);
    understood!(ByFlag: 3 of 5);

    fn norm(p: &nn::Path) -> nn::BatchNorm {
        nn::batch_norm1d(p / "norm", 4, nn::BatchNormConfig::default())
    }

    #[test]
    fn by_field() {
        for train in [false, true] {
            let make = |p: &nn::Path| ByField { fc: linear(p / "fc"), norm: norm(p), train };
            agree!(make, [randn(&[8, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn by_flag() {
        for train in [false, true] {
            let make = |p: &nn::Path| ByFlag { fc: linear(p / "fc"), norm: norm(p), train: Cell::new(train) };
            agree!(make, [randn(&[8, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
