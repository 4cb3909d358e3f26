//! Patterns that have the name of what the code around them goes over or asks for, and modules that generated code has.

use fx_runtime::{Module, Tensor, nn, traceable};

/// The elements of a zip have the names of the lists, and its number that of how many are left out.
#[derive(Debug, Module)]
pub struct ZippedByName {
    fc: nn::Linear,
    h: Vec<nn::Linear>,
}

#[traceable(strict)]
impl ZippedByName {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let h = vec![ys.relu(), ys.sin()];
        let t = vec![ys.cos(), ys.tanh(), ys.neg()];
        let i = 1;
        let mut zs = ys.shallow_clone();
        for (h, x) in t.iter().zip(&h) {
            zs = zs * h + x * 2;
        }
        for (i, (t, h)) in h.iter().zip(t.iter().skip(i)).enumerate() {
            zs = zs * t + h * (i as i64 + 2);
        }
        for (h, t) in self.h.iter().zip(t.iter().rev()) {
            zs = zs.apply(h) * t;
        }
        zs
    }
}

/// What is there of two options has the names of the options.
#[derive(Debug, Module)]
pub struct OptionsByName {
    fc: nn::Linear,
}

#[traceable(strict)]
impl OptionsByName {
    pub fn forward(&self, xs: &Tensor, a: Option<&Tensor>, b: Option<&Tensor>, k: Option<i64>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let both = a.zip(b).map(|(b, a)| b - a * 2);
        let there = a.zip(k).is_some_and(|(k, a)| a + k.dim() as i64 > 4);
        let one = if let Some((b, a)) = a.zip(b) { b * 3 + a } else { ys.sin() };
        both.unwrap_or_else(|| ys.neg()) + one * there as i64 + ys
    }
}

/// A flag that says whether a loop was left, by the name that the loop's own might have.
#[derive(Debug, Module)]
pub struct StoppedByName {
    fc: nn::Linear,
}

#[traceable(strict)]
impl StoppedByName {
    pub fn forward(&self, xs: &Tensor, k: i64) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let (mut stopped, mut rows_breaks) = (-1, 0i64);
        for i in 0..6 {
            if i == k {
                stopped = i;
                break;
            }
            ys = ys + i;
        }
        'rows: for i in 0..4 {
            for j in 0..3 {
                rows_breaks += 1;
                if i * j == k {
                    break 'rows;
                }
                ys = ys * 2 + j;
            }
        }
        ys + stopped * 10 + rows_breaks
    }
}

/// A loop whose own variable has the name of one that counts.
#[derive(Debug, Module)]
pub struct CountedByName {
    fc: nn::Linear,
}

#[traceable(strict)]
impl CountedByName {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let by = [1i64, 2, 3, 4, 5, 6, 7];
        let i = 6;
        for mut i in 2..5 {
            i += 1;
            ys = ys * 2 + by[i];
        }
        ys + by[i]
    }
}

/// A module by the name that generated code has for one of its own.
pub mod effects {
    use fx_runtime::{Module, Tensor, nn, traceable};

    mod fx {
        pub const GAIN: i64 = 3;

        pub fn owned(n: i64) -> i64 {
            n * 7
        }
    }

    #[derive(Debug, Module)]
    pub struct Audio {
        pub fc: nn::Linear,
    }

    #[traceable(strict)]
    impl Audio {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            xs.apply(&self.fc).relu() * fx::owned(xs.size()[0]) + fx::GAIN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(ZippedByName: "the method");

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [1, 2, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn names() {
        let layers = |p: &nn::Path| vec![linear(&(p / 0)), linear(&(p / 1))];
        agree!(|p: &nn::Path| ZippedByName { fc: linear(p), h: layers(p) }, cases(), |net, xs| net.forward(xs));
        for (a, b) in [(false, false), (true, false), (false, true), (true, true)] {
            agree!(|p: &nn::Path| OptionsByName { fc: linear(p) }, cases(), |net, xs| {
                let (one, other) = (xs.cos(), xs.sin());
                net.forward(xs, a.then_some(&one), b.then_some(&other), b.then_some(3))
            });
        }
        for k in [0, 1, 2, 4, 9] {
            agree!(|p: &nn::Path| StoppedByName { fc: linear(p) }, cases(), |net, xs| net.forward(xs, k));
        }
        agree!(|p: &nn::Path| CountedByName { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| effects::Audio { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
