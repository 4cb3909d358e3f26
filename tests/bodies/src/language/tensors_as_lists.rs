//! The numbers of tensors as lists: in options and structs, by `try_from` and by `try_into`.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// A list in an option, and one in a tuple in an option.
#[derive(Debug, Module)]
pub struct Listed {
    fc: nn::Linear,
}

#[traceable]
impl Listed {
    pub fn forward(&self, xs: &Tensor) -> Option<(Vec<f32>, f64)> {
        let ys = xs.apply(&self.fc).softmax(-1, Kind::Float);
        let numbers = Vec::<f32>::try_from(ys.view([-1])).unwrap();
        let largest: f64 = ys.max().try_into().unwrap();
        Some((numbers, largest))
    }
}

/// A list of whole numbers in an option.
#[derive(Debug, Module)]
pub struct Best {
    fc: nn::Linear,
}

#[traceable]
impl Best {
    pub fn forward(&self, xs: &Tensor) -> Option<Vec<i64>> {
        let ys = xs.apply(&self.fc).argmax(-1, false);
        let best: Vec<i64> = ys.view([-1]).try_into().unwrap();
        Some(best)
    }
}

/// Pairs of lists, of which one is made where they are paired.
#[derive(Debug, Module)]
pub struct Paired {
    fcs: Vec<nn::Linear>,
}

#[traceable]
impl Paired {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        for (fc, row) in self.fcs.iter().zip(xs.unbind(0)) {
            ys = ys.apply(fc) * row;
        }
        for (fc, by) in std::iter::zip(&self.fcs, [3i64, 4, 5]) {
            ys = ys.apply(fc) / by;
        }
        let head = |one: &Tensor| one.apply(&self.fcs[0]).sigmoid();
        let parts: Vec<Tensor> = ys.chunk(2, 0).iter().map(head).collect();
        let parts: Vec<Tensor> = parts.into_iter().zip(xs.sin().chunk(2, 0)).map(|(a, b)| a * b).collect();
        Tensor::cat(&parts, 0)
    }
}

/// A slice in an option, taken apart by a pattern, and an element of a map that something is asked of.
#[derive(Debug, Module)]
pub struct TakenApart {
    fc: Option<nn::Linear>,
}

#[traceable]
impl TakenApart {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let parts = self.fc.as_ref().map(|fc| xs.apply(fc).chunk(2, 1));
        let ys = match parts.as_deref() {
            Some([first, second]) => first * second,
            _ => xs.narrow(1, 0, 2).relu(),
        };
        let mut levels: std::collections::BTreeMap<u8, Tensor> = std::collections::BTreeMap::new();
        levels.insert(1, ys.tanh());
        levels[&1].unsqueeze(0) + ys
    }
}

/// Jumps to the outer of two loops over numbers.
#[derive(Debug, Module)]
pub struct Jumping {
    fc: nn::Linear,
}

#[traceable]
impl Jumping {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut count = 0;
        'outer: for row in 0..4i64 {
            for column in 0..4i64 {
                if column > row {
                    continue 'outer;
                }
                if row + column > 5 {
                    break 'outer;
                }
                count += row * column;
            }
        }
        xs.apply(&self.fc) * count
    }
}

mod scored {
    use fx_runtime::Tensor;

    fn halved(xs: &Tensor) -> Tensor {
        xs * 0.5
    }

    /// A trait whose methods are provided.
    pub trait Scored {
        fn scores(&self, xs: &Tensor) -> Tensor {
            halved(xs).relu()
        }
    }
}
use scored::Scored;

#[derive(Debug, Module)]
pub struct Part {
    fc: nn::Linear,
}

impl Scored for Part {}

/// A method that a trait of another module provides.
#[derive(Debug, Module)]
pub struct Providing {
    part: Part,
}

#[traceable]
impl Providing {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.part.scores(xs).apply(&self.part.fc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(TakenApart: 5 of 9);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 2] {
        [2, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn numbers() {
        agree!(|p: &nn::Path| Listed { fc: linear(p) }, cases(), |net, xs| {
            let (numbers, largest) = net.forward(xs).unwrap();
            (Tensor::from_slice(&numbers), Tensor::from(largest))
        });
        agree!(|p: &nn::Path| Best { fc: linear(p) }, cases(), |net, xs| {
            Tensor::from_slice(&net.forward(xs).unwrap())
        });
    }

    #[test]
    fn pairs() {
        let make = |p: &nn::Path| Paired { fcs: (0..3).map(|at| linear(&(p / at))).collect() };
        agree!(make, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn patterns() {
        for is_there in [false, true] {
            let make = |p: &nn::Path| TakenApart { fc: is_there.then(|| linear(p)) };
            agree!(make, cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn jumps() {
        agree!(|p: &nn::Path| Jumping { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn provided() {
        agree!(|p: &nn::Path| Providing { part: Part { fc: linear(p) } }, cases(), |net, xs| net.forward(xs));
    }
}
