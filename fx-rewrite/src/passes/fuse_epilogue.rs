//! Lets convolutions and linear layers do the addition and the activation behind them, in one pass over memory.
//!
//! `act(conv(x) + other)` becomes `convolution(x, .., add=other, act=..)` where the activation stood. Either side of the
//! addition may be the convolution; of two, the later one. An intermediate that anyone else reads stays, and nothing
//! moves past an effect or out of its region.

use std::rc::Rc;

use fx_ir::layers::Lowering;
use fx_ir::ops::Activation;
use fx_ir::{Arg, BlockOrder, Graph, HostOp, Node, NodeId, Op, Origin, Type, ops};

use super::name::part_name;
use crate::analysis::{BindingTimes, Contraction, Effects, Kind, float};
use crate::pass::{Changed, Pass, PassContext};

/// The runtime's type for an activation.
pub(super) const ACT: &str = "::fx_runtime::frozen::Activation";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FuseEpilogue;

impl Pass for FuseEpilogue {
    described! {
        "fuse-epilogue": "fuses additions and activations into the convolutions and linear layers before them";
        after: ["lower-modules"];
        before: ["pack-kernels"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let fuse =
            Fuse { times: BindingTimes::of(graph, cx), effects: Effects::of(graph, cx), order: graph.block_order() };
        let mut changed = false;
        for id in graph.nodes() {
            changed |= fuse.add(graph, id) || fuse.act(graph, id);
        }
        Changed::from(changed)
    }
}

struct Fuse {
    times: BindingTimes,
    effects: Rc<Effects>,
    order: BlockOrder,
}

/// The runtime's function that makes an activation of a layer's field.
#[derive(Clone, Copy)]
pub(super) struct FromLayer {
    function: &'static str,
    field: &'static str,
}

/// An activation: named in the runtime's words, with its numbers in a list, or read from a layer at freeze time.
pub(super) enum FusedActivation {
    Known(Arg),
    Layer(NodeId, FromLayer),
}

impl Fuse {
    fn add(&self, graph: &mut Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        let is_add = node.op == Op::Call(ops::ADD);
        let &[Arg::Node(a), Arg::Node(b)] = &node.args[..] else { return false };
        if !is_add || a == b || !node.kwargs.is_empty() {
            return false;
        }
        let later_first = if self.order.is_before(a, b) { [(b, a), (a, b)] } else { [(a, b), (b, a)] };
        for (layer, other) in later_first {
            let Some(contraction) = self.open_layer(graph, layer, id) else { continue };
            if contraction.add.is_some() || !graph.node(other).ty.is_tensor() {
                continue;
            }
            let other = Arg::Node(other);
            // What is a bias and what a sum of two tensors is a matter of shapes, which the live model knows.
            let is_bias = contraction.kind == Kind::Product && contraction.bias == Arg::None;
            let contraction = if is_bias && self.times.is_frozen_arg(&other) {
                Contraction { bias: other, ..contraction }
            } else {
                Contraction { add: Some(other), ..contraction }
            };
            finish(graph, id, layer, contraction);
            return true;
        }
        false
    }

    fn act(&self, graph: &mut Graph, id: NodeId) -> bool {
        let Some((input, act)) = act_of(graph.node(id)) else { return false };
        let Some(contraction) = self.open_layer(graph, input, id) else { return false };
        let act = match act {
            FusedActivation::Known(act) => act,
            FusedActivation::Layer(layer, _) if !self.times.is_frozen(layer) => return false,
            FusedActivation::Layer(layer, FromLayer { function, field }) => {
                let origin = Origin::merged(FuseEpilogue.name(), [&graph.node(id).origin]);
                let op = Op::Host(HostOp::Runtime(function.to_owned()).into());
                let (name, field) = (part_name(graph, id, "act"), HostOp::Field(field.to_owned()).on(layer));
                Arg::Node(graph.insert_before(id, op, vec![field], &name, Type::rust(ACT), origin))
            }
        };
        finish(graph, id, input, Contraction { act: Some(act), ..contraction });
        true
    }

