//! Iterators that a loop begins with, a variable holds or a method hands out: parts of lists, options, lazy adaptors.

use fx_runtime::nn::Path;
use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn linear(p: Path) -> nn::Linear {
    nn::linear(p, 4, 4, Default::default())
}

fn linears(p: &Path, count: i64) -> Vec<nn::Linear> {
    (0..count).map(|i| linear(p / i)).collect()
}

/// Layers two by two, the last alone.
#[derive(Debug, Module)]
pub struct Pairwise {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Pairwise {
    pub fn new(p: &Path) -> Pairwise {
        Pairwise { layers: linears(p, 5) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for (i, pair) in self.layers.chunks(2).enumerate() {
            let skip = xs.shallow_clone();
            for layer in pair {
                xs = xs.apply(layer).relu();
            }
            xs = xs + skip * i as f64;
        }
        for pair in self.layers.chunks_exact(2).rev() {
            xs = xs.apply(&pair[0]).tanh() + xs.apply(&pair[1]);
        }
        xs
    }
}

/// Each number beside the next.
#[derive(Debug, Module)]
pub struct Ratios {
    layer: nn::Linear,
    dims: Vec<i64>,
}

#[traceable]
impl Ratios {
    pub fn new(p: &Path) -> Ratios {
        Ratios { layer: linear(p / "l"), dims: vec![1, 2, 6] }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut out = xs.apply(&self.layer);
        for pair in self.dims.windows(2) {
            out = out * pair[1] as f64 / pair[0] as f64;
        }
        let sizes = xs.size();
        let steps: Vec<i64> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        out + steps[0] as f64
    }
}

/// Methods that hand out iterators, one by another's.
#[derive(Debug, Module)]
pub struct HandedOut {
    layers: Vec<nn::Linear>,
    count: usize,
}

impl HandedOut {
    fn rest(&self) -> impl Iterator<Item = &nn::Linear> + '_ {
        self.layers.iter().skip(1)
    }

    fn first(&self) -> impl DoubleEndedIterator<Item = &nn::Linear> {
        self.layers.iter().take(self.count)
    }

    fn even(&self) -> impl Iterator<Item = (usize, &nn::Linear)> + '_ {
        self.rest().enumerate().filter(|(i, _)| i % 2 == 0)
    }
}

#[traceable]
impl HandedOut {
    pub fn new(p: &Path) -> HandedOut {
        HandedOut { layers: linears(p, 4), count: 2 }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut y = self.rest().fold(xs.shallow_clone(), |x, layer| x.apply(layer).relu());
        for (i, layer) in self.even() {
            y = y.apply(layer) + i as f64;
        }
        for layer in self.first().rev() {
            y = y.apply(layer);
        }
        let all: Vec<Tensor> = self.rest().map(|layer| y.apply(layer)).collect();
        Tensor::cat(&all, 0)
    }
}

/// Variables that hold adaptors, which one place asks.
#[derive(Debug, Module)]
pub struct HeldLazily {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl HeldLazily {
    pub fn new(p: &Path) -> HeldLazily {
        HeldLazily { layers: linears(p, 3) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let outs = self.layers.iter().map(|layer| xs.apply(layer));
        let mut outs: Vec<Tensor> = outs.rev().collect();
        let last = outs.pop().unwrap();
        let sum = outs.into_iter().fold(last, |a, b| a * 0.5 + b);
        let scale = 2.0;
        let scaled = self.layers.iter().map(|layer| sum.apply(layer) * scale);
        let count = self.layers.len() as f64;
        let stacked = Tensor::stack(&scaled.collect::<Vec<_>>(), 0);
        let mut total = stacked.sum_dim_intlist(0, false, Kind::Float) / count;
        let squashed = self.layers.iter().map(|layer| layer.ws.tanh().sum(Kind::Float));
        for one in squashed {
            total = total + one;
        }
        total
    }
}

/// Loops over what options hold, and the number of an element.
#[derive(Debug, Module)]
pub struct HeldOnce {
    layer: nn::Linear,
    bias: Option<Tensor>,
    scale: Option<f64>,
    norm: Option<nn::LayerNorm>,
    dims: Vec<i64>,
}

#[traceable]
impl HeldOnce {
    pub fn new(p: &Path) -> HeldOnce {
        HeldOnce {
            layer: linear(p / "l"),
            bias: Some(p.var("b", &[4], nn::Init::Const(0.5))),
            scale: None,
            norm: Some(nn::layer_norm(p / "n", vec![4], Default::default())),
            dims: vec![1, 4, 2],
        }
    }

    #[allow(for_loops_over_fallibles, reason = "it is what the body is about")]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.apply(&self.layer);
        for bias in &self.bias {
            xs = xs + bias;
        }
        for scale in self.scale.iter() {
            xs = xs * *scale;
        }
        let xs = self.norm.iter().fold(xs, |xs, norm| xs.apply(norm));
        let at = self.dims.iter().position(|&dim| dim == 2).unwrap();
        let none = self.dims.iter().position(|dim| *dim > 9);
        xs * at as f64 + none.unwrap_or(7) as f64
    }
}

/// A list that is written out, emptied, and taken from once more.
#[derive(Debug, Module)]
pub struct PoppedEmpty {
    fc: nn::Linear,
}

#[traceable]
impl PoppedEmpty {
    pub fn new(p: &Path) -> PoppedEmpty {
        PoppedEmpty { fc: linear(p / 0) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut list: Vec<Tensor> = vec![xs.apply(&self.fc)];
        let first = list.pop().unwrap_or_else(|| xs.relu());
        let second = list.pop().unwrap_or_else(|| xs.sin());
        let mut other = vec![xs.cos()];
        let third = other.pop().unwrap();
        if xs.size()[0] > 2 {
            other.push(second.neg());
        }
        first + third + other.pop().unwrap_or(second)
    }
}

/// A slice of references, one of them chosen by the input, that a pattern takes apart.
#[derive(Debug, Module)]
pub struct MatchedReferences {
    fc: nn::Linear,
}

#[traceable]
impl MatchedReferences {
    pub fn new(p: &Path) -> MatchedReferences {
        MatchedReferences { fc: linear(p / 0) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let pair = [if xs.size()[0] > 2 { xs } else { &ys }, &ys];
        match &pair[..] {
            [one, .., other] => *one - *other + xs,
            _ => xs.cos(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(PoppedEmpty: 6 of 7);

    #[test]
    fn pairwise() {
        agree!(Pairwise::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ratios() {
        agree!(Ratios::new, [randn(&[3, 4]), randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn emptied() {
        agree!(PoppedEmpty::new, [randn(&[3, 4]), randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn matched() {
        agree!(MatchedReferences::new, [randn(&[3, 4]), randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn handed_out() {
        agree!(HandedOut::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn held_lazily() {
        agree!(HeldLazily::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn held_once() {
        agree!(HeldOnce::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
