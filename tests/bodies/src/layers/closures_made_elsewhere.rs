//! Closures in fields and chains of which some are made inside macros and by constants, where others say something else.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A layer with a function in a field, and one in a chain.
#[derive(Debug, Module)]
pub struct Part {
    fc: nn::Linear,
    #[module(skip)]
    act: fn(&Tensor) -> Tensor,
    chain: nn::Sequential,
}

/// Layers that a macro's arguments make.
#[derive(Debug, Module)]
pub struct InMacros {
    parts: Vec<Part>,
}

impl InMacros {
    fn new(p: &nn::Path) -> InMacros {
        let fc = |at: i64| nn::linear(p / at, 4, 4, nn::LinearConfig::default());
        let chain = nn::seq;
        InMacros {
            parts: vec![
                Part { fc: fc(0), act: |xs| xs.relu(), chain: chain().add_fn(|xs| xs.sin()) },
                Part { fc: fc(1), act: |xs| xs.sigmoid(), chain: chain().add_fn(|xs| xs.exp()) },
            ],
        }
    }

    fn other(p: &nn::Path) -> InMacros {
        let fc = nn::linear(p / 0, 4, 4, nn::LinearConfig::default());
        let part = Part { fc, act: |xs| xs.cos(), chain: nn::seq().add_fn(|xs| xs.tanh()) };
        InMacros { parts: Vec::from([part]) }
    }
}

#[traceable]
impl InMacros {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.parts.iter().fold(xs.shallow_clone(), |xs, part| (part.act)(&xs.apply(&part.fc)).apply(&part.chain))
    }
}

/// An activation that is a constant's.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    function: fn(&Tensor) -> Tensor,
}

const RELU: Act = Act { function: |xs| xs.relu() };

impl Act {
    const SIGMOID: Act = Act { function: |xs| xs.sigmoid() };

    fn cos() -> Act {
        Act { function: |xs| xs.cos() }
    }
}

#[derive(Debug, Module)]
pub struct OfConstants {
    fc: nn::Linear,
    #[module(skip)]
    acts: Vec<Act>,
}

#[traceable]
impl OfConstants {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        self.acts.iter().fold(ys, |ys, act| (act.function)(&ys) * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    understood!(InMacros: 31 of 32);
    not_interpreted!(OfConstants: "interpreting host.call_pointer");

    #[test]
    fn in_macros() {
        agree!(InMacros::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(InMacros::other, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn of_constants() {
        let make = |p: &nn::Path| {
            let fc = nn::linear(p / "fc", 4, 4, nn::LinearConfig::default());
            OfConstants { fc, acts: vec![RELU, Act::SIGMOID, Act::cos()] }
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
