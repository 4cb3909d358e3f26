//! Folds a factor beside a convolution or linear layer into its weights, at freeze time.
//!
//! `s · layer(x)` and `layer(s · x)` are the layer with other weights, zero padding included, for a number `s` that is
//! written in the source or that the live model knows; a divisor is one over it. In front of a layer the product has to be
//! of floating-point numbers for certain, since `x / 255` also turns bytes into floats.
//!
//! A layer whose result has other readers keeps its factor, and so does one that is shared.

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, Origin, Type, ops};

use super::name::layer_name;
use crate::analysis::{BindingTimes, Contraction, Effects, SharedWeights, float, optional_tensor, runtime};
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
        let mut scales = Scales {
            times: BindingTimes::of(graph, cx),
            effects: Effects::of(graph),
            sharers: SharedWeights::of(graph),
        };
        let mut changed = false;
        for id in graph.nodes() {
            changed |= graph.is_alive(id) && (scales.after(graph, id) || scales.before(graph, id));
        }
        Changed::from(changed)
    }
}

struct Scales {
    times: BindingTimes,
    effects: Effects,
    sharers: SharedWeights,
}

impl Scales {
    /// Folds the product `id` into the layer before it.
    fn after(&mut self, graph: &mut Graph, id: NodeId) -> bool {
        let Some((input, factor)) = self.scaled_product(graph, id) else { return false };
        let Some(layer) = self.layer(graph, input).filter(|_| self.is_own(graph, input, id)) else { return false };
        let origin = Origin::merged(FoldScale.name(), [&graph.node(input).origin, &graph.node(id).origin]);
        let operands = vec![HostOp::Ref.on(layer.weight), optional_tensor(graph, &layer.bias), factor.as_float()];
        let optional = Type::Option(Box::new(Type::TENSOR));
        let pair = Type::Tuple(vec![Type::TENSOR, optional.clone()]);
        let mut make = |op: Op, args: Vec<Arg>, part: &str, ty: Type| {
            let name = format!("{}_{part}", layer_name(&origin));
            let made = graph.insert_before(id, op, args, &name, ty, origin.clone());
            self.times.learn(made);
            made
        };
        let scaled = make(runtime("fold::scale_after"), operands, "scaled", pair);
        let weight = make(Op::TupleGet(0), vec![Arg::Node(scaled)], "weight", Type::TENSOR);
        let bias = match layer.bias {
            Arg::None => Arg::None,
            _ => Arg::Node(make(Op::TupleGet(1), vec![Arg::Node(scaled)], "bias", optional)),
        };
        self.sharers.moved(graph, weight);
        Contraction { weight, bias, ..layer }.become_node(graph, id, origin);
        // Its one reader was the product.
        let _ = graph.erase_node(input);
        true
    }

