//! Conversions of numbers that may fail, and arrays that functions make.

use fx_runtime::nn::Path;
use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Whole numbers of other types.
#[derive(Debug, Module)]
pub struct WidthsConverted {
    layer: nn::Linear,
    width: usize,
    far: i64,
}

#[traceable]
impl WidthsConverted {
    pub fn new(p: &Path) -> WidthsConverted {
        WidthsConverted { layer: nn::linear(p / "l", 4, 4, Default::default()), width: 2, far: 300 }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let width: i64 = self.width.try_into().unwrap();
        let rest = i64::try_from(self.width).unwrap_or(1);
        let rows = usize::try_from(xs.size()[0]).expect("no axis is negative");
        let narrow: i32 = i32::try_from(width).unwrap();
        let too_far = i8::try_from(self.far).unwrap_or(-3);
        let y = xs.apply(&self.layer).view([-1, width, rest]) * rows as f64 * f64::from(narrow);
        y + too_far as f64
    }
}

/// One that does not fit leaves with an error.
#[derive(Debug, Module)]
pub struct WidthChecked {
    layer: nn::Linear,
    width: i64,
}

#[traceable]
impl WidthChecked {
    pub fn new(p: &Path) -> WidthChecked {
        WidthChecked { layer: nn::linear(p / "l", 4, 4, Default::default()), width: -2 }
    }

    pub fn forward(&self, xs: &Tensor) -> anyhow::Result<Tensor> {
        let xs = xs.apply(&self.layer);
        if xs.size()[0] > 2 {
            let width = u8::try_from(self.width)?;
            return Ok(xs * f64::from(width));
        }
        Ok(xs)
    }
}

/// Arrays whose elements a closure makes.
#[derive(Debug, Module)]
pub struct HeadsFromFn {
    qkv: nn::Linear,
}

#[traceable]
impl HeadsFromFn {
    pub fn new(p: &Path) -> HeadsFromFn {
        HeadsFromFn { qkv: nn::linear(p / "qkv", 4, 12, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let qkv = xs.apply(&self.qkv);
        let [q, k, v]: [Tensor; 3] = std::array::from_fn(|i| qkv.narrow(-1, i as i64 * 4, 4));
        let halves = std::array::from_fn::<_, 2, _>(|i| v.narrow(-1, 2 * i as i64, 2));
        let [first, second] = std::array::from_fn(|i| &halves[i] * (i + 1) as f64);
        (q * k).softmax(-1, Kind::Float) * Tensor::cat(&[second, first], -1)
    }
}

/// Operations that write and whose result nobody reads.
#[derive(Debug, Module)]
pub struct ResultDiscarded {
    layer: nn::Linear,
}

#[traceable]
impl ResultDiscarded {
    pub fn new(p: &Path) -> ResultDiscarded {
        ResultDiscarded { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut y = xs.apply(&self.layer);
        let _ = y.f_masked_fill_(&y.lt(0.0), 0.5).unwrap();
        let _ = y.relu_();
        let _ = y.f_clamp_(0.1, 0.9).unwrap();
        y
    }
}

/// A list that has to be of one length, or the forward fails.
#[derive(Debug, Module)]
pub struct Halved {
    layer: nn::Linear,
    parts: i64,
}

#[traceable(strict)]
impl Halved {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let ys = xs.apply(&self.layer);
        let [a, b]: [Tensor; 2] =
            ys.chunk(self.parts, -1).try_into().map_err(|_| format!("{} parts of {}", self.parts, ys.dim()))?;
        Ok(a.tanh() * b)
    }
}

/// A tensor that is made an option where a method takes one.
#[derive(Debug, Module)]
pub struct MadeOptional {
    layer: nn::Linear,
}

impl MadeOptional {
    fn added(&self, xs: &Tensor, other: Option<&Tensor>, whole: Option<Tensor>) -> Tensor {
        let ys = match other {
            Some(other) => xs + other,
            None => xs.neg(),
        };
        match whole {
            Some(whole) => ys * whole,
            None => ys.tanh(),
        }
    }
}

#[traceable(strict)]
impl MadeOptional {
    pub fn forward(&self, xs: &Tensor, given: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.layer);
        let used = given.unwrap_or(&ys);
        self.added(xs, used.into(), None) + self.added(&ys, None, ys.relu().into())
    }
}

/// Tensors of numbers without a suffix, of the types that Rust gives them.
#[derive(Debug, Module)]
pub struct OfLiterals {
    layer: nn::Linear,
}

#[traceable(strict)]
impl OfLiterals {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let ys = xs.apply(&self.layer) * Tensor::from(0.5) + Tensor::from(-2) - Tensor::from(2 * 3);
        (ys.index(&[None, Some(Tensor::from(0))]), Tensor::from(-1) + Tensor::from(2))
    }
}

