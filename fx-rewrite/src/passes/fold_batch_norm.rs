//! Folds a batch norm into the convolution or linear layer before it, at freeze time.
//!
//! In inference a batch norm is a scale and a shift of each channel (Ioffe and Szegedy 2015, algorithm 2), which a layer
//! that is linear in its weight can absorb. The graph only says so: weight and bias become the two parts of a freeze-time
//! call, whatever module borders lie between the two layers.
//!
//! A layer whose result has other readers keeps its batch norm, and so does one whose weight a second layer shares. A
//! batch norm goes over axis 1 and a linear layer over the last, which are one only for an input of two axes; where the
//! source does not tell, the kernel is given the batch norm as it is, and looks.

use std::rc::Rc;

use fx_ir::{Arg, Graph, NodeId, Op, Origin, Type};

use super::name::layer_name;
use super::norm::{input_of_norm, norm_layer};
use super::plain_layers::PlainLayers;
use crate::analysis::{Contraction, Kind, Ranks, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// The runtime's function that folds a batch norm into the weight and bias of the convolution before it.
pub(super) const CONV_BATCH_NORM: &str = "fold::conv_batch_norm";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FoldBatchNorm;

impl Pass for FoldBatchNorm {
    described! {
        "fold-batch-norm": "folds batch norms into the weights of the layers before them";
        after: ["lower-modules"];
        before: ["fuse-epilogue"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let mut fold = Fold { layers: PlainLayers::of(graph, cx), ranks: Ranks::of(graph, cx) };
        let mut changed = false;
        for id in graph.nodes() {
            if let Some((layer, contraction)) = fold.layer_before(graph, id)
                && let Some(norm) = norm_layer(graph, &mut fold.layers.times, id, self.name())
            {
                fold.fold(graph, id, layer, contraction, norm);
                changed = true;
            }
        }
        Changed::from(changed)
    }
}

struct Fold {
    layers: PlainLayers,
    ranks: Rc<Ranks>,
}

impl Fold {
    /// The layer that the batch norm `id` can be folded into.
    fn layer_before(&self, graph: &Graph, id: NodeId) -> Option<(NodeId, Contraction)> {
        let input = input_of_norm(graph, id)?;
        let layer = self.layers.layer_before(graph, input, id)?;
        let fits = match layer.kind {
            Kind::Convolution => true,
            Kind::Linear => self.ranks.get(&layer.input).least <= 2,
            Kind::Product => false,
        };
        fits.then_some((input, layer))
    }

    /// Turns the batch norm `id` into the layer with the folded weights, and erases the layer.
    fn fold(&mut self, graph: &mut Graph, id: NodeId, layer: NodeId, mut contraction: Contraction, norm: NodeId) {
        let origin = Origin::merged(FoldBatchNorm.name(), [&graph.node(layer).origin, &graph.node(id).origin]);
        if contraction.kind == Kind::Linear && self.ranks.get(&contraction.input).most != Some(2) {
            contraction.norm = Some(Arg::Node(norm));
        } else {
            self.fold_weights(graph, id, &mut contraction, norm, &origin);
        }
        contraction.become_node(graph, id, origin);
        // Its one reader was the batch norm.
        let _ = graph.erase_node(layer);
    }

    /// Gives the layer the weight and the bias that a freeze-time call folds.
    fn fold_weights(&mut self, graph: &mut Graph, id: NodeId, layer: &mut Contraction, norm: NodeId, origin: &Origin) {
        let is_convolution = layer.kind == Kind::Convolution;
        let function = if is_convolution { CONV_BATCH_NORM } else { "fold::linear_batch_norm" };
        let operands = layer.operands(graph, Some(&Arg::Node(norm)));
        let mut make = |op: Op, args: Vec<Arg>, part: &str, ty: Type| {
            let name = format!("{}_{part}", layer_name(origin));
            let made = graph.insert_before(id, op, args, &name, ty, origin.clone());
            self.layers.times.learn(made);
            made
        };
        let pair = Type::Tuple(vec![Type::TENSOR; 2]);
        let folded = make(runtime(function), operands, "folded", pair);
        layer.weight = make(Op::TupleGet(0), vec![Arg::Node(folded)], "weight", Type::TENSOR);
        layer.bias = Arg::Node(make(Op::TupleGet(1), vec![Arg::Node(folded)], "bias", Type::TENSOR));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::testing::check_all;
    use crate::passes::{CommonSubexpressions, DeadCode, LowerModules};

    /// Lowers, folds and cleans up the body of a model's forward over `x`.
    fn check(body: &str, after: &Expect) {
        let text = format!("graph f(self: module<Net>, x: tensor, c: rust<bool>) {{\n{body}\n}}");
        let graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        check_all(&[&LowerModules, &CommonSubexpressions, &FoldBatchNorm, &DeadCode], graph, after);
    }

    #[test]
    fn into_a_convolution() {
        check(
            r#"%conv = get_attr[conv](self) : module<Conv2D>
            %a = call_module[Conv2D](%conv, x) : tensor @ src/m.rs:1 as conv
            %bn = get_attr[bn](self) : module<BatchNorm>
            %ys = call_module[BatchNorm](%bn, %a) : tensor @ src/m.rs:2 as bn
            yield %ys"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %conv_weight = get_attr[ws](%conv) : tensor  @ src/m.rs:1 as conv by lower-modules
                  %conv_bias = get_attr[bs](%conv) : option<tensor>  @ src/m.rs:1 as conv by lower-modules
                  %conv_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ src/m.rs:1 as conv by lower-modules
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %conv_folded = host.runtime["fold::conv_batch_norm", fallible](host.ref(%conv_weight), host.method["as_ref"](%conv_bias), host.ref(%bn), host.ref(%conv_params)) : (tensor, tensor)  @ src/m.rs:1 + src/m.rs:2 as conv + bn by lower-modules + fold-batch-norm
                  %conv_weight_1 = tuple_get[0](%conv_folded) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by lower-modules + fold-batch-norm
                  %conv_bias_1 = tuple_get[1](%conv_folded) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by lower-modules + fold-batch-norm
                  %ys = convolution(x, %conv_weight_1, %conv_bias_1, %conv_params) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by lower-modules + fold-batch-norm
                  yield %ys
                }"#]],
        );
    }

    #[test]
    fn into_a_linear_layer_of_two_axes() {
        check(
            r#"%fc = get_attr[fc](self) : module<Linear>
            %bn = get_attr[bn](self) : module<BatchNorm>
            %fl = flat_view(x) : tensor
            %a = call_module[Linear](%fc, %fl) : tensor @ src/m.rs:1 as fc
            %b = call_module[BatchNorm](%bn, %a) : tensor @ src/m.rs:2 as bn
            yield %b"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %fc = get_attr[fc](self) : module<Linear>
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fl = flat_view(x) : tensor
                  %fc_weight = get_attr[ws](%fc) : tensor  @ src/m.rs:1 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ src/m.rs:1 as fc by lower-modules
                  %fc_folded = host.runtime["fold::linear_batch_norm", fallible](host.ref(%fc_weight), host.method["as_ref"](%fc_bias), host.ref(%bn)) : (tensor, tensor)  @ src/m.rs:1 + src/m.rs:2 as fc + bn by lower-modules + fold-batch-norm
                  %fc_weight_1 = tuple_get[0](%fc_folded) : tensor  @ src/m.rs:1 + src/m.rs:2 as fc + bn by lower-modules + fold-batch-norm
                  %fc_bias_1 = tuple_get[1](%fc_folded) : tensor  @ src/m.rs:1 + src/m.rs:2 as fc + bn by lower-modules + fold-batch-norm
                  %b = linear(%fl, %fc_weight_1, %fc_bias_1) : tensor  @ src/m.rs:1 + src/m.rs:2 as fc + bn by lower-modules + fold-batch-norm
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn the_kernel_looks_at_unknown_axes_and_three_are_left_alone() {
        check(
            r#"%fc = get_attr[fc](self) : module<Linear>
            %bn = get_attr[bn](self) : module<BatchNorm>
            %a = call_module[Linear](%fc, x) : tensor @ src/m.rs:1 as fc
            %b = call_module[BatchNorm](%bn, %a) : tensor @ src/m.rs:2 as bn
            %v = view(%b, [2, 3, 4]) : tensor
            %fc2 = get_attr[fc2](self) : module<Linear>
            %d = call_module[Linear](%fc2, %v) : tensor @ src/m.rs:3 as fc2
            %e = call_module[BatchNorm](%bn, %d) : tensor @ src/m.rs:4 as bn
            yield %e"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %fc = get_attr[fc](self) : module<Linear>
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fc_weight = get_attr[ws](%fc) : tensor  @ src/m.rs:1 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ src/m.rs:1 as fc by lower-modules
                  %b = linear(x, %fc_weight, %fc_bias, batch_norm=%bn) : tensor  @ src/m.rs:1 + src/m.rs:2 as fc + bn by lower-modules + fold-batch-norm
                  %v = view(%b, [2, 3, 4]) : tensor
                  %fc2 = get_attr[fc2](self) : module<Linear>
                  %fc2_weight = get_attr[ws](%fc2) : tensor  @ src/m.rs:3 as fc2 by lower-modules
                  %fc2_bias = get_attr[bs](%fc2) : option<tensor>  @ src/m.rs:3 as fc2 by lower-modules
                  %d = linear(%v, %fc2_weight, %fc2_bias) : tensor  @ src/m.rs:3 as fc2 by lower-modules
                  %e = call_module[BatchNorm](%bn, %d) : tensor  @ src/m.rs:4 as bn
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn functional_in_inference_only() {
        check(
            r#"%w = get_attr[w](self) : tensor
            %b = get_attr[b](self) : option<tensor>
            %mean = get_attr[mean](self) : tensor
            %var = get_attr[var](self) : tensor
            %a = conv2d(x, %w, none, 1, 0, 1, 1) : tensor
            %n = batch_norm(%a, %w, %b, %mean, %var, false, 0.1, 1e-5, true) : tensor
            %v = get_attr[v](self) : tensor
            %d = conv2d(%n, %v, %b, 1, 0, 1, 1) : tensor
            %m = batch_norm(%d, none, none, %mean, %var, true, 0.1, 1e-5, true) : tensor
            yield %m"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %mean = get_attr[mean](self) : tensor
                  %var = get_attr[var](self) : tensor
                  %kernel_params = host.struct_default["::fx_runtime::frozen::ConvParams", "stride", "padding", "dilation", "groups"](host.vec(1), host.vec(0), host.vec(1), 1) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %batch_norm = host.nn["BatchNorm::of_tensors"](host.some(host.ref(%w)), host.method["as_ref"](%b), host.ref(%mean), host.ref(%var), 1e-5) : module<BatchNorm>  @ by fold-batch-norm
                  %kernel_folded = host.runtime["fold::conv_batch_norm", fallible](host.ref(%w), none, host.ref(%batch_norm), host.ref(%kernel_params)) : (tensor, tensor)  @ by lower-modules + fold-batch-norm
                  %kernel_weight = tuple_get[0](%kernel_folded) : tensor  @ by lower-modules + fold-batch-norm
                  %kernel_bias = tuple_get[1](%kernel_folded) : tensor  @ by lower-modules + fold-batch-norm
                  %n = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules + fold-batch-norm
                  %v = get_attr[v](self) : tensor
                  %d = convolution(%n, %v, %b, %kernel_params) : tensor  @ by lower-modules
                  %m = batch_norm(%d, none, none, %mean, %var, true, 0.1, 1e-5, true) : tensor
                  yield %m
                }"#]],
        );
    }

    #[test]
    fn never_into_a_convolution_that_is_called_twice_or_read_elsewhere() {
        check(
            r#"%conv = get_attr[conv](self) : module<Conv2D>
            %bn = get_attr[bn](self) : module<BatchNorm>
            %a = call_module[Conv2D](%conv, x) : tensor
            %b = call_module[BatchNorm](%bn, %a) : tensor
            %again = get_attr[conv](self) : module<Conv2D>
            %d = call_module[Conv2D](%again, %b) : tensor
            %e = call_module[BatchNorm](%bn, %d) : tensor
            %other = get_attr[other](self) : module<Conv2D>
            %g = call_module[Conv2D](%other, %e) : tensor
            %h = call_module[BatchNorm](%bn, %g) : tensor
            %i = add(%g, %h) : tensor
            yield %i"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %kernel_weight = get_attr[ws](%conv) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%conv) : option<tensor>  @ by lower-modules
                  %kernel_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %a = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules
                  %b = call_module[BatchNorm](%bn, %a) : tensor
                  %d = convolution(%b, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules
                  %e = call_module[BatchNorm](%bn, %d) : tensor
                  %other = get_attr[other](self) : module<Conv2D>
                  %kernel_weight_2 = get_attr[ws](%other) : tensor  @ by lower-modules
                  %kernel_bias_2 = get_attr[bs](%other) : option<tensor>  @ by lower-modules
                  %kernel_params_2 = host.runtime["ConvParams::from"](host.field["config"](%other)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %g = convolution(%e, %kernel_weight_2, %kernel_bias_2, %kernel_params_2) : tensor  @ by lower-modules
                  %h = call_module[BatchNorm](%bn, %g) : tensor
                  %i = add(%g, %h) : tensor
                  yield %i
                }"#]],
        );
    }

    #[test]
    fn never_out_of_a_region_or_past_an_effect() {
        check(
            r#"%conv = get_attr[conv](self) : module<Conv2D>
            %bn = get_attr[bn](self) : module<BatchNorm>
            %a = call_module[Conv2D](%conv, x) : tensor
            %b = if(c) : tensor { %d = call_module[BatchNorm](%bn, %a) : tensor ; yield %d } else { yield x }
            %other = get_attr[other](self) : module<Conv2D>
            %e = call_module[Conv2D](%other, x) : tensor
            %w = add_(x, %b)
            %g = call_module[BatchNorm](%bn, %e) : tensor
            yield %g"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %kernel_weight = get_attr[ws](%conv) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%conv) : option<tensor>  @ by lower-modules
                  %kernel_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %a = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor  @ by lower-modules
                  %b = if(c) : tensor {
                    %d = call_module[BatchNorm](%bn, %a) : tensor
                    yield %d
                  } else {
                    yield x
                  }
                  %other = get_attr[other](self) : module<Conv2D>
                  %kernel_weight_1 = get_attr[ws](%other) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%other) : option<tensor>  @ by lower-modules
                  %kernel_params_1 = host.runtime["ConvParams::from"](host.field["config"](%other)) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %e = convolution(x, %kernel_weight_1, %kernel_bias_1, %kernel_params_1) : tensor  @ by lower-modules
                  %w = add_(x, %b)
                  %g = call_module[BatchNorm](%bn, %e) : tensor
                  yield %g
                }"#]],
        );
    }

    #[test]
    fn inside_a_region() {
        check(
            r#"%layers = get_attr[layers](self) : list<module<crate::Layer>>
            %r = for["%0 in $0.iter()"](%layers, x) : tensor (layer: module<crate::Layer>, y: tensor) {
              %bn = get_attr[bn](layer) : module<BatchNorm>
              %conv = get_attr[conv](layer) : module<Conv2D>
              %a = call_module[Conv2D](%conv, y) : tensor @ src/m.rs:1 as "layers.*.conv"
              %b = call_module[BatchNorm](%bn, %a) : tensor @ src/m.rs:1 as "layers.*.bn"
              yield %b
            }
            yield %r"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, c: rust<bool>) {
                  %layers = get_attr[layers](self) : list<module<crate::Layer>>
                  %r = for["%0 in $0.iter()"](%layers, x) : tensor (layer: module<crate::Layer>, y: tensor) {
                    %bn = get_attr[bn](layer) : module<BatchNorm>
                    %conv = get_attr[conv](layer) : module<Conv2D>
                    %conv_weight = get_attr[ws](%conv) : tensor  @ src/m.rs:1 as "layers.*.conv" by lower-modules
                    %conv_bias = get_attr[bs](%conv) : option<tensor>  @ src/m.rs:1 as "layers.*.conv" by lower-modules
                    %conv_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ src/m.rs:1 as "layers.*.conv" by lower-modules
                    %conv_folded = host.runtime["fold::conv_batch_norm", fallible](host.ref(%conv_weight), host.method["as_ref"](%conv_bias), host.ref(%bn), host.ref(%conv_params)) : (tensor, tensor)  @ src/m.rs:1 as "layers.*.conv" + "layers.*.bn" by lower-modules + fold-batch-norm
                    %conv_weight_1 = tuple_get[0](%conv_folded) : tensor  @ src/m.rs:1 as "layers.*.conv" + "layers.*.bn" by lower-modules + fold-batch-norm
                    %conv_bias_1 = tuple_get[1](%conv_folded) : tensor  @ src/m.rs:1 as "layers.*.conv" + "layers.*.bn" by lower-modules + fold-batch-norm
                    %b = convolution(y, %conv_weight_1, %conv_bias_1, %conv_params) : tensor  @ src/m.rs:1 as "layers.*.conv" + "layers.*.bn" by lower-modules + fold-batch-norm
                    yield %b
                  }
                  yield %r
                }"#]],
        );
    }
}
