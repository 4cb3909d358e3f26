//! Functions that choose among closures, and closures that capture fields which are no numbers.

use std::result::Result as Fallible;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// What a layer computes.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Relu,
    Leaky(f64),
    Hswish,
}

fn act<'a>(act: Act) -> nn::Func<'a> {
    match act {
        Act::Relu => nn::func(|xs| xs.relu()),
        Act::Leaky(slope) => nn::func(move |ys: &Tensor| {
            let scaled = ys * slope;
            scaled.maximum(ys)
        }),
        Act::Hswish => nn::func(|xs| xs.hardswish()),
    }
}

fn dropped<'a>(is_deep: bool, by: f64) -> nn::FuncT<'a> {
    if is_deep { nn::func_t(move |xs, train| xs.dropout(by, train)) } else { nn::func_t(|xs, _| xs.sin()) }
}

#[derive(Debug, Module)]
pub struct Chosen {
    seq: nn::SequentialT,
}

#[traceable]
impl Chosen {
    pub fn new(p: &nn::Path, one: Act, is_deep: bool) -> Self {
        let fc = nn::linear(p / "fc", 4, 4, Default::default());
        Self { seq: nn::seq_t().add(fc).add(act(one)).add(dropped(is_deep, 0.5)) }
    }

    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.seq, train)
    }
}

/// What a chain is built by.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    kind: Kind,
    by: f64,
}

/// A captured field that is a `Kind`.
#[derive(Debug, Module)]
pub struct OfKind {
    seq: nn::Sequential,
}

#[traceable]
impl OfKind {
    pub fn new(p: &nn::Path, options: Options) -> Self {
        let seq = nn::seq().add(nn::linear(p / "fc", 4, 4, Default::default()));
        Self { seq: seq.add_fn(move |xs| xs.softmax(-1, options.kind) * options.by) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq)
    }
}

/// A part whose constructor may fail, by another name of `Result`.
#[derive(Debug, Module)]
pub struct Part {
    fc: nn::Linear,
}

impl Part {
    fn new(p: &nn::Path, width: i64) -> Fallible<Part, String> {
        if width < 1 {
            return Err(format!("{width} is no width"));
        }
        Ok(Part { fc: nn::linear(p / "fc", width, width, Default::default()) })
    }
}

impl nn::Module for Part {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).relu() + xs
    }
}

#[derive(Debug, Module)]
pub struct Parts {
    seq: nn::Sequential,
}

impl Parts {
    pub fn new(p: &nn::Path, widths: &[i64]) -> Fallible<Parts, String> {
        let mut seq = nn::seq();
        for (at, &width) in widths.iter().enumerate() {
            let part = Part::new(&(p / at), width)?;
            seq = seq.add(part);
        }
        Ok(Parts { seq })
    }
}

#[traceable]
impl nn::Module for Parts {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq).tanh()
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::nn::Module as _;

    use super::*;
    use crate::check::{agree, randn};

    fn cases() -> [Tensor; 2] {
        [1, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn closures() {
        for one in [Act::Relu, Act::Leaky(0.25), Act::Hswish] {
            for is_deep in [false, true] {
                agree!(|p| Chosen::new(p, one, is_deep), cases(), |net, xs| net.forward_t(xs, false));
            }
        }
    }

    #[test]
    fn fields() {
        agree!(|p| OfKind::new(p, Options { kind: Kind::Float, by: 2.0 }), cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn parts_that_may_fail() {
        agree!(|p| Parts::new(p, &[4, 4]).expect("widths"), cases(), |net, xs| net.forward(xs));
    }
}
