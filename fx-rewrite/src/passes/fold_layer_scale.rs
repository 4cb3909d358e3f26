//! Folds a tensor beside a convolution or linear layer into its weights, at freeze time: the layer scale of `CaiT` and
//! `ConvNeXt`, `gamma * layer(x)`.
//!
//! Whether `gamma` is a factor for each output is a matter of its shape, which the live model knows. So the product
//! becomes a choice that is taken when the model is frozen: the layer with other weights, or the product as it was. What
//! follows then moves into both ([`SinkIntoArms`](super::SinkIntoArms)).
//!
//! Between the layer and the product there may be a permutation of axes, as where a block computes in the order of
//! `channels_last` and scales in the other: torchvision's `ConvNeXt`, whose factor is `[channels, 1, 1]`.
//!
//! A layer whose result has other readers keeps its factor, and so does one that is shared.

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, Origin, Pattern, RegionId, Type, ops};

use super::name::part_name;
use super::plain_layers::PlainLayers;
use crate::analysis::{Contraction, Kind, by_optional_ref, optional_tensor, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct FoldLayerScale;

impl Pass for FoldLayerScale {
    described! {
        "fold-layer-scale": "folds tensors of factors into the weights of the layers that they scale";
        after: ["lower-modules"];
        before: ["fold-batch-norm", "fuse-epilogue"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let is_product = |&id: &NodeId| graph.node(id).op == Op::Call(ops::MUL);
        let products: Vec<NodeId> = graph.nodes().into_iter().filter(is_product).collect();
        if products.is_empty() {
            return Changed::No;
        }
        let scales = Scales(PlainLayers::of(graph, cx));
        let folded = products.into_iter().filter(|&id| scales.fold(graph, id)).count();
        Changed::from(folded > 0)
    }
}

struct Scales(PlainLayers);

impl Scales {
    fn fold(&self, graph: &mut Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        let &[Arg::Node(a), Arg::Node(b)] = &node.args[..] else { return false };
        if !node.kwargs.is_empty() {
            return false;
        }
        for (operand, factor) in [(a, b), (b, a)] {
            if !self.0.times.is_frozen(factor) || !graph.node(factor).ty.is_tensor() {
                continue;
            }
            if let Some(scaled) = self.scaled(graph, operand, id) {
                choose(graph, id, &scaled, factor);
                return true;
            }
        }
        false
    }

    /// The layer behind an operand of the product, which alone reads it.
    fn scaled(&self, graph: &Graph, operand: NodeId, product: NodeId) -> Option<Scaled> {
        let (layer, permutation) = match axes(graph, operand) {
            Some(axes) if self.0.effects.is_only_reader(graph, product, operand) => {
                (graph.node(operand).input(0)?, Some((operand, axes)))
            }
            Some(_) => return None,
            None => (operand, None),
        };
        let reader = permutation.as_ref().map_or(product, |(reader, _)| *reader);
        let contraction = self.0.layer_before(graph, layer, reader)?;
        (contraction.kind != Kind::Product).then_some(Scaled { layer, contraction, permutation })
    }
}

/// The order of axes that a permutation of a tensor gives, where it is written out and counts from the first.
fn axes(graph: &Graph, id: NodeId) -> Option<Vec<i64>> {
    let node = graph.node(id);
    let Arg::List(axes) = node.args.get(1).filter(|_| node.op == Op::Call(ops::PERMUTE))? else { return None };
    let axes: Vec<i64> =
        axes.iter().map(|axis| if let Arg::Int(axis) = axis { Some(*axis) } else { None }).collect::<Option<_>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    sorted.into_iter().zip(0..).all(|(axis, position)| axis == position).then_some(axes)
}

/// A layer whose result is multiplied, and the permutation of axes between the two.
struct Scaled {
    layer: NodeId,
    contraction: Contraction,
    permutation: Option<(NodeId, Vec<i64>)>,
}

impl Scaled {
    /// The tensor of factors in the layer's own order of axes.
    fn factor(&self, graph: &mut Graph, product: NodeId, factor: NodeId, origin: &Origin) -> NodeId {
        let Some((_, axes)) = &self.permutation else { return factor };
        let axes = Arg::List(axes.iter().copied().map(Arg::Int).collect());
        let name = part_name(graph, self.layer, "factor");
        let operands = vec![HostOp::Ref.on(factor), axes];
        graph.insert_before(product, runtime("fold::factor_before"), operands, &name, Type::TENSOR, origin.clone())
    }

    /// The result in the order of axes in which it is multiplied.
    fn permuted(&self, graph: &mut Graph, region: RegionId, result: NodeId) -> NodeId {
        let Some((permutation, _)) = &self.permutation else { return result };
        let source = graph.node(*permutation).clone();
        let name = graph.base_name(*permutation).to_owned();
        let mut args = source.args;
        args[0] = Arg::Node(result);
        graph.push(region, source.op, args, &name, source.ty, source.origin)
    }
}

/// Turns the product into a choice between the layer with the factor in its weights and the product as it was.
fn choose(graph: &mut Graph, id: NodeId, scaled: &Scaled, factor: NodeId) {
    let Scaled { layer, contraction, permutation } = scaled;
    let layer = *layer;
    let operand = permutation.as_ref().map_or(layer, |(permutation, _)| *permutation);
    let origins = [layer, operand, id].map(|part| &graph.node(part).origin);
    let origin = Origin::merged(FoldLayerScale.name(), origins);
    let factor = scaled.factor(graph, id, factor, &origin);
    let params = contraction.params.map(Arg::Node);
    let operands = vec![
        HostOp::Ref.on(contraction.weight),
        optional_tensor(graph, &contraction.bias),
        HostOp::Ref.on(factor),
        by_optional_ref(params.as_ref()),
    ];
    let optional = Type::Option(Box::new(Type::TENSOR));
    let found = Type::Option(Box::new(Type::Tuple(vec![Type::TENSOR, optional.clone()])));
    let name = part_name(graph, layer, "scaled");
    let decided = graph.insert_before(id, runtime("fold::scaled_by"), operands, &name, found, origin.clone());
    let (args, product) = (graph.node(id).args.clone(), graph.base_name(layer).to_owned());
    let patterns = vec![Pattern::some(Pattern::tuple([Pattern::Bind(0), Pattern::Bind(1)])), Pattern::None];
    let [into, beside] = [graph.add_region_to(id), graph.add_region_to(id)];
    let weight = graph.add_param(into, "weight", Type::TENSOR, origin.clone());
    let bias = graph.add_param(into, "bias", optional, origin.clone());
    let source = graph.node(layer).clone();
    let mut with = source.args.clone();
    with[1] = Arg::Node(weight);
    with[2] = if contraction.bias == Arg::None { Arg::None } else { Arg::Node(bias) };
    let folded = graph.push(into, source.op.clone(), with, &product, Type::TENSOR, origin.clone());
    let folded = scaled.permuted(graph, into, folded);
    graph.push(into, Op::Yield, vec![Arg::Node(folded)], "yield", Type::Unknown, origin.clone());
    let plain = graph.push(beside, source.op, source.args, &product, Type::TENSOR, source.origin);
    let plain = scaled.permuted(graph, beside, plain);
    let mul = graph.node(id).op.clone();
    let args = args.into_iter().map(|arg| if arg == Arg::Node(operand) { Arg::Node(plain) } else { arg }).collect();
    let times = graph.push(beside, mul, args, ops::MUL.name(), Type::TENSOR, origin.clone());
    graph.push(beside, Op::Yield, vec![Arg::Node(times)], "yield", Type::Unknown, origin.clone());
    let node = graph.node_mut(id);
    (node.op, node.args, node.origin) = (Op::Match(patterns), vec![Arg::Node(decided)], origin);
    // The one reader of each was the other or the product.
    if operand != layer {
        let _ = graph.erase_node(operand);
    }
    let _ = graph.erase_node(layer);
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::LowerModules;
    use crate::passes::testing::check_all;

    fn graph(body: &str) -> Graph {
        let text = format!(
            "graph f(self: module<Net>, x: tensor) {{
              %fc = get_attr[fc](self) : module<Linear>
              %g = get_attr[g](self) : tensor
              {body}
            }}"
        );
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_live_factor_decides() {
        check_all(
            &[&LowerModules, &FoldLayerScale],
            graph(
                "%a = call_module[Linear](%fc, x) : tensor @ m.rs:1 as fc
                %b = mul(%g, %a) : tensor @ m.rs:2 as mul
                yield %b",
            ),
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %fc = get_attr[fc](self) : module<Linear>
                  %g = get_attr[g](self) : tensor
                  %fc_weight = get_attr[ws](%fc) : tensor  @ m.rs:1 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ m.rs:1 as fc by lower-modules
                  %fc_scaled = host.runtime["fold::scaled_by", fallible](host.ref(%fc_weight), host.method["as_ref"](%fc_bias), host.ref(%g), none) : option<(tensor, option<tensor>)>  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale
                  %b = match(%fc_scaled) : tensor  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale {
                    "Some((%0, %1))" (weight: tensor  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale, bias: option<tensor>  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale) {
                      %a_1 = linear(x, weight, bias) : tensor  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale
                      yield %a_1  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale
                    }
                    "None" {
                      %a_2 = linear(x, %fc_weight, %fc_bias) : tensor  @ m.rs:1 as fc by lower-modules
                      %mul = mul(%g, %a_2) : tensor  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale
                      yield %mul  @ m.rs:1 + m.rs:2 as fc + mul by lower-modules + fold-layer-scale
                    }
                  }
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn a_permutation_goes_with_the_layer() {
        check_all(
            &[&LowerModules, &FoldLayerScale],
            graph(
                "%a = call_module[Linear](%fc, x) : tensor @ m.rs:1 as fc
                %p = permute(%a, [0, 3, 1, 2]) : tensor @ m.rs:2 as permute
                %b = mul(%g, %p) : tensor @ m.rs:3 as mul
                yield %b",
            ),
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %fc = get_attr[fc](self) : module<Linear>
                  %g = get_attr[g](self) : tensor
                  %fc_weight = get_attr[ws](%fc) : tensor  @ m.rs:1 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ m.rs:1 as fc by lower-modules
                  %fc_factor = host.runtime["fold::factor_before", fallible](host.ref(%g), [0, 3, 1, 2]) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                  %fc_scaled = host.runtime["fold::scaled_by", fallible](host.ref(%fc_weight), host.method["as_ref"](%fc_bias), host.ref(%fc_factor), none) : option<(tensor, option<tensor>)>  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                  %b = match(%fc_scaled) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale {
                    "Some((%0, %1))" (weight: tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale, bias: option<tensor>  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale) {
                      %a_1 = linear(x, weight, bias) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                      %p_1 = permute(%a_1, [0, 3, 1, 2]) : tensor  @ m.rs:2 as permute
                      yield %p_1  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                    }
                    "None" {
                      %a_2 = linear(x, %fc_weight, %fc_bias) : tensor  @ m.rs:1 as fc by lower-modules
                      %p_2 = permute(%a_2, [0, 3, 1, 2]) : tensor  @ m.rs:2 as permute
                      %mul = mul(%g, %p_2) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                      yield %mul  @ m.rs:1 + m.rs:2 + m.rs:3 as fc + permute + mul by lower-modules + fold-layer-scale
                    }
                  }
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn not_where_others_read_or_call_the_layer_or_an_input_is_the_factor() {
        for body in [
            "%a = call_module[Linear](%fc, x) : tensor ; %b = mul(%g, %a) : tensor ; yield %b, %a",
            "%a = call_module[Linear](%fc, x) : tensor ; %b = mul(x, %a) : tensor ; yield %b",
            "%a = call_module[Linear](%fc, x) : tensor ; %p = permute(%a, [1, 0]) : tensor ; %b = mul(%g, %p) : tensor ; yield %b, %p",
            "%a = call_module[Linear](%fc, x) : tensor ; %p = permute(%a, [1, 0]) : tensor ; %b = mul(%g, %p) : tensor ; yield %b, %a",
            "%a = call_module[Linear](%fc, x) : tensor ; %p = permute(%a, [1, -2]) : tensor ; %b = mul(%g, %p) : tensor ; yield %b",
            "%a = call_module[Linear](%fc, x) : tensor ; %i = add_(x, 1) ; %b = mul(%g, %a) : tensor ; yield %b",
            "%a = call_module[Linear](%fc, x) : tensor ; %b = mul(%g, %a) : tensor
            %c = call_module[Linear](%fc, %b) : tensor ; yield %c",
        ] {
            let mut graph = graph(body);
            let cx = PassContext::new(true);
            LowerModules.run(&mut graph, &cx);
            assert_eq!(FoldLayerScale.run(&mut graph, &cx), Changed::No, "{graph}");
        }
    }
}
