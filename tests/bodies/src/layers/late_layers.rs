//! Chains that get layers when their struct is made already.

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: nn::Path) -> nn::Linear {
    nn::linear(p, 4, 4, Default::default())
}

/// A chain that a builder makes longer: a struct of its own, which methods hand on.
#[derive(Debug, Module)]
pub struct Stack {
    seq: nn::Sequential,
}

impl Stack {
    pub fn new() -> Self {
        Self { seq: nn::seq() }
    }

    fn with<M: nn::Module + Send + 'static>(mut self, layer: M) -> Self {
        self.seq = self.seq.add(layer);
        self
    }

    fn push(&mut self, layer: nn::Linear) {
        let seq = std::mem::replace(&mut self.seq, nn::seq());
        self.seq = seq.add(layer);
    }
}

#[derive(Debug, Module)]
pub struct Built {
    stack: Stack,
}

impl Built {
    pub fn new(p: &nn::Path) -> Self {
        let mut stack = Stack::new().with(linear(p / "a")).with(nn::func(|xs| xs.relu()));
        stack.push(linear(p / "b"));
        Self { stack }
    }
}

#[traceable]
impl nn::Module for Built {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.stack.seq).tanh()
    }
}

/// A field that is given more layers by the constructor itself.
#[derive(Debug, Module)]
pub struct Assigned {
    seq: nn::SequentialT,
}

impl Assigned {
    pub fn new(p: &nn::Path) -> Self {
        let mut net = Self { seq: nn::seq_t().add(linear(p / "a")) };
        net.seq = net.seq.add_fn(|xs| xs.relu());
        net.seq = net.seq.add(linear(p / "b"));
        net
    }
}

#[traceable]
impl nn::ModuleT for Assigned {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.seq, train).sin()
    }
}

/// A field that is written to through a pattern of what is borrowed.
#[derive(Debug, Module)]
pub struct TakenApart {
    seq: nn::Sequential,
}

fn longer(seq: &mut nn::Sequential, p: &nn::Path) {
    let old = std::mem::replace(seq, nn::seq());
    *seq = old.add_fn(|xs| xs.tanh()).add(linear(p / "late"));
}

impl TakenApart {
    pub fn new(p: &nn::Path) -> Self {
        let mut net = Self { seq: nn::seq().add(linear(p / "a")) };
        net.extend(p);
        net
    }

    fn extend(&mut self, p: &nn::Path) {
        let TakenApart { seq } = self;
        longer(seq, p);
    }
}

#[traceable]
impl nn::Module for TakenApart {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq)
    }
}

/// A chain of closures alone, or of nothing, which no layer tells from a longer one.
#[derive(Debug, Module)]
pub struct Empty {
    first: nn::Sequential,
    second: nn::Sequential,
}

impl Default for Empty {
    fn default() -> Self {
        Self { first: nn::seq(), second: nn::seq().add_fn(|xs| xs.relu()) }
    }
}

fn filled(p: &nn::Path) -> Empty {
    let mut net = Empty::default();
    net.first = net.first.add(linear(p / "a"));
    net.second = net.second.add_fn(|xs| xs * 3);
    net
}

#[traceable]
impl nn::Module for Empty {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.first).apply(&self.second)
    }
}

/// Line by line, behind the literal that makes the struct.
#[derive(Debug, Module)]
pub struct LineByLine {
    seq: nn::Sequential,
    by: i64,
}

#[traceable(strict)]
impl LineByLine {
    pub fn new(p: &nn::Path, rate: f64) -> Self {
        let mut first = nn::seq().add(linear(p / "0"));
        if rate > 0.5 {
            first = first.add_fn(|xs| xs.tanh());
        }
        let mut net = Self { seq: first, by: 1 };
        net.by = 3;
        let last = linear(p / "2");
        net.seq = net.seq.add(linear(p / "1")).add_fn(|xs| xs.relu());
        net.seq = net.seq.add(last);
        net.seq = net.seq.add_fn(move |xs| xs * rate);
        net
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq) * self.by
    }
}

/// The same, where one that is left early has fewer layers.
#[derive(Debug, Module)]
pub struct LeftEarly {
    seq: nn::Sequential,
}

#[traceable]
impl LeftEarly {
    pub fn new(p: &nn::Path, is_small: bool) -> Self {
        let mut net = LeftEarly { seq: nn::seq() };
        net.seq = net.seq.add(linear(p / "0"));
        if is_small {
            return net;
        }
        net.seq = net.seq.add_fn(|xs| xs.relu());
        net
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq)
    }
}

/// Two closures of one name, of which the chain is given the second.
#[derive(Debug, Module)]
pub struct SecondOfAName {
    seq: nn::Sequential,
}

#[traceable]
impl SecondOfAName {
    pub fn new() -> Self {
        #[allow(unused_variables)]
        let act = |xs: &Tensor| xs.relu();
        let mut net = SecondOfAName { seq: nn::seq() };
        let act = |xs: &Tensor| xs.sin();
        net.seq = net.seq.add_fn(act);
        net
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq)
    }
}

/// A struct in the place of which another may stand before it is given more layers.
#[derive(Debug, Module)]
pub struct Replaced {
    seq: nn::Sequential,
}

#[traceable]
impl Replaced {
    pub fn new(is_other: bool) -> Self {
        let mut net = Replaced { seq: nn::seq() };
        let other = Replaced { seq: nn::seq().add_fn(|xs| xs.sin()) };
        if is_other {
            drop(std::mem::replace(&mut net, other));
        }
        net.seq = net.seq.add_fn(|xs| xs.cos());
        net
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.seq)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::nn::{Module as _, ModuleT as _};

    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Built: 1 of 2);
    understood!(TakenApart: 0 of 1);
    understood!(Empty: 0 of 2);
    understood!(LeftEarly: 0 of 1);
    understood!(Replaced: 0 of 1);

    fn cases() -> [Tensor; 2] {
        [1, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn of_builders() {
        agree!(Built::new, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn assigned() {
        agree!(Assigned::new, cases(), |net, xs| net.forward_t(xs, false));
        agree!(filled, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn through_a_pattern() {
        agree!(TakenApart::new, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn another_of_the_name() {
        agree!(|_p| SecondOfAName::new(), cases(), |net, xs| net.forward(xs));
        for is_other in [true, false] {
            agree!(|_p| Replaced::new(is_other), cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn line_by_line() {
        for rate in [0.25, 0.75] {
            agree!(|p| LineByLine::new(p, rate), cases(), |net, xs| net.forward(xs));
        }
        for is_small in [true, false] {
            agree!(|p| LeftEarly::new(p, is_small), cases(), |net, xs| net.forward(xs));
        }
    }
}
