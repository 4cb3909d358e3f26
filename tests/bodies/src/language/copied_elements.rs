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

/// Arrays are copied where a `Vec` would move, also those of which code writes to an element.
#[derive(Debug, Module)]
pub struct CopiedArrays {
    fc: nn::Linear,
}

#[traceable]
impl CopiedArrays {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut counts = [1i64; 3];
        counts[1] = 4;
        let copy = counts;
        counts[0] = xs.size()[0];
        let (mut best, mut tried, mut all) = ([0i64; 2], [1, 2], Vec::new());
        for step in 0..4 {
            tried[0] += step;
            if tried[0] % 2 == 0 {
                best = tried;
            }
            all.push(tried);
            tried[1] -= 1;
        }
        let sum: i64 = all.iter().map(|one| one[0] * one[1]).sum();
        xs.apply(&self.fc) * (copy[0] + counts[0] * 10) + best[0] * 100 + best[1] + tried[1] + sum
    }
}

/// A copy of a struct that is `Copy`.
#[derive(Clone, Copy)]
struct Pair {
    a: i64,
    b: [i64; 2],
}

#[derive(Debug, Module)]
pub struct CopiedStructs {
    fc: nn::Linear,
}

#[traceable]
impl CopiedStructs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut pair = Pair { a: xs.size()[0], b: [2, 3] };
        let copy = pair;
        pair.b[0] = 50;
        pair.a += 1;
        let pairs = [pair, copy];
        let mut others = pairs;
        others[0].a = 100;
        ys * (copy.a + copy.b[0] * 10) + pair.a * 7 + pair.b[0] + pairs[0].a * 3 + others[0].a
    }
}

/// The first number of a list says the type of the others.
#[derive(Debug, Module)]
pub struct TypedByTheFirst {
    fc: nn::Linear,
}

#[traceable]
impl TypedByTheFirst {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let rows = xs.size()[0] as i32;
        let single: f64 = [0.1f32, 0.2, 0.3].iter().map(|v| f64::from(*v)).sum();
        let bytes: i64 = [200u8, 250, 7].iter().map(|v| v.wrapping_add(100) as i64).sum();
        let pairs: f64 =
            [(0.1f32, 2u8), (0.2, 255)].iter().map(|(v, k)| f64::from(*v) * f64::from(k.wrapping_add(3))).sum();
        let mixed: i64 = [rows, 2, 1 << 20].iter().map(|v| v.wrapping_mul(5000) as i64).sum();
        (xs.apply(&self.fc) + (single - 0.6) * 1e8 + pairs) * bytes + mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    understood!(CopiedArrays: 6 of 9);
    understood!(CopiedStructs: 0 of 2);

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
    fn copies() {
        agree!(|p: &nn::Path| CopiedArrays { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| CopiedStructs { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| TypedByTheFirst { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn iterators_with_closures_in_variables() {
        let make = |p: &nn::Path| MappedLater { fc: linear(p), sizes: vec![1, 3, 2] };
        agree!(|p: &nn::Path| make(p), cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| MappedBehindNames { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| TakenReferences { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
