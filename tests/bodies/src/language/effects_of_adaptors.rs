//! What the closures of a chain do beside yielding a value, and when what a chain goes over is made.

use fx_runtime::{Module, Tensor, nn, traceable};

/// The closure of `map` is called for the elements that `skip` leaves out.
#[derive(Debug, Module)]
pub struct Skipped {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Skipped {
    pub fn forward(&self, xs: &Tensor, k: i64) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut n = 0;
        let kept: Vec<i64> = [1, k, 3, 4]
            .iter()
            .map(|a| {
                n += a;
                a * 2
            })
            .skip(1)
            .collect();
        let mut zs = ys * kept.iter().sum::<i64>();
        for a in [k, 2, 3]
            .iter()
            .map(|a| {
                n += a;
                a + 1
            })
            .skip(2)
        {
            zs = zs * a + k;
        }
        zs + n
    }
}

/// How often a chain is asked for an element where the one that it is zipped with is shorter, is the standard library's matter.
#[derive(Debug, Module)]
pub struct ZippedLonger {
    fc: nn::Linear,
}

#[traceable]
impl ZippedLonger {
    pub fn forward(&self, xs: &Tensor, k: i64) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let (mut n, mut from) = (0, 1);
        let (long, short) = ([1, k, 3, 4, 5], [k, 7]);
        for (a, b) in long
            .iter()
            .map(|a| {
                n += a;
                a * 2
            })
            .zip(short.iter())
        {
            ys = ys * a + *b;
        }
        for (a, b) in short.iter().zip(long.iter().skip(from)) {
            ys = ys * *a + *b;
            from += 1;
        }
        ys + n + from as i64
    }
}

/// Both ranges are made in front of the loop.
#[derive(Debug, Module)]
pub struct Chained {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Chained {
    pub fn forward(&self, xs: &Tensor, k: i64) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let mut n = k;
        for i in (0..n).chain(n..4) {
            n += 1;
            ys = ys * 2 + i * n;
        }
        ys + n
    }
}

/// The closures behind the element that decides are not called.
#[derive(Debug, Module)]
pub struct Decided {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Decided {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let all = [ys.relu(), ys.sin(), ys.view([-1])];
        let any = all.iter().map(|one| one.size()[1]).any(|width| width == 4);
        let none = all.iter().map(|one| one.size()[1]).filter(|width| *width > 1).all(|width| width != 4);
        let at = all.iter().map(|one| one.size()[1]).position(|width| width == 4);
        ys * any as i64 + none as i64 + at.unwrap_or(7) as i64
    }
}

mod own {
    pub fn once(end: i64) -> Vec<i64> {
        (0..end).collect()
    }
}

/// A function of the crate that has the name of one of the standard library.
#[derive(Debug, Module)]
pub struct OwnOnce {
    fc: nn::Linear,
}

#[traceable]
impl OwnOnce {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for i in own::once(3) {
            ys = ys * 2 + i;
        }
        let numbers: Vec<i64> = std::iter::once(2).chain(5..7).collect();
        let more: Vec<i64> = own::once(2).into_iter().chain(5..7).collect();
        ys * numbers.iter().sum::<i64>() + more.iter().sum::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(OwnOnce: 5 of 12);
    understood!(ZippedLonger: 0 of 9);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [1, 2, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn effects() {
        for k in [0, 1, 2, 3] {
            agree!(|p: &nn::Path| Skipped { fc: linear(p) }, cases(), |net, xs| net.forward(xs, k));
            agree!(|p: &nn::Path| ZippedLonger { fc: linear(p) }, cases(), |net, xs| net.forward(xs, k));
            agree!(|p: &nn::Path| Chained { fc: linear(p) }, cases(), |net, xs| net.forward(xs, k));
        }
        agree!(|p: &nn::Path| Decided { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| OwnOnce { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
