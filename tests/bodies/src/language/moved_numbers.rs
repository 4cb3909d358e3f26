//! Numbers that `move` closures count in copies of their own, in chains of iterators.

use fx_runtime::{Module, Tensor, nn, traceable};

/// The variable keeps what it had, whoever runs the chain.
#[derive(Debug, Module)]
pub struct Counts {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Counts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut n = 1;
        let gathered: Vec<Tensor> = self
            .layers
            .iter()
            .map(move |layer| {
                n += 1;
                xs.apply(layer) * n
            })
            .collect();
        let folded = self.layers.iter().fold(xs.shallow_clone(), move |ys, layer| {
            n += 2;
            ys.apply(layer) * n
        });
        let mut ys = folded + Tensor::stack(&gathered, 0).sum_dim_intlist([0i64].as_slice(), false, xs.kind());
        for part in xs.chunk(2, 0).into_iter().map(move |part| {
            n += 3;
            part * n
        }) {
            ys = ys + part;
        }
        self.layers.iter().for_each(|_| n += 4);
        ys * n
    }
}

/// The same of a pair of numbers, and closures that see a variable of the name that a loop gives its number.
#[derive(Debug, Module)]
pub struct Pairs {
    fc: nn::Linear,
}

#[traceable]
impl Pairs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut last = (0.0, 1);
        let sums: Vec<f64> = [1.0, 2.0, 4.0]
            .iter()
            .map(move |n| {
                last.0 += n;
                last.0
            })
            .collect();
        let i = 2usize;
        let mut ys = xs.apply(&self.fc) * sums[2] + last.0 + last.1;
        for (i, n) in [1usize, 2, 3].iter().map(|n| n * i).enumerate() {
            ys = ys * n as i64 + i as i64;
        }
        for (i, n) in [1usize, 2, 3]
            .iter()
            .scan(0usize, |state, n| {
                *state += n * i;
                Some(*state)
            })
            .enumerate()
        {
            ys = ys * 0.5 + (n * 10 + i) as i64;
        }
        ys * i as i64
    }
}

/// An iterator that is borrowed goes on where the borrow ended.
#[derive(Debug, Module)]
pub struct Borrowed {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Borrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut layers = self.layers.iter();
        let second = layers.by_ref().skip(1).next().unwrap();
        let third = layers.next().unwrap();
        xs.apply(second).relu().apply(third)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    understood!(Borrowed: 0 of 10);

    #[test]
    fn counts() {
        let make = |p: &nn::Path| Counts {
            layers: (0..3).map(|at| nn::linear(p / at, 4, 4, nn::LinearConfig::default())).collect(),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn pairs() {
        let make = |p: &nn::Path| Pairs { fc: nn::linear(p / 0, 4, 4, nn::LinearConfig::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn borrowed() {
        let make = |p: &nn::Path| Borrowed {
            layers: (0..3).map(|at| nn::linear(p / at, 4, 4, nn::LinearConfig::default())).collect(),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