    /// The layer, if `reader` alone reads it and may take its place, and it has no activation yet.
    fn open_layer(&self, graph: &Graph, layer: NodeId, reader: NodeId) -> Option<Contraction> {
        let contraction = Contraction::read(graph, layer)?;
        let open = contraction.act.is_none() && contraction.is_frozen(&self.times);
        (open && self.effects.is_only_reader(graph, reader, layer)).then_some(contraction)
    }
}

/// Turns `id` into the fused layer and erases the old one.
fn finish(graph: &mut Graph, id: NodeId, layer: NodeId, contraction: Contraction) {
    let origin = Origin::merged(FuseEpilogue.name(), [&graph.node(layer).origin, &graph.node(id).origin]);
    contraction.become_node(graph, id, origin);
    // Its one reader has taken its place.
    let _ = graph.erase_node(layer);
}

/// The operand of an activation, and which activation it is.
pub(super) fn act_of(node: &Node) -> Option<(NodeId, FusedActivation)> {
    match &node.op {
        Op::CallModule(kind) => {
            let Lowering::Absorbed { function, field } = kind.row()?.lowering else { return None };
            Some((node.input(1)?, FusedActivation::Layer(node.input(0)?, FromLayer { function, field })))
        }
        Op::Call(op) => {
            let named = |variant: &str| Arg::Str(variant.to_owned());
            let act = match (op.row()?.act?, node.args.get(1..)?) {
                (Activation::Plain(variant), []) => named(variant),
                (Activation::ByFormula(known), [Arg::Str(formula)]) => {
                    named(known.iter().find(|(name, _)| name == formula)?.1)
                }
                (Activation::ByBounds(variant), [low, high]) => {
                    Arg::List(vec![named(variant), number(low)?, number(high)?])
                }
                _ => return None,
            };
            Some((node.input(0)?, FusedActivation::Known(act)))
        }
        _ => None,
    }
}

/// A literal as an `f64`.
fn number(arg: &Arg) -> Option<Arg> {
    match float(arg) {
        Arg::Float(value) if value.is_finite() => Some(Arg::Float(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::testing::check as check_pass;

    /// Fuses in a graph over weights `w`, `b`, parameters `p` and an input `x`.
    fn check(body: &str, after: &Expect) {
        let text = format!(
            "graph f(self: module<Net>, x: tensor) {{
              %w = get_attr[w](self) : tensor
              %b = get_attr[b](self) : option<tensor>
              %p = get_attr[p](self)
              {body}
            }}"
        );
        check_pass(FuseEpilogue, &text, after);
    }

    #[test]
    fn an_addition_and_an_activation() {
        check(
            "%c = convolution(x, %w, %b, %p) : tensor @ m.rs:1 as conv
            %s = add(x, %c) : tensor @ m.rs:2 as add
            %ys = relu(%s) : tensor @ m.rs:3 as relu
            yield %ys",
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %ys = convolution(x, %w, %b, %p, add=x, act="Relu") : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as conv + add + relu by fuse-epilogue
                  yield %ys
                }"#]],
        );
    }

    #[test]
    fn of_two_convolutions_the_later_one() {
        check(
            "%c = convolution(x, %w, %b, %p) : tensor
            %d = convolution(x, %w, none, %p) : tensor
            %s = add(%c, %d) : tensor
            yield %s",
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %c = convolution(x, %w, %b, %p) : tensor
                  %s = convolution(x, %w, none, %p, add=%c) : tensor  @ by fuse-epilogue
                  yield %s
                }"#]],
        );
    }

