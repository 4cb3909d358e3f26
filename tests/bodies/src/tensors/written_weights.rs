//! Models that write to a weight of theirs when they are called.

use fx_runtime::{IndexOp, Module, Tensor, nn, traceable};

fn linear(p: nn::Path) -> nn::Linear {
    nn::linear(p, 8, 8, Default::default())
}

/// A part of one layer's bias, where the model has another parameter: the layers beside it are packed.
#[derive(Debug, Module)]
pub struct Zeroed {
    qkv: nn::Linear,
    a: nn::Linear,
    b: nn::Linear,
    scale: Option<Tensor>,
}

#[traceable]
impl Zeroed {
    pub fn new(p: &nn::Path, scaled: bool) -> Self {
        let scale = scaled.then(|| p.var("scale", &[1], nn::Init::Const(1.0)));
        Self { qkv: linear(p / "qkv"), a: linear(p / "a"), b: linear(p / "b"), scale }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = if self.scale.is_some() {
            let bias = self.qkv.bs.as_ref().unwrap();
            let _ = bias.i(4..8).zero_();
            xs.linear(&self.qkv.ws, Some(bias))
        } else {
            xs.linear(&self.qkv.ws, self.qkv.bs.as_ref())
        };
        ys.apply(&self.a).gelu("none").apply(&self.b)
    }
}

/// One layer of a list is written to: each may be the one.
#[derive(Debug, Module)]
pub struct OneOfMany {
    layers: Vec<nn::Linear>,
    head: nn::Linear,
}

#[traceable]
impl OneOfMany {
    pub fn new(p: &nn::Path) -> Self {
        Self { layers: (0..3).map(|i| linear(p / i)).collect(), head: linear(p / "head") }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let _ = self.layers[1].bs.as_ref().unwrap().i(0..2).fill_(0.5);
        let ys = self.layers.iter().fold(xs.shallow_clone(), |ys, layer| ys.apply(layer).relu());
        ys.apply(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{numbers_agree, randn};

    /// By generated code alone: a weight that calls write to is no part of a graph that is frozen at run time.
    #[test]
    fn written_parts_of_biases() {
        for scaled in [true, false] {
            numbers_agree!(|p| Zeroed::new(p, scaled), [randn(&[3, 8])], |net, xs| net.forward(xs));
        }
        numbers_agree!(OneOfMany::new, [randn(&[3, 8])], |net, xs| net.forward(xs));
    }
}
