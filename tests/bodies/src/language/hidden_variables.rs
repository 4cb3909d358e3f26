//! Variables whose names others take: parameters, hidden by variables of opaque code, and what closures write to.

use fx_runtime::{Module, Tensor, nn, traceable};

/// What opaque code has a variable of its own for, by the name of the parameter, in one arm of a branch.
#[derive(Debug, Module)]
pub struct HiddenParameter {
    fc: nn::Linear,
}

/// A tensor and an option of one.
#[derive(Debug)]
pub struct Held {
    one: Tensor,
    other: Option<Tensor>,
}

#[traceable]
impl HiddenParameter {
    pub fn forward(&self, xs: &Tensor, mut p: Option<Tensor>) -> Tensor {
        if xs.size()[0] > 1 {
            let _ = std::mem::replace(&mut p, Some(xs.shallow_clone()));
            let Held { one: _one, .. } = Held {
                one: p.get_or_insert_with(|| xs.sin()).shallow_clone(),
                other: p.as_ref().map(|one| std::hint::black_box(one) * 2),
            };
        }
        xs.apply(&self.fc) + p.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone())
    }
}

/// A `let` of the same block takes the name of what the closure writes to.
#[derive(Debug, Module)]
pub struct SameBlock {
    fc: nn::Linear,
}

#[traceable]
impl SameBlock {
    pub fn forward(&self, xs: &Tensor, start: i64) -> Tensor {
        let mut count = 1;
        let mut add = |by: i64| {
            count += by % 5;
            by * 2
        };
        let count = start;
        let mut sum = add(3);
        if count > 2 {
            sum += add(2);
        }
        xs.apply(&self.fc) * sum + count
    }
}

/// So does one of an inner block, and the closure is called from there.
#[derive(Debug, Module)]
pub struct InnerBlock {
    fc: nn::Linear,
}

#[traceable]
impl InnerBlock {
    pub fn forward(&self, xs: &Tensor, start: i64) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let mut count = 1;
        let mut add = |by: i64| {
            count += by % 5;
            ys = &ys * by;
        };
        if start > 1 {
            let count = start * 3;
            add(count);
            let ys = xs.sin();
            add(ys.size()[0]);
        }
        ys + count
    }
}

/// The same of a part of a struct.
#[derive(Debug, Module)]
pub struct Parts {
    fc: nn::Linear,
}

/// A tensor and a number.
pub struct State {
    xs: Tensor,
    count: i64,
}

#[traceable]
impl Parts {
    pub fn forward(&self, xs: &Tensor, start: i64) -> Tensor {
        let mut state = State { xs: xs.apply(&self.fc), count: 2 };
        let mut turn = 0;
        while turn < 2 {
            turn += 1;
            let mut step = |by: i64| {
                state.xs += by % 5;
                state.count += 1;
                by * 2
            };
            let state = start;
            if state > 1 {
                step(state);
            }
        }
        state.xs * state.count
    }
}

/// A closure of opaque code has a variable of the name of one that borrows what is written to meanwhile.
#[derive(Debug, Module)]
pub struct BorrowOfTheName {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl BorrowOfTheName {
    pub fn forward(&self, xs: &Tensor, is_other: bool) -> Tensor {
        let mut e = xs.sin();
        let a = if is_other { &e } else { xs };
        let sum = a.tanh();
        *std::hint::black_box(&mut e) = e.apply(&self.layers[0]).relu();
        sum + std::iter::repeat_n(xs, 2).fold(xs.copy(), |a, b| a.tanh() - b) + e
    }
}

/// A number of a list that is zipped, in opaque code.
#[derive(Debug, Module)]
pub struct ZippedNumbers {
    fc: nn::Linear,
}

#[traceable]
impl ZippedNumbers {
    pub fn forward(&self, xs: &Tensor, parts: &[Tensor]) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for (part, by) in parts.iter().zip([1i64, 2, 3]) {
            let by = match std::hint::black_box(parts.len()) as i64 {
                0 => by,
                n if n > 2 => n % 6,
                _ => by + 1,
            };
            ys = ys * by + part;
        }
        ys
    }
}

/// Variables called as opaque code calls parts of the model.
#[derive(Debug, Module)]
pub struct CalledAsParts {
    fc: nn::Linear,
    by: i64,
}

#[traceable]
impl CalledAsParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (self_by, this) = (7i64, 3i64);
        let sum: i64 = "a-bcd".split('-').map(|part| part.len() as i64 * self.by + self_by).rev().sum();
        let scale = std::hint::black_box(self).by * this + this;
        xs.apply(&self.fc) * sum + scale
    }
}

/// A variable that opaque code writes to, by the name that the code's own value might have.
#[derive(Debug, Module)]
pub struct WrittenValue {
    fc: nn::Linear,
}

#[traceable]
impl WrittenValue {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut value = 3i64;
        let n: i64 = "a-bc"
            .split('-')
            .map(|s| {
                value += 1;
                s.len() as i64 * value
            })
            .rev()
            .max()
            .unwrap();
        for s in "a-bb".split('-') {
            value += s.len() as i64;
        }
        ys * n + value * 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(HiddenParameter: 3 of 10);
    understood!(Parts: 0 of 2);
    understood!(WrittenValue: 3 of 13);
    understood!(SameBlock: 0 of 3);
    understood!(InnerBlock: 0 of 5);
    understood!(ZippedNumbers: 3 of 6);
    understood!(BorrowOfTheName: 4 of 12);
    understood!(CalledAsParts: 2 of 10);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [1, 2, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn written_values() {
        agree!(|p: &nn::Path| WrittenValue { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn parameters() {
        for is_there in [false, true] {
            agree!(|p: &nn::Path| HiddenParameter { fc: linear(p) }, cases(), |net, xs| {
                net.forward(xs, is_there.then(|| xs.cos()))
            });
        }
    }

    #[test]
    fn what_closures_write_to() {
        for start in [1, 2, 4] {
            agree!(|p: &nn::Path| SameBlock { fc: linear(p) }, cases(), |net, xs| net.forward(xs, start));
            agree!(|p: &nn::Path| InnerBlock { fc: linear(p) }, cases(), |net, xs| net.forward(xs, start));
            agree!(|p: &nn::Path| ZippedNumbers { fc: linear(p) }, cases(), |net, xs| {
                net.forward(xs, &(0..start).map(|_| xs.cos()).collect::<Vec<_>>())
            });
            let layers = |p: &nn::Path| vec![linear(&(p / 0)), linear(&(p / 1))];
            agree!(|p: &nn::Path| BorrowOfTheName { layers: layers(p) }, cases(), |net, xs| {
                net.forward(xs, start > 1)
            });
            agree!(|p: &nn::Path| CalledAsParts { fc: linear(p), by: start }, cases(), |net, xs| net.forward(xs));
            agree!(|p: &nn::Path| Parts { fc: linear(p) }, cases(), |net, xs| net.forward(xs, start));
        }
    }
}
