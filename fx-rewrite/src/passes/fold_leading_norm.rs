//! Folds a batch norm into the convolution or linear layer behind it, at freeze time.
//!
//! `w · (s · x + t) + b` is `(w · s) · x + (w · t + b)`, the second part a constant for each output channel. In front of a
//! convolution that pads with zeros it is no constant: a tap that lands in the border finds nothing where the batch norm
//! would have put `t`. So a convolution takes the batch norm only if it does not pad, or pads with what is there
//! (reflected, repeated), or if `t` is zero. The live model knows, so the graph says both and `freeze` decides.
//!
//! A batch norm goes over axis 1 and a linear layer over the last: that one has to have two axes for certain.
//!
//! This runs when additions and activations are fused, so that either way the layer keeps them. A batch norm that has
//! other readers stays, and a layer that is shared is left alone.

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, Origin, Type};

use super::name::layer_name;
use super::norm::{input_of_norm, norm_layer};
use crate::analysis::{BindingTimes, Contraction, Effects, Kind, Ranks, SharedWeights, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FoldLeadingNorm;

impl Pass for FoldLeadingNorm {
    described! {
        "fold-leading-norm": "folds batch norms into the weights of the layers behind them";
        after: ["fold-batch-norm", "fuse-epilogue"];
        before: ["pack-kernels"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let mut times = BindingTimes::of(graph, cx);
        let (effects, ranks, sharers) = (Effects::of(graph, cx), Ranks::of(graph, cx), SharedWeights::of(graph));
        let mut changed = false;
        for id in graph.nodes() {
            let Some(layer) = Contraction::read(graph, id).filter(|layer| layer.is_frozen(&times)) else { continue };
            let Some(norm) = layer.input.node() else { continue };
            let Some(input) = input_of_norm(graph, norm) else { continue };
            let own = effects.is_only_reader(graph, id, norm);
            let alone = layer.norm.is_none() && sharers.is_alone(graph, layer.weight);
            let matrix = ranks.get(&Arg::Node(input));
            let fits = match layer.kind {
                Kind::Convolution => true,
                Kind::Linear => (matrix.least, matrix.most) == (2, Some(2)),
                Kind::Product => false,
            };
            if own
                && alone
                && fits
                && let Some(bn) = norm_layer(graph, &mut times, norm, self.name())
            {
                Fold { graph, id, norm, bn, input, layer }.fold();
                changed = true;
            }
        }
        Changed::from(changed)
    }
}

/// A batch norm and the layer behind it.
struct Fold<'g> {
    graph: &'g mut Graph,
    /// The layer.
    id: NodeId,
    /// The call of the batch norm.
    norm: NodeId,
    /// The batch norm itself.
    bn: NodeId,
    /// The operand that it normalises.
    input: NodeId,
    layer: Contraction,
}

impl Fold<'_> {
    fn fold(self) {
        let origins = [self.id, self.norm].map(|part| &self.graph.node(part).origin);
        let origin = Origin::merged(FoldLeadingNorm.name(), origins);
        match self.layer.params {
            Some(params) => self.decide(params, &origin),
            None => self.fold_linear(origin),
        }
    }

    fn fold_linear(self, origin: Origin) {
        let Fold { graph, id, norm, bn, input, layer } = self;
        let call = folding(graph, &layer, bn);
        let parts = parts(graph, &layer, &origin, call, |graph, op, args, name, ty| {
            graph.insert_before(id, op, args, name, ty, origin.clone())
        });
        let folded = Contraction { input: Arg::Node(input), weight: parts[0], bias: Arg::Node(parts[1]), ..layer };
        folded.become_node(graph, id, origin);
        // Its one reader was the layer.
        let _ = graph.erase_node(norm);
    }

    /// `if folds { conv(x) with folded weights } else { conv(bn(x)) }`, decided when the model is frozen.
    fn decide(self, params: NodeId, origin: &Origin) {
        let Fold { graph, id, norm, bn, input, layer } = self;
        let operands = [bn, params].map(|part| HostOp::Ref.on(part)).to_vec();
        let (name, op) = (format!("{}_folds", layer_name(origin)), runtime("fold::folds_before_conv"));
        let folds = graph.insert_before(id, op, operands, &name, Type::rust("bool"), origin.clone());
        let apart = graph.node(id).clone();
        let [then, other] = [graph.add_region_to(id), graph.add_region_to(id)];
        let call = folding(graph, &layer, bn);
        let parts = parts(graph, &layer, origin, call, |graph, op, args, name, ty| {
            graph.push(then, op, args, name, ty, origin.clone())
        });
        let ty = apart.ty.clone();
        let whole = graph.push(then, apart.op.clone(), Vec::new(), "conv", ty.clone(), origin.clone());
        let folded = Contraction { input: Arg::Node(input), weight: parts[0], bias: Arg::Node(parts[1]), ..layer };
        folded.become_node(graph, whole, origin.clone());
        graph.push(then, Op::Yield, vec![Arg::Node(whole)], "output", Type::Unknown, origin.clone());

        let own = graph.node(norm).clone();
        let normed = graph.push(other, own.op, own.args, "normed", own.ty, own.origin);
        let conv = graph.push(other, apart.op, apart.args, "conv", ty, apart.origin);
        graph.node_mut(conv).kwargs = apart.kwargs;
        graph.replace_input_with(conv, norm, &Arg::Node(normed));
        graph.push(other, Op::Yield, vec![Arg::Node(conv)], "output", Type::Unknown, origin.clone());

        let node = graph.node_mut(id);
        (node.op, node.args, node.kwargs) = (Op::If, vec![Arg::Node(folds)], Vec::new());
        node.origin = origin.clone();
        let _ = graph.erase_node(norm);
    }
}

