//! Types with several `From` and several impls of an operator, and the crate's own `From` for tensors and numbers.

use std::ops::Mul;

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Clone, Copy)]
struct Angle(f64);

impl From<f64> for Angle {
    fn from(radians: f64) -> Angle {
        Angle(radians)
    }
}

impl From<f32> for Angle {
    fn from(turns: f32) -> Angle {
        Angle(f64::from(turns) * 6.0)
    }
}

impl From<i64> for Angle {
    fn from(degrees: i64) -> Angle {
        Angle(degrees as f64 / 60.0)
    }
}

impl From<(i64, f64)> for Angle {
    fn from((whole, rest): (i64, f64)) -> Angle {
        Angle(whole as f64 - rest)
    }
}

impl From<&Tensor> for Angle {
    fn from(of: &Tensor) -> Angle {
        Angle(of.dim() as f64)
    }
}

impl From<Tensor> for Angle {
    fn from(of: Tensor) -> Angle {
        Angle(of.dim() as f64 * 5.0)
    }
}

impl Mul<f64> for Angle {
    type Output = Angle;

    fn mul(self, by: f64) -> Angle {
        Angle(self.0 * by)
    }
}

impl Mul<&Angle> for Angle {
    type Output = Angle;

    fn mul(self, by: &Angle) -> Angle {
        Angle(self.0 + by.0)
    }
}

impl From<Angle> for f64 {
    fn from(angle: Angle) -> f64 {
        angle.0 * 9.0
    }
}

impl Mul<Angle> for f64 {
    type Output = f64;

    fn mul(self, by: Angle) -> f64 {
        self - by.0
    }
}

struct Shifted(Tensor);

impl From<Shifted> for Tensor {
    fn from(shifted: Shifted) -> Tensor {
        shifted.0 + 3.0
    }
}

struct Nothing;

impl From<Nothing> for Tensor {
    fn from(_: Nothing) -> Tensor {
        Tensor::from(0.25)
    }
}

/// The impl by the type of what is converted.
#[derive(Debug, Module)]
pub struct FromByArgument {
    layer: nn::Linear,
}

#[traceable]
impl FromByArgument {
    pub fn new(p: &Path) -> FromByArgument {
        FromByArgument { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer);
        let rows = xs.size()[0];
        let known = Angle::from(0.5).0 + Angle::from(rows).0 + Angle::from(rows as f32).0 + Angle::from(&ys).0;
        let several = [rows, 2].map(Angle::from);
        let pair = Angle::from((rows, 0.5));
        ys * known + several[1].0 + pair.0
    }
}

/// `into()`, of which one is by value and another by reference.
#[derive(Debug, Module)]
pub struct IntoByArgument {
    layer: nn::Linear,
}

#[traceable]
impl IntoByArgument {
    pub fn new(p: &Path) -> IntoByArgument {
        IntoByArgument { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer);
        let lent: Angle = (&ys).into();
        let number: Angle = 2.5.into();
        let owned: Angle = ys.relu().into();
        ys * lent.0 + number.0 + owned.0
    }
}

/// The crate's `From` for types of others, beside theirs.
#[derive(Debug, Module)]
pub struct FromOfOthers {
    layer: nn::Linear,
}

#[traceable]
impl FromOfOthers {
    pub fn new(p: &Path) -> FromOfOthers {
        FromOfOthers { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer) + Tensor::from(5.0f32);
        let ys = ys + Tensor::from(Shifted(xs.sin())) * Tensor::from(Nothing);
        ys * f64::from(2.0f32) + f64::from(Angle(0.5)) + f64::from(xs.dim() as u8)
    }
}

/// Impls of one operator for several right-hand sides, as operators and as methods.
#[derive(Debug, Module)]
pub struct OperatorsByArgument {
    layer: nn::Linear,
}

#[traceable]
impl OperatorsByArgument {
    pub fn new(p: &Path) -> OperatorsByArgument {
        OperatorsByArgument { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer);
        let (angle, k) = (Angle::from(0.5), xs.size()[0] as f64);
        let by_operator = (angle * 2.0).0 + (angle * &angle).0 + k * angle;
        let by_method = angle.mul(3.0).0 + angle.mul(&angle).0 + k.mul(angle) + k.mul(2.0);
        ys * by_operator + by_method
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(FromByArgument: "cannot take the field `0`");

    understood!(IntoByArgument: 5 of 6);
    understood!(FromOfOthers: 7 of 10);
    understood!(OperatorsByArgument: 2 of 7);

    #[test]
    fn from_by_argument() {
        agree!(FromByArgument::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn into_by_argument() {
        agree!(IntoByArgument::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn from_of_others() {
        agree!(FromOfOthers::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn operators_by_argument() {
        agree!(OperatorsByArgument::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