    /// Folds the product in front of the layer `id` into it.
    fn before(&mut self, graph: &mut Graph, id: NodeId) -> bool {
        let Some(layer) = self.layer(graph, id) else { return false };
        let Some(product) = layer.input.node().filter(|&product| self.is_own(graph, product, id)) else { return false };
        let Some((input, factor)) = self.scaled_product(graph, product) else { return false };
        if !is_float(graph, input) {
            return false;
        }
        let origin = Origin::merged(FoldScale.name(), [&graph.node(id).origin, &graph.node(product).origin]);
        let operands = vec![HostOp::Ref.on(layer.weight), factor.as_float()];
        let name = format!("{}_weight", layer_name(&graph.node(id).origin));
        let op = runtime("fold::scale_before");
        let weight = graph.insert_before(id, op, operands, &name, Type::TENSOR, origin.clone());
        self.times.learn(weight);
        self.sharers.moved(graph, weight);
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
    fn scaled_product(&self, graph: &Graph, id: NodeId) -> Option<(NodeId, Factor)> {
        let node = graph.node(id);
        let Op::Call(op) = &node.op else { return None };
        let divides = match (*op, node.kwargs.is_empty()) {
            (ops::MUL_SCALAR, true) => false,
            (ops::DIV_SCALAR, true) => true,
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
    /// It as an `f64`.
    fn as_float(&self) -> Arg {
        let number = match &self.number {
            Arg::Node(id) => HostOp::Cast("f64".to_owned()).on(*id),
            literal => float(literal),
        };
        if self.divides { HostOp::Binary("/".to_owned()).of([Arg::Float(1.0), number]) } else { number }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::LowerModules;
    use crate::passes::testing::check_all;

    fn check(body: &str, after: &Expect) {
        let text = format!(
            "graph f(self: module<Net>, x: tensor, n: rust<f64>) {{
              %conv = get_attr[conv](self) : module<Conv2D>
              %s = get_attr[s](self) : rust<f64>
              {body}
            }}"
        );
        let graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        check_all(&[&LowerModules, &FoldScale], graph, after);
    }

    #[test]
    fn on_both_sides() {
        check(
            r#"%a = sigmoid(x) : tensor
            %b = div.Scalar(%a, 255) : tensor @ m.rs:1 as div
            %d = call_module[Conv2D](%conv, %b) : tensor @ m.rs:2 as conv
            %e = mul.Scalar(%d, %s) : tensor @ m.rs:3 as mul
            yield %e"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, n: rust<f64>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %s = get_attr[s](self) : rust<f64>
                  %a = sigmoid(x) : tensor
                  %conv_weight = get_attr[ws](%conv) : tensor  @ m.rs:2 as conv by lower-modules
                  %conv_bias = get_attr[bs](%conv) : option<tensor>  @ m.rs:2 as conv by lower-modules
                  %conv_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ m.rs:2 as conv by lower-modules
                  %conv_weight_1 = host.runtime["fold::scale_before", fallible](host.ref(%conv_weight), host.binary["/"](1.0, 255.0)) : tensor  @ m.rs:2 + m.rs:1 as conv + div by lower-modules + fold-scale
                  %conv_scaled = host.runtime["fold::scale_after", fallible](host.ref(%conv_weight_1), host.method["as_ref"](%conv_bias), host.cast["f64"](%s)) : (tensor, option<tensor>)  @ m.rs:2 + m.rs:1 + m.rs:3 as conv + div + mul by lower-modules + fold-scale
                  %conv_weight_2 = tuple_get[0](%conv_scaled) : tensor  @ m.rs:2 + m.rs:1 + m.rs:3 as conv + div + mul by lower-modules + fold-scale
                  %conv_bias_1 = tuple_get[1](%conv_scaled) : option<tensor>  @ m.rs:2 + m.rs:1 + m.rs:3 as conv + div + mul by lower-modules + fold-scale
                  %e = convolution(%a, %conv_weight_2, %conv_bias_1, %conv_params) : tensor  @ m.rs:2 + m.rs:1 + m.rs:3 as conv + div + mul by lower-modules + fold-scale
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn not_where_bytes_become_floats_or_others_read_or_an_input_decides() {
        check(
            r#"%b = div.Scalar(x, 255) : tensor
            %d = call_module[Conv2D](%conv, %b) : tensor
            %e = mul.Scalar(%d, 2) : tensor
            %fc = get_attr[fc](self) : module<Linear>
            %g = call_module[Linear](%fc, %e) : tensor
            %h = mul.Scalar(%g, n) : tensor
            yield %d, %h"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, n: rust<f64>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %s = get_attr[s](self) : rust<f64>
                  %b = div.Scalar(x, 255) : tensor
                  %kernel_weight = get_attr[ws](%conv) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%conv) : option<tensor>  @ by lower-modules
                  %kernel_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %d = convolution(%b, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules
                  %fc = get_attr[fc](self) : module<Linear>
                  %kernel_weight_1 = get_attr[ws](%fc) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%fc) : option<tensor>  @ by lower-modules
                  %kernel_weight_2 = host.runtime["fold::scale_before", fallible](host.ref(%kernel_weight_1), 2.0) : tensor  @ by lower-modules + fold-scale
                  %g = linear(%d, %kernel_weight_2, %kernel_bias_1) : tensor  @ by lower-modules + fold-scale
                  %h = mul.Scalar(%g, n) : tensor
                  yield %d, %h
                }"#]],
        );
    }

    #[test]
    fn not_into_a_layer_that_is_called_twice() {
        check(
            r#"%d = call_module[Conv2D](%conv, x) : tensor
            %e = mul.Scalar(%d, 2) : tensor
            %g = call_module[Conv2D](%conv, %e) : tensor
            yield %g"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, n: rust<f64>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %s = get_attr[s](self) : rust<f64>
                  %kernel_weight = get_attr[ws](%conv) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%conv) : option<tensor>  @ by lower-modules
                  %kernel_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %d = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules
                  %e = mul.Scalar(%d, 2) : tensor
                  %kernel_weight_1 = get_attr[ws](%conv) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%conv) : option<tensor>  @ by lower-modules
                  %kernel_params_1 = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %g = convolution(%e, %kernel_weight_1, %kernel_bias_1, %kernel_params_1) : tensor  @ by lower-modules
                  yield %g
                }"#]],
        );
    }
}
