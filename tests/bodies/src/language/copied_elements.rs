//! `copied()` and `cloned()` within chains, and iterators with closures in variables.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Numbers of a field.
#[derive(Debug, Module)]
pub struct CopiedNumbers {
    fc: nn::Linear,
    sizes: Vec<i64>,
}

#[traceable]
impl CopiedNumbers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let pools: Vec<Tensor> = self.sizes.iter().cloned().map(|k| ys.roll([k], [1]) * k).collect();
        let shape: Vec<i64> = ys.size().iter().copied().map(|n| n * 2).collect();
        let large: Vec<i64> = self.sizes.iter().copied().filter(|k| *k > 1).collect();
        let (mut sum, mut pairs) = (0, 0);
        for (i, k) in self.sizes.iter().copied().enumerate() {
            sum += k * i as i64;
        }
        for (a, b) in self.sizes.iter().cloned().zip(self.sizes.iter().rev().copied()) {
            pairs += a * 2 - b;
        }
        for k in self.sizes.iter().copied().rev() {
            pairs += k;
        }
        let most = self.sizes.iter().copied().fold(0, |a, b| if a > b { a } else { b });
        Tensor::cat(&pools, 1).repeat(shape).relu() * (sum + pairs * 10 + most) * large.len() as i64
    }
}

/// References to tensors, and structs.
#[derive(Debug, Module)]
pub struct CopiedReferences {
    fc: nn::Linear,
}

#[derive(Clone, Debug)]
struct Weighted {
    number: i64,
    by: f64,
}

#[traceable]
impl CopiedReferences {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let weighted = vec![Weighted { number: 1, by: 0.5 }, Weighted { number: 2, by: 0.25 }];
        let (a, b) = (xs.apply(&self.fc), xs.relu());
        let refs = [&a, &b, xs];
        let mut ys = xs.zeros_like();
        for one in refs.iter().copied() {
            ys = ys + one;
        }
        let all: Vec<&Tensor> = refs.iter().copied().collect();
        let twice: Vec<Tensor> = refs.iter().copied().map(|one| one * 2.0).collect();
        for part in weighted.iter().cloned() {
            ys = ys * part.by + part.number;
        }
        ys + all[1] + &twice[0]
    }
}

/// An iterator that maps, in a variable, asked once and folded.
#[derive(Debug, Module)]
pub struct MappedLater {
    fc: nn::Linear,
    sizes: Vec<i64>,
}

#[traceable]
impl MappedLater {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut rolled = self.sizes.iter().map(|k| ys.roll([*k], [1]) * *k);
        let first = rolled.next().unwrap();
        let all = rolled.fold(first, |sum, one| sum + one);
        let mut counted = self.sizes.iter().cloned().map(|k| {
            let k = k * 2;
            all.roll([k], [0])
        });
        let first = counted.next().unwrap();
        counted.fold(first, |sum, one| sum - one * 0.5).relu()
    }
}

/// What such an iterator's closure sees are the variables of the place where it is written.
#[derive(Debug, Module)]
pub struct MappedBehindNames {
    fc: nn::Linear,
}

#[traceable]
impl MappedBehindNames {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (ys, by) = (xs.apply(&self.fc), 2.0);
        let sizes = xs.size();
        let numbers = vec![1i64, 2, 3];
        let mut scaled = numbers.iter().map(|k| ys.roll([*k], [1]) * by);
        let (ys, by) = (xs.relu(), 3.0);
        let first = scaled.next().unwrap() * by;
        let mut sum = first + ys;
        for one in scaled {
            sum = sum + one * by;
        }
        let mut doubled = sizes.iter().copied().map(|n| n * 2);
        let rows = doubled.next().unwrap();
        let width = doubled.next().unwrap_or(7);
        sum * rows + (width - doubled.next().unwrap_or(5))
    }
}

/// References in a variable's iterator.
#[derive(Debug, Module)]
pub struct TakenReferences {
    fc: nn::Linear,
}

#[traceable]
impl TakenReferences {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = (xs.apply(&self.fc), xs.relu());
        let refs = vec![&a, &b, xs];
        let mut left = refs.iter().copied();
        let first = left.next().unwrap();
        let rest: Vec<&Tensor> = left.collect();
        first + rest[0] * rest[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(CopiedReferences: "cannot take the field `number`");

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn copies_within_chains() {
        let make = |p: &nn::Path| CopiedNumbers { fc: linear(p), sizes: vec![1, 3, 2] };
        agree!(|p: &nn::Path| make(p), cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| CopiedReferences { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn iterators_with_closures_in_variables() {
        let make = |p: &nn::Path| MappedLater { fc: linear(p), sizes: vec![1, 3, 2] };
        agree!(|p: &nn::Path| make(p), cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| MappedBehindNames { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| TakenReferences { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
