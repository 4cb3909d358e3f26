//! Every spelling of a call of a layer.

use fx_runtime::nn::ModuleT;
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Spellings {
    a: nn::Linear,
    b: nn::Linear,
    norm: nn::BatchNorm,
    maybe: Option<nn::Linear>,
    never: Option<nn::Linear>,
    boxed: Box<nn::Linear>,
}

#[traceable]
impl Spellings {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.a).apply(&self.b);
        let ys = self.a.forward(&ys) + nn::Module::forward(&self.b, &ys);
        let ys = ys.apply_t(&self.norm, train);
        let ys = self.norm.forward_t(&ys, train);
        let ys = ys.apply_opt(&self.maybe).apply_opt(&self.never);
        let ys = self.boxed.forward(&ys).apply(self.boxed.as_ref());
        let layer = &self.a;
        let ys = layer.forward(&ys);
        ModuleT::forward_t(&self.norm, &ys, train)
    }
}

/// A block that is `ModuleT`, used by a model that is not.
#[derive(Debug, Module)]
pub struct Block {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl ModuleT for Block {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.conv).apply_t(&self.bn, train)
    }
}

#[derive(Debug, Module)]
pub struct Residual {
    left: Block,
    right: Block,
}

#[traceable]
impl nn::Module for Residual {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply_t(&self.left, false);
        let zs = self.right.forward_t(&ys.relu(), false);
        (zs + xs).relu()
    }
}

/// A model that wraps another traceable one.
#[derive(Debug, Module)]
pub struct Outer {
    inner: Residual,
    head: nn::Conv2D,
}

#[traceable]
impl Outer {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use fx_runtime::nn::Module as _;
        let features = self.inner.forward(xs);
        features.apply(&self.inner).apply(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};
    use fx_runtime::nn::Module as _;

    fn residual(p: &nn::Path) -> Residual {
        let block = |p: nn::Path| Block {
            conv: nn::conv2d(&p / "conv", 4, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() }),
            bn: nn::batch_norm2d(&p / "bn", 4, Default::default()),
        };
        Residual { left: block(p / "left"), right: block(p / "right") }
    }

    #[test]
    fn spellings() {
        let make = |p: &nn::Path| {
            let linear = |name: &str| nn::linear(p / name, 4, 4, Default::default());
            Spellings {
                a: linear("a"),
                b: linear("b"),
                norm: nn::batch_norm1d(p / "norm", 4, Default::default()),
                maybe: Some(linear("maybe")),
                never: None,
                boxed: Box::new(linear("boxed")),
            }
        };
        agree!(make, [randn(&[2, 4]), randn(&[7, 4])], |net, xs| net.forward_t(xs, false));
    }

    #[test]
    fn blocks() {
        agree!(residual, [randn(&[2, 4, 5, 5]), randn(&[1, 4, 8, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn nested() {
        let make =
            |p: &nn::Path| Outer { inner: residual(p), head: nn::conv2d(p / "head", 4, 2, 1, Default::default()) };
        agree!(make, [randn(&[2, 4, 5, 5])], |net, xs| net.forward(xs));
    }
}
