//! Assignments that take a value apart: to variables, fields and elements, with `_` and `..`.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn both(layer: &nn::Linear, xs: &Tensor) -> (Tensor, Tensor) {
    let ys = xs.apply(layer);
    (ys.relu(), ys.tanh())
}

/// What is not read of a pair is left out, in a loop and behind it.
#[derive(Debug, Module)]
pub struct HalfKept {
    layer: nn::Linear,
    rounds: i64,
}

#[traceable(strict)]
impl HalfKept {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let mut hidden = xs.neg();
        for _ in 0..self.rounds {
            (xs, _) = both(&self.layer, &xs);
        }
        (_, hidden) = both(&self.layer, &hidden);
        (xs, ..) = (xs + hidden, 1i64);
        xs
    }
}

struct Pair {
    a: Tensor,
    b: Tensor,
    steps: i64,
}

/// Fields and elements as targets.
#[derive(Debug, Module)]
pub struct IntoParts {
    layer: nn::Linear,
}

#[traceable(strict)]
impl IntoParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut pair = Pair { a: xs.relu(), b: xs.shallow_clone(), steps: 1 };
        (pair.a, pair.b) = both(&self.layer, xs);
        (pair.a, pair.b) = (pair.b, pair.a);
        let mut all = vec![xs.neg(), xs.abs()];
        (all[0], (_, pair.steps)) = (pair.a.shallow_clone(), (&pair.b, pair.steps + 2));
        let mut place = (xs.shallow_clone(), 2.0);
        (place.0, _) = both(&self.layer, &all[0]);
        &pair.a + &pair.b * pair.steps + &all[0] - &all[1] + place.0 * place.1
    }
}

/// Variables declared before, arrays, structs and tuples within tuples.
#[derive(Debug, Module)]
pub struct Declared {
    layer: nn::Linear,
}

#[traceable(strict)]
impl Declared {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (first, second, third);
        [first, second] = [xs.relu(), xs.tanh()];
        (_, (third, _)) = (xs, both(&self.layer, xs));
        let mut kept;
        Pair { a: kept, b: _, .. } = Pair { a: xs.sin(), b: xs.cos(), steps: 0 };
        if xs.size()[0] > 2 {
            (kept, _) = both(&self.layer, &kept);
        }
        (first + second) * third.softmax(-1, Kind::Float) + kept
    }
}

/// Code that is not understood writes to the same variables.
#[derive(Debug, Module)]
pub struct WrittenByOpaque {
    layer: nn::Linear,
}

fn named(name: &str, xs: Tensor) -> (Tensor, usize) {
    (xs, std::env::var(name).map_or(0, |text| text.len()))
}

#[traceable]
impl WrittenByOpaque {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.layer);
        let mut zs = ys.relu();
        let mut count = 7;
        for _ in 0..2 {
            match std::env::var("FX_NO_SUCH_VARIABLE").as_deref() {
                Ok("off") => {}
                _ => [ys, zs] = [zs.shallow_clone() * 2.0, ys.shallow_clone()],
            }
            (ys, count) = named("FX_NO_SUCH_VARIABLE", ys);
        }
        ys - zs + count as i64
    }
}

struct Scales(i64, f64, f64);

fn thrice(xs: &Tensor) -> (Tensor, Tensor, i64) {
    (xs.relu(), xs.tanh(), 3)
}

/// What stands behind `..` in arrays, tuples and tuple structs.
#[derive(Debug, Module)]
pub struct BehindRest {
    layers: [nn::Linear; 3],
    weights: [f64; 4],
    shifts: [Tensor; 3],
}

#[traceable(strict)]
impl BehindRest {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let [first, .., last] = &self.layers;
        let [a, .., b, c] = self.weights;
        let [.., shift] = &self.shifts;
        let ys = xs.apply(first).apply(last) * a + shift;
        let (p, ..) = thrice(&ys);
        let (.., k) = thrice(&ys);
        let (_, .., q, _) = thrice(&ys);
        let Scales(.., s) = Scales(1, a, c);
        let [d, .., e] = [ys.relu(), ys.tanh(), ys.sin()];
        let [f, .., g] = [a, b];
        p * k + q * s + d - e * f + g
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(WrittenByOpaque: 4 of 13);

    fn layer(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "l", 4, 4, Default::default())
    }

    #[test]
    fn half_kept() {
        for rounds in [0, 3] {
            agree!(|p: &nn::Path| HalfKept { layer: layer(p), rounds }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn into_parts() {
        agree!(|p: &nn::Path| IntoParts { layer: layer(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn declared() {
        let cases = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p: &nn::Path| Declared { layer: layer(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn written_by_opaque_code() {
        agree!(|p: &nn::Path| WrittenByOpaque { layer: layer(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn behind_rest() {
        let make = |p: &nn::Path| BehindRest {
            layers: [0, 1, 2].map(|at| layer(&(p / at))),
            weights: [0.5, 2.0, -1.5, 3.0],
            shifts: [0, 1, 2].map(|at| p.randn(&format!("shift{at}"), &[4], 0.0, 1.0)),
        };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
