//! Chains that functions build out of closures: kept by models, with closures that capture values, chosen by `match`.

use fx_runtime::nn::ModuleT as _;
use fx_runtime::{Module, Tensor, nn, traceable};

/// Functions of another module, whose chain a model keeps.
mod towers {
    use fx_runtime::{nn, traceable};

    fn residual<'a>(p: nn::Path, c: i64) -> nn::FuncT<'a> {
        let config = nn::ConvConfig { padding: 1, ..Default::default() };
        let body = nn::seq_t()
            .add(nn::conv2d(&p / "conv", c, c, 3, config))
            .add(nn::batch_norm2d(&p / "bn", c, Default::default()))
            .add_fn(|xs| xs.relu());
        nn::func_t(move |xs, train| (xs + xs.apply_t(&body, train)).relu())
    }

    #[traceable]
    pub(super) fn tower(p: &nn::Path, blocks: i64, c: i64) -> nn::SequentialT {
        let mut net = nn::seq_t().add(nn::conv2d(p / "stem", 3, c, 3, Default::default()));
        for i in 0..blocks {
            net = net.add(residual(p / i, c));
        }
        net
    }
}

#[derive(Debug, Module)]
pub struct Net {
    torso: nn::SequentialT,
    head: nn::Sequential,
}

impl Net {
    fn new(p: &nn::Path, blocks: i64) -> Net {
        let torso = nn::seq_t().add_fn(|xs| xs.view((-1, 3, 5, 5))).add(towers::tower(&(p / "torso"), blocks, 4));
        let head = nn::seq().add_fn(|xs| xs.flat_view()).add(nn::linear(p / "fc", 4 * 9, 2, Default::default()));
        Net { torso, head }
    }
}

#[traceable(strict)]
impl Net {
    pub fn forward(&self, xs: &Tensor, train: bool) -> Tensor {
        self.head.forward_t(&self.torso.forward_t(xs, train), train)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    Relu,
    Hardswish,
    None,
}

fn conv_act(p: nn::Path, i: i64, o: i64, act: Act) -> impl nn::ModuleT + use<> {
    nn::seq_t().add(nn::conv2d(&p / 0, i, o, 1, Default::default())).add_fn(move |xs| match act {
        Act::Relu => xs.relu(),
        Act::Hardswish => xs.hardswish(),
        Act::None => xs.shallow_clone(),
    })
}

fn plain(p: nn::Path, c: i64) -> impl nn::ModuleT + use<> {
    let conv = nn::conv2d(&p / "conv", c, c, 1, Default::default());
    nn::func_t(move |xs, _| xs.apply(&conv).relu())
}

fn gated(p: nn::Path, c: i64, scale: f64) -> impl nn::ModuleT + use<> {
    let gate = nn::conv2d(&p / "gate", c, c, 1, Default::default());
    nn::func_t(move |xs, _| xs * xs.apply(&gate).sigmoid() * scale)
}

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Plain,
    Gated,
}

fn stage(p: nn::Path, kind: &Kind, c: i64, n: i64) -> impl nn::ModuleT + use<> {
    let mut layers = nn::seq_t();
    match kind {
        Kind::Plain => {
            let block = plain(&p / 0, c);
            layers = layers.add(block);
            for i in 1..n {
                let block = plain(&p / i, c);
                layers = layers.add(block);
            }
        }
        Kind::Gated => {
            let block = gated(&p / 0, c, 0.5);
            layers = layers.add(block);
            for i in 1..n {
                let block = gated(&p / i, c, 2.0);
                layers = layers.add(block);
            }
        }
    }
    layers
}