/// The freeze-time call that folds, and its arguments.
fn folding(graph: &Graph, layer: &Contraction, bn: NodeId) -> (Op, Vec<Arg>) {
    let function = if layer.params.is_some() { "fold::batch_norm_conv" } else { "fold::batch_norm_linear" };
    (runtime(function), layer.operands(graph, Some(&Arg::Node(bn))))
}

/// The folded weight and bias, made by `make`.
fn parts(
    graph: &mut Graph,
    layer: &Contraction,
    origin: &Origin,
    (op, args): (Op, Vec<Arg>),
    make: impl Fn(&mut Graph, Op, Vec<Arg>, &str, Type) -> NodeId,
) -> [NodeId; 2] {
    let name = layer_name(&graph.node(layer.weight).origin);
    let name = if name == "kernel" { layer_name(origin) } else { name };
    let pair = Type::Tuple(vec![Type::TENSOR; 2]);
    let folded = make(graph, op, args, &format!("{name}_folded"), pair);
    let mut part = |at: usize, part: &str| {
        make(graph, Op::TupleGet(at), vec![Arg::Node(folded)], &format!("{name}_{part}"), Type::TENSOR)
    };
    [part(0, "weight"), part(1, "bias")]
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::testing::check_all;
    use crate::passes::{FuseEpilogue, LowerModules};

    fn check(body: &str, after: &Expect) {
        let text = format!(
            "graph f(self: module<Net>, x: tensor) {{
              %bn = get_attr[bn](self) : module<BatchNorm>
              {body}
            }}"
        );
        let graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        check_all(&[&LowerModules, &FuseEpilogue, &FoldLeadingNorm], graph, after);
    }

    #[test]
    fn the_live_model_knows_whether_a_convolution_pads() {
        check(
            r#"%conv = get_attr[conv](self) : module<Conv2D>
            %a = call_module[BatchNorm](%bn, x) : tensor @ m.rs:1 as bn
            %b = call_module[Conv2D](%conv, %a) : tensor @ m.rs:2 as conv
            %d = relu(%b) : tensor @ m.rs:3 as relu
            yield %d"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %conv_weight = get_attr[ws](%conv) : tensor  @ m.rs:2 as conv by lower-modules
                  %conv_bias = get_attr[bs](%conv) : option<tensor>  @ m.rs:2 as conv by lower-modules
                  %conv_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ m.rs:2 as conv by lower-modules
                  %conv_folds = host.runtime["fold::folds_before_conv", fallible](host.ref(%bn), host.ref(%conv_params)) : rust<bool>  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                  %d = if(%conv_folds) : tensor  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm {
                    %conv_folded = host.runtime["fold::batch_norm_conv", fallible](host.ref(%conv_weight), host.method["as_ref"](%conv_bias), host.ref(%bn), host.ref(%conv_params)) : (tensor, tensor)  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                    %conv_weight_1 = tuple_get[0](%conv_folded) : tensor  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                    %conv_bias_1 = tuple_get[1](%conv_folded) : tensor  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                    %conv_1 = convolution(x, %conv_weight_1, %conv_bias_1, %conv_params, act="Relu") : tensor  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                    yield %conv_1  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                  } else {
                    %normed = call_module[BatchNorm](%bn, x) : tensor  @ m.rs:1 as bn
                    %conv_2 = convolution(%normed, %conv_weight, %conv_bias, %conv_params, act="Relu") : tensor  @ m.rs:2 + m.rs:3 as conv + relu by lower-modules + fuse-epilogue
                    yield %conv_2  @ m.rs:2 + m.rs:3 + m.rs:1 as conv + relu + bn by lower-modules + fuse-epilogue + fold-leading-norm
                  }
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn a_linear_layer_takes_it_on_matrices_alone() {
        check(
            r#"%fc = get_attr[fc](self) : module<Linear>
            %other = get_attr[other](self) : module<Linear>
            %a = flat_view(x) : tensor
            %b = call_module[BatchNorm](%bn, %a) : tensor @ m.rs:1 as bn
            %d = call_module[Linear](%fc, %b) : tensor @ m.rs:2 as fc
            %e = exp(%d) : tensor
            %g = call_module[BatchNorm](%bn, x) : tensor @ m.rs:3 as bn
            %h = call_module[Linear](%other, %g) : tensor @ m.rs:4 as other
            yield %e, %h"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fc = get_attr[fc](self) : module<Linear>
                  %other = get_attr[other](self) : module<Linear>
                  %a = flat_view(x) : tensor
                  %fc_weight = get_attr[ws](%fc) : tensor  @ m.rs:2 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ m.rs:2 as fc by lower-modules
                  %fc_folded = host.runtime["fold::batch_norm_linear", fallible](host.ref(%fc_weight), host.method["as_ref"](%fc_bias), host.ref(%bn)) : (tensor, tensor)  @ m.rs:2 + m.rs:1 as fc + bn by lower-modules + fold-leading-norm
                  %fc_weight_1 = tuple_get[0](%fc_folded) : tensor  @ m.rs:2 + m.rs:1 as fc + bn by lower-modules + fold-leading-norm
                  %fc_bias_1 = tuple_get[1](%fc_folded) : tensor  @ m.rs:2 + m.rs:1 as fc + bn by lower-modules + fold-leading-norm
                  %d = linear(%a, %fc_weight_1, %fc_bias_1) : tensor  @ m.rs:2 + m.rs:1 as fc + bn by lower-modules + fold-leading-norm
                  %e = exp(%d) : tensor
                  %g = call_module[BatchNorm](%bn, x) : tensor  @ m.rs:3 as bn
                  %other_weight = get_attr[ws](%other) : tensor  @ m.rs:4 as other by lower-modules
                  %other_bias = get_attr[bs](%other) : option<tensor>  @ m.rs:4 as other by lower-modules
                  %h = linear(%g, %other_weight, %other_bias) : tensor  @ m.rs:4 as other by lower-modules
                  yield %e, %h
                }"#]],
        );
    }

    #[test]
    fn not_what_others_read_and_not_into_a_layer_that_is_shared() {
        check(
            r#"%fc = get_attr[fc](self) : module<Linear>
            %other = get_attr[other](self) : module<Linear>
            %a = flat_view(x) : tensor
            %b = call_module[BatchNorm](%bn, %a) : tensor
            %d = call_module[Linear](%fc, %b) : tensor
            %e = mul(%b, %d) : tensor
            %g = call_module[BatchNorm](%bn, %e) : tensor
            %h = call_module[Linear](%other, %g) : tensor
            %i = call_module[Linear](%other, %h) : tensor
            yield %i"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fc = get_attr[fc](self) : module<Linear>
                  %other = get_attr[other](self) : module<Linear>
                  %a = flat_view(x) : tensor
                  %b = call_module[BatchNorm](%bn, %a) : tensor
                  %kernel_weight = get_attr[ws](%fc) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%fc) : option<tensor>  @ by lower-modules
                  %d = linear(%b, %kernel_weight, %kernel_bias) : tensor  @ by lower-modules
                  %e = mul(%b, %d) : tensor
                  %g = call_module[BatchNorm](%bn, %e) : tensor
                  %kernel_weight_1 = get_attr[ws](%other) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%other) : option<tensor>  @ by lower-modules
                  %h = linear(%g, %kernel_weight_1, %kernel_bias_1) : tensor  @ by lower-modules
                  %kernel_weight_2 = get_attr[ws](%other) : tensor  @ by lower-modules
                  %kernel_bias_2 = get_attr[bs](%other) : option<tensor>  @ by lower-modules
                  %i = linear(%h, %kernel_weight_2, %kernel_bias_2) : tensor  @ by lower-modules
                  yield %i
                }"#]],
        );
    }
}