    #[test]
    fn activations_with_parameters() {
        check(
            r#"%act = get_attr[act](self) : module<GELU>
            %leaky = get_attr[leaky](self) : module<LeakyReLU>
            %c = linear(x, %w, %b) : tensor
            %d = gelu(%c, "tanh") : tensor
            %e = linear(%d, %w, %b) : tensor
            %g = clamp(%e, 0, 6.5) : tensor
            %h = linear(%g, %w, %b) : tensor
            %i = leaky_relu(%h) : tensor
            %j = linear(%i, %w, %b) : tensor
            %k = call_module[GELU](%act, %j) : tensor @ m.rs:1 as act
            %l = linear(%k, %w, %b) : tensor
            %m = call_module[LeakyReLU](%leaky, %l) : tensor @ m.rs:2 as leaky
            yield %m"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %act = get_attr[act](self) : module<GELU>
                  %leaky = get_attr[leaky](self) : module<LeakyReLU>
                  %d = linear(x, %w, %b, act="GeluTanh") : tensor  @ by fuse-epilogue
                  %g = linear(%d, %w, %b, act=["Clamp", 0.0, 6.5]) : tensor  @ by fuse-epilogue
                  %i = linear(%g, %w, %b, act="LeakyRelu(0.01)") : tensor  @ by fuse-epilogue
                  %act_act = host.runtime["Activation::from"](host.field["approximate"](%act)) : rust<::fx_runtime::frozen::Activation>  @ m.rs:1 as act by fuse-epilogue
                  %k = linear(%i, %w, %b, act=%act_act) : tensor  @ m.rs:1 as act by fuse-epilogue
                  %leaky_act = host.runtime["Activation::LeakyRelu"](host.field["negative_slope"](%leaky)) : rust<::fx_runtime::frozen::Activation>  @ m.rs:2 as leaky by fuse-epilogue
                  %m = linear(%k, %w, %b, act=%leaky_act) : tensor  @ m.rs:2 as leaky by fuse-epilogue
                  yield %m
                }"#]],
        );
    }

    #[test]
    fn an_activation_that_is_one_row() {
        check(
            "%c = linear(x, %w, %b) : tensor ; %m = mish(%c) : tensor ; yield %m",
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %m = linear(x, %w, %b, act="Mish") : tensor  @ by fuse-epilogue
                  yield %m
                }"#]],
        );
    }

    #[test]
    fn what_others_read_stays() {
        check(
            "%c = convolution(x, %w, %b, %p) : tensor
            %r = relu(%c) : tensor
            %s = add(%c, %r) : tensor
            %d = convolution(%s, %w, %b, %p) : tensor
            %e = add(%d, %d) : tensor
            yield %e",
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %c = convolution(x, %w, %b, %p) : tensor
                  %r = relu(%c) : tensor
                  %s = add(%c, %r) : tensor
                  %d = convolution(%s, %w, %b, %p) : tensor
                  %e = add(%d, %d) : tensor
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn nothing_moves_past_an_effect_or_out_of_a_region() {
        check(
            r#"%c = convolution(x, %w, %b, %p) : tensor
            %i = add_(x, 1)
            %r = relu(%c) : tensor
            %d = convolution(%r, %w, %b, %p) : tensor
            %t = host.binary[">"](host.method["dim"](x), 2) : rust<bool>
            %y = if(%t) : tensor { %n = relu(%d) : tensor ; yield %n } else { yield x }
            yield %y"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self)
                  %c = convolution(x, %w, %b, %p) : tensor
                  %i = add_(x, 1)
                  %r = relu(%c) : tensor
                  %d = convolution(%r, %w, %b, %p) : tensor
                  %t = host.binary[">"](host.method["dim"](x), 2) : rust<bool>
                  %y = if(%t) : tensor {
                    %n = relu(%d) : tensor
                    yield %n
                  } else {
                    yield x
                  }
                  yield %y
                }"#]],
        );
    }

    #[test]
    fn a_weight_from_an_input_stays_as_it_is() {
        check(
            "%c = linear(x, x, none) : tensor ; %r = relu(%c) : tensor ; yield %r",
            &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %w = get_attr[w](self) : tensor
              %b = get_attr[b](self) : option<tensor>
              %p = get_attr[p](self)
              %c = linear(x, x, none) : tensor
              %r = relu(%c) : tensor
              yield %r
            }"#]],
        );
    }
}
