//! What the live model chooses, read by opaque code: options of numbers, and values of types that no field can have.

use fx_runtime::{Module, Tensor, nn, traceable};

fn is_asked() -> bool {
    std::env::var("FX_BODIES_ASK").is_ok()
}

/// An option of a number without a type, which opaque code looks at.
#[derive(Debug, Module)]
pub struct NumberOrNone {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl NumberOrNone {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let by = self.flag.then(|| 2);
        let ys = match std::env::var("FX_BODIES_ASK") {
            Ok(_) => xs.neg(),
            Err(_) if by.is_some() => xs.cos(),
            Err(_) => xs.sin(),
        };
        ys.apply(&self.fc) * by.unwrap_or(3)
    }
}

/// Where a tensor comes from.
pub enum Source<'a> {
    One(&'a Tensor),
    Nothing,
}

impl<'a> Source<'a> {
    fn of(one: Option<&'a Tensor>) -> Source<'a> {
        match one {
            Some(one) => Source::One(one),
            None => Source::Nothing,
        }
    }

    fn or(&self, other: &'a Tensor) -> &'a Tensor {
        match self {
            Source::One(one) => one,
            Source::Nothing => other,
        }
    }
}

/// A value of an enum that borrows from the model, beside one that opaque code chooses.
#[derive(Debug, Module)]
pub struct FromModel {
    fc: nn::Linear,
    kept: Option<Tensor>,
}

#[traceable]
impl FromModel {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let source = if is_asked() { Source::Nothing } else { Source::of(self.kept.as_ref()) };
        source.or(xs).neg() * xs.apply(&self.fc).relu()
    }
}

/// A tuple of what the model says and what opaque code says.
#[derive(Debug, Module)]
pub struct Pairs {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl Pairs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        match (self.flag.then(|| 2), xs.size().iter().rev().nth(1) == Some(&2)) {
            (Some(by), true) => ys = ys * by,
            (Some(_), false) => match std::env::var("FX_BODIES_ASK") {
                Ok(_) => {}
                Err(_) => ys = ys.tanh(),
            },
            (None, _) => {}
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(NumberOrNone: 2 of 10);
    understood!(FromModel: 4 of 6);
    understood!(Pairs: 1 of 14);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [1, 2, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn options_of_numbers() {
        for flag in [false, true] {
            agree!(|p: &nn::Path| NumberOrNone { fc: linear(p), flag }, cases(), |net, xs| net.forward(xs));
            agree!(|p: &nn::Path| Pairs { fc: linear(p), flag }, cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn of_types_without_a_field() {
        for is_kept in [false, true] {
            let make = |p: &nn::Path| {
                let kept = is_kept.then(|| p.randn_standard("kept", &[1, 4]));
                FromModel { fc: linear(p), kept }
            };
            agree!(make, cases(), |net, xs| net.forward(xs));
        }
    }
}
