//! What is computed without gradients: as a closure, behind a guard to the end of a block, and behind one of the function.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::no_grad;

/// By `no_grad`: what a closure hands over, alone and in a tuple, and what it assigns.
#[derive(Debug, Module)]
pub struct Closures {
    fc: nn::Linear,
    head: nn::Linear,
}

#[traceable(strict)]
impl Closures {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut scale = xs.ones_like();
        let ys = xs.apply(&self.head);
        let target = no_grad(|| {
            scale = xs.apply(&self.fc).sigmoid();
            xs.apply(&self.fc).relu()
        });
        let (same, weights) = tch::no_grad(|| (ys.shallow_clone(), xs.apply(&self.head).softmax(-1, Kind::Float)));
        (ys - target * scale) * weights + same
    }
}

/// Behind guards: to the end of a block, let go at once, and for what is left of the function, which returns early.
#[derive(Debug, Module)]
pub struct Guards {
    fc: nn::Linear,
    is_short: bool,
}

#[traceable(strict)]
impl Guards {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let hidden = xs.apply(&self.fc);
        let kept = {
            let _guard = tch::no_grad_guard();
            xs.apply(&self.fc).tanh()
        };
        let _ = tch::no_grad_guard();
        self.rest(&(xs.apply(&self.fc) * kept)) + hidden
    }

    fn rest(&self, xs: &Tensor) -> Tensor {
        let _guard = tch::no_grad_guard();
        if self.is_short {
            return xs.relu();
        }
        let ys = xs.apply(&self.fc);
        ys.sigmoid() + xs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path<'_>) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 2] {
        [2, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn have_no_history() {
        agree!(|p: &nn::Path| Closures { fc: linear(p / "fc"), head: linear(p / "head") }, cases(), |net, xs| net
            .forward(xs));
        for is_short in [false, true] {
            agree!(|p: &nn::Path| Guards { fc: linear(p / "fc"), is_short }, cases(), |net, xs| net.forward(xs));
        }
    }
}
