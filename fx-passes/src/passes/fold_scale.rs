//! Folds a factor beside a convolution or linear layer into its weights, at freeze time.
//!
//! `s · layer(x)` and `layer(s · x)` are the layer with other weights, zero padding included, for a number `s` that is
//! written in the source or that the live model knows; a divisor is one over it. In front of a layer the product has to be
//! of floating-point numbers for certain, since `x / 255` also turns bytes into floats.
//!
//! A layer whose result has other readers keeps its factor, and so does one that is shared.

use fx_ir::{Arg, Code, Graph, NodeId, Op, Origin, Type};

use super::facts::{Contraction, Effects, Holes, Sharers, Times};
use super::name::layer_name;
use crate::pass::{Changed, Pass, PassContext};
use crate::rewrite::is_float;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FoldScale;

impl Pass for FoldScale {
    fn name(&self) -> &'static str {
        "fold-scale"
    }

    fn doc(&self) -> &'static str {
        "folds factors into the weights of the layers before and behind them"
    }

    fn after(&self) -> &'static [&'static str] {
        &["lower-modules"]
    }

    fn before(&self) -> &'static [&'static str] {
        &["fuse-epilogue"]
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let mut scales =
            Scales { times: Times::of(graph, cx), effects: Effects::of(graph), sharers: Sharers::of(graph) };
        let mut changed = false;
        for id in graph.nodes() {
            changed |= graph.is_alive(id) && (scales.after(graph, id) || scales.before(graph, id));
        }
        Changed::from(changed)
    }
}

struct Scales {
    times: Times,
    effects: Effects,
    sharers: Sharers,
}

impl Scales {
    /// Folds the product `id` into the layer before it.
    fn after(&mut self, graph: &mut Graph, id: NodeId) -> bool {
        let Some((input, factor)) = self.product(graph, id) else { return false };
        let Some(layer) = self.layer(graph, input).filter(|_| self.is_own(graph, input, id)) else { return false };
        let origin = Origin::merged(FoldScale.name(), [&graph.node(input).origin, &graph.node(id).origin]);
        let mut holes = Holes::default();
        let weight = holes.value(&Arg::Node(layer.weight));
        let bias = holes.option(graph, &layer.bias);
        let factor = factor.code(&mut holes);
        let call = format!("::fx_runtime::frozen::fold::scale_after(&{weight}, {bias}, {factor})");
        let optional = Type::Option(Box::new(Type::TENSOR));
        let pair = Type::Tuple(vec![Type::TENSOR, optional.clone()]);
        let mut make = |op: Op, args: Vec<Arg>, part: &str, ty: Type| {
            let name = format!("{}_{part}", layer_name(&origin));
            let made = graph.insert_before(id, op, args, &name, ty, origin.clone());
            self.times.learn(made);
            made
        };
        let scaled = make(Op::Rust(Code::fallible(call)), holes.0, "scaled", pair);
        let weight = make(Op::TupleGet(0), vec![Arg::Node(scaled)], "weight", Type::TENSOR);
        let bias = match layer.bias {
            Arg::None => Arg::None,
            _ => Arg::Node(make(Op::TupleGet(1), vec![Arg::Node(scaled)], "bias", optional)),
        };
        self.sharers.moved(graph, layer.weight, weight);
        Contraction { weight, bias, ..layer }.become_node(graph, id, origin);
        // Its one reader was the product.
        let _ = graph.erase_node(input);
        true
    }

    /// Folds the product in front of the layer `id` into it.
    fn before(&mut self, graph: &mut Graph, id: NodeId) -> bool {
        let Some(layer) = self.layer(graph, id) else { return false };
        let Some(product) = layer.input.node().filter(|&product| self.is_own(graph, product, id)) else { return false };
        let Some((input, factor)) = self.product(graph, product) else { return false };
        if !is_float(graph, input) {
            return false;
        }
        let origin = Origin::merged(FoldScale.name(), [&graph.node(id).origin, &graph.node(product).origin]);
        let mut holes = Holes::default();
        let weight = holes.value(&Arg::Node(layer.weight));
        let call = format!("::fx_runtime::frozen::fold::scale_before(&{weight}, {})", factor.code(&mut holes));
        let name = format!("{}_weight", layer_name(&graph.node(id).origin));
        let op = Op::Rust(Code::fallible(call));
        let weight = graph.insert_before(id, op, holes.0, &name, Type::TENSOR, origin.clone());
        self.times.learn(weight);
        self.sharers.moved(graph, layer.weight, weight);
        Contraction { input: Arg::Node(input), weight, ..layer }.become_node(graph, id, origin);
        let _ = graph.erase_node(product);
        true
    }

    /// A layer that is nothing but one, and whose weights may change.
    fn layer(&self, graph: &Graph, id: NodeId) -> Option<Contraction> {
        let layer = Contraction::read(graph, id)?;
        let bare = [&layer.norm, &layer.add, &layer.act].into_iter().all(Option::is_none);
        let alone = self.sharers.is_alone(graph, layer.weight);
        (bare && alone && layer.is_frozen(&self.times)).then_some(layer)
    }

    /// Does `reader` alone read the value, with no write in between?
    fn is_own(&self, graph: &Graph, id: NodeId, reader: NodeId) -> bool {
        graph.users(id) == [reader] && self.effects.may_move(graph, id, reader)
    }

    /// What is multiplied, and by what.
    fn product(&self, graph: &Graph, id: NodeId) -> Option<(NodeId, Factor)> {
        let node = graph.node(id);
        let Op::Call(op) = &node.op else { return None };
        let divides = match (op.name(), node.kwargs.is_empty()) {
            ("mul.Scalar", true) => false,
            ("div.Scalar", true) => true,
            _ => return None,
        };
        let [input, number] = &node.args[..] else { return None };
        let known = match number {
            Arg::Int(_) => true,
            Arg::Float(number) => number.is_finite(),
            Arg::Node(id) => self.times.is_frozen(*id) && matches!(graph.node(*id).ty, Type::Rust(_)),
            _ => false,
        };
        let zero = divides && matches!(number, Arg::Int(0)) || *number == Arg::Float(0.0);
        (known && !zero).then_some((input.node()?, Factor { number: number.clone(), divides }))
    }
}

/// A number that something is multiplied with, or divided by.
struct Factor {
    number: Arg,
    divides: bool,
}

impl Factor {
    /// It as Rust, an `f64`.
    fn code(&self, holes: &mut Holes) -> String {
        let number = match &self.number {
            Arg::Int(number) => format!("{number}.0"),
            other => match holes.value(other) {
                hole if hole.starts_with('$') => format!("({hole} as f64)"),
                literal => literal,
            },
        };
        if self.divides { format!("1.0 / {number}") } else { number }
    }
}
