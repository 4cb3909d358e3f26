//! What iterators leave in several variables or in a function's hands, and values that the source writes out at once.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn linears(p: &nn::Path) -> Vec<nn::Linear> {
    (0..3).map(|i| nn::linear(p / i, 8, 8, Default::default())).collect()
}

#[derive(Debug, Module)]
pub struct FoldedPair {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl FoldedPair {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (ys, by) = self.layers.iter().fold((xs.shallow_clone(), 1i64), |(ys, by), layer| (ys.apply(layer), by * 2));
        let (zs, sum) = self
            .layers
            .iter()
            .rev()
            .enumerate()
            .fold((ys.shallow_clone(), 0i64), |(zs, sum), (i, layer)| (zs.apply(layer), sum + i as i64));
        ys * by + zs * sum
    }
}

#[derive(Debug, Module)]
pub struct FoldedByFunction {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl FoldedByFunction {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let top = self.layers.iter().map(|layer| xs.apply(layer).max().double_value(&[])).fold(f64::MIN, f64::max);
        xs.apply(&self.layers[0]) / top
    }
}

#[derive(Debug, Module)]
pub struct BegunByOne {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl BegunByOne {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let all: Vec<Tensor> =
            std::iter::once(xs.copy()).chain(self.layers.iter().map(|layer| xs.apply(layer).relu())).collect();
        Tensor::cat(&all, 1)
    }
}

/// Numbers, written out or repeated, whose type nothing says.
#[derive(Debug, Module)]
pub struct WrittenNumbers {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl WrittenNumbers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layers[0]);
        let scale = Tensor::from_slice(&[1.0, -2.0, 0.5]).sum(Kind::Float);
        let by = Tensor::from_slice(&[1, -2, 3, 0, 0, 0, 0, 1]);
        let mut size = [0i64; 2];
        size[0] = 4;
        size[1] = -1;
        (ys * ((1 - scale) as Tensor) * by).view(size)
    }
}

#[derive(Debug, Module)]
pub struct DeclaredTogether {
    fc: nn::Linear,
    is_deep: bool,
}

#[traceable(strict)]
impl DeclaredTogether {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut a, mut b);
        if self.is_deep {
            a = xs.relu();
            b = xs.apply(&self.fc);
        } else {
            a = xs.neg();
            b = xs.copy();
        }
        a = a + 1;
        b = b * 2;
        a - b
    }
}

/// Lists that are summed up, and values that are given up early.
#[derive(Debug, Module)]
pub struct SummedAndDropped {
    fc: nn::Linear,
}

#[traceable(strict)]
impl SummedAndDropped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let columns = ys.split(1, 1);
        let by_reference = columns.iter().sum::<Tensor>();
        let last = columns.into_iter().map(|column| column * 2.0).sum::<Tensor>();
        let pieces = vec![ys.relu(), ys.neg()];
        drop(pieces);
        drop(ys.tanh());
        drop(Some(ys));
        by_reference * last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(SummedAndDropped: "two numbers of one type");

    #[test]
    fn folds() {
        agree!(|p: &nn::Path| FoldedPair { layers: linears(p) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| FoldedByFunction { layers: linears(p) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| BegunByOne { layers: linears(p) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn values_that_are_written_out() {
        agree!(|p: &nn::Path| WrittenNumbers { layers: linears(p) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
        for is_deep in [true, false] {
            let make = |p: &nn::Path| DeclaredTogether { fc: nn::linear(p, 8, 8, Default::default()), is_deep };
            agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn summed_and_dropped() {
        let make = |p: &nn::Path| SummedAndDropped { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