/// A closure that captures a chain and numbers, a `match` whose arms are chains, one whose arms add to a chain, and
/// blocks that have one name in both.
#[traceable(strict)]
pub fn staged(p: &nn::Path, kind: Kind, act: Act, classes: i64, dropout: f64) -> impl nn::ModuleT + use<> {
    let stem = match kind {
        Kind::Plain => nn::seq_t().add(conv_act(p / "stem", 3, 4, act)).add_fn(|xs| xs.relu()),
        Kind::Gated => nn::seq_t().add(conv_act(p / "stem", 3, 4, Act::None)).add_fn(|xs| xs.tanh()),
    };
    let mut body = nn::seq_t();
    for i in 0..2 {
        body = match kind {
            Kind::Plain => body.add(plain(p / "body" / i, 4)),
            Kind::Gated => body.add(gated(p / "body" / i, 4, 1.5)),
        };
    }
    let last = stage(p / "last", &kind, 4, 3);
    let fc = nn::linear(p / "fc", 4, classes, Default::default());
    nn::seq_t()
        .add(stem)
        .add(body)
        .add(last)
        .add_fn_t(move |xs, train| xs.adaptive_avg_pool2d([1, 1]).flat_view().dropout(dropout, train).apply(&fc))
}

fn halves(sides: (i64, i64)) -> (i64, i64) {
    (sides.0 / 2, sides.1 / 2)
}

/// A closure that captures what `let`s take out of tuples: of a `match`, of a function's result, and of one nested in
/// another.
#[traceable(strict)]
pub fn partitioned(p: &nn::Path, kind: Kind, sides: (i64, i64)) -> impl nn::ModuleT + use<> {
    let (inner, _outer) = match kind {
        Kind::Plain => (sides.0, sides.1),
        Kind::Gated => (sides.1, sides.0),
    };
    let (height, width) = halves(sides);
    let ((first, scale), last) = ((height + 1, 0.5), width);
    let conv = nn::conv2d(p / "conv", 3, 4, 1, Default::default());
    nn::func_t(move |xs, _| xs.apply(&conv).adaptive_avg_pool2d([first, last]) * scale + inner)
}

fn dense(p: nn::Path, c: i64, growth: i64) -> impl nn::ModuleT + use<> {
    let conv = nn::conv2d(&p / "conv", c, growth, 1, Default::default());
    let scale = (c as f64).powf(-0.5);
    nn::func_t(move |xs, _| xs.apply(&conv).relu() * scale)
}

/// Closures that capture lists which the function fills, in a loop and under a condition, and a computed number.
#[traceable(strict)]
pub fn densely(p: &nn::Path, c: i64, growth: i64, deep: bool) -> impl nn::ModuleT + use<> {
    let mut layers = vec![];
    for i in 0..3 {
        let width = c + i * growth;
        layers.push(dense(p / "dense" / i, width, growth));
    }
    let mut last = Vec::new();
    if deep {
        last.push(nn::linear(p / "fc", c + 3 * growth, 5, Default::default()));
    } else {
        let fc = nn::linear(p / "small", c + 3 * growth, 2, Default::default());
        last.push(fc);
    }
    let root = (c as f64).sqrt();
    nn::func_t(move |xs, train| {
        let mut features = vec![xs * 1];
        for layer in &layers {
            let ys = layer.forward_t(&Tensor::cat(&features, 1), train);
            features.push(ys);
        }
        let mut ys = Tensor::cat(&features, 1).adaptive_avg_pool2d([1, 1]).flat_view() * root;
        for fc in &last {
            ys = ys.apply(fc);
        }
        ys
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn parts_of_tuples_are_captured() {
        for kind in [Kind::Plain, Kind::Gated] {
            let make = |p: &nn::Path| Partitioned::new(p, kind, (4, 6));
            agree!(make, [randn(&[2, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
        }
    }

    #[test]
    fn appended_lists_are_captured() {
        for deep in [false, true] {
            let make = |p: &nn::Path| Densely::new(p, 3, 4, deep);
            agree!(make, [randn(&[2, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
        }
    }

    #[test]
    fn a_chain_of_functions_is_kept() {
        for blocks in [0, 2] {
            agree!(|p| Net::new(p, blocks), [randn(&[2, 3, 5, 5])], |net, xs| net.forward(xs, false));
        }
    }

    #[test]
    fn stages() {
        for (kind, act) in [(Kind::Plain, Act::Hardswish), (Kind::Gated, Act::Relu), (Kind::Plain, Act::None)] {
            let make = |p: &nn::Path| Staged::new(p, kind, act, 2, 0.3);
            agree!(make, [randn(&[2, 3, 4, 4])], |net, xs| net.forward_t(xs, false));
        }
    }
}