/// What an encoder yields.
pub struct Encoded {
    ys: Tensor,
    mask: Tensor,
}

impl From<(Tensor, Tensor)> for Encoded {
    fn from((ys, mask): (Tensor, Tensor)) -> Self {
        Self { ys, mask }
    }
}

impl From<Tensor> for Encoded {
    fn from(ys: Tensor) -> Self {
        Self { mask: ys.ones_like(), ys }
    }
}

/// `into()` by a `From` of the crate, of which there are two.
#[derive(Debug, Module)]
pub struct OwnFrom {
    fc: nn::Linear,
}

impl OwnFrom {
    fn encode(&self, xs: &Tensor) -> Encoded {
        (xs.apply(&self.fc), xs.sign()).into()
    }
}

#[traceable(strict)]
impl OwnFrom {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Encoded { ys, mask } = self.encode(xs);
        let plain: Encoded = xs.tanh().into();
        ys * mask + plain.ys * plain.mask
    }
}

/// A part that takes a context or none, and a scale or none.
#[derive(Debug, Module)]
pub struct Attended {
    layer: nn::Linear,
}

impl Attended {
    fn run<'a, C>(&self, xs: &Tensor, context: C, scale: impl Into<Option<f64>>) -> Tensor
    where
        C: Into<Option<&'a Tensor>>,
    {
        let context = context.into();
        let ys = if let Some(context) = context { xs.apply(&self.layer) + context } else { xs.relu() };
        let scale: Option<f64> = scale.into();
        ys * scale.unwrap_or(0.5)
    }

    fn scaled<'a>(&self, xs: &Tensor, context: impl Into<Option<&'a Tensor>>) -> Tensor {
        self.run(xs, context, 3.)
    }
}

/// Values, options and nothing, handed over where an option is made of them.
#[derive(Debug, Module)]
pub struct IntoOptions {
    part: Attended,
}

#[traceable]
impl IntoOptions {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let ys = self.part.run(xs, None, 2.0);
        let ys = self.part.run(&ys, mask, None);
        let kept = Some(xs.sin());
        let ys = self.part.run(&ys, kept.as_ref(), xs.size()[0] as f64);
        self.part.scaled(&ys, &xs.cos()) + self.part.scaled(&ys, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn widths_converted() {
        agree!(WidthsConverted::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn own_conversions() {
        let make = |p: &Path| OwnFrom { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn width_checked() {
        agree!(WidthChecked::new, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs).ok());
    }

    #[test]
    fn heads_from_fn() {
        agree!(HeadsFromFn::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn result_discarded() {
        agree!(ResultDiscarded::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_of_one_length() {
        for parts in [2, 4] {
            let make = |p: &Path| Halved { layer: nn::linear(p / "l", 4, 4, Default::default()), parts };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn options_of_tensors() {
        let make = |p: &Path| MadeOptional { layer: nn::linear(p / "l", 4, 4, Default::default()) };
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
        agree!(make, cases, |net, (xs, given)| net.forward(xs, given.as_ref()));
    }

    #[test]
    fn literals_as_tensors() {
        let make = |p: &Path| OfLiterals { layer: nn::linear(p / "l", 4, 4, Default::default()) };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn into_options() {
        let make =
            |p: &Path| IntoOptions { part: Attended { layer: nn::linear(p / "l", 4, 4, nn::LinearConfig::default()) } };
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
        agree!(make, cases, |net, (xs, given)| net.forward(xs, given.as_ref()));
    }
}
