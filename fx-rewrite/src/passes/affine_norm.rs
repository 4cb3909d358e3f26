//! Writes a batch norm beside pointwise operators as what it is in inference, a factor and a summand of each channel, so
//! that [`GroupPointwise`](super::GroupPointwise) computes it in one pass over memory with them: the `relu(bn(x))` in front
//! of the convolutions of a `DenseNet`.
//!
//! Batch norms that a layer takes in are gone when this runs, and one that stands alone is left to `ATen`, which computes it
//! in one pass too.

use fx_ir::layers::BATCH_NORM;
use fx_ir::{Arg, Graph, HostOp, NodeId, Op, Origin, Type, ops};

use super::group_pointwise::is_pointwise;
use super::name::part_name;
use crate::analysis::{BindingTimes, Effects, LeafCall, by_ref, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct AffineNorm;

impl Pass for AffineNorm {
    described! {
        "affine-norm": "writes batch norms beside pointwise operators as a factor and a summand of each channel";
        after: ["pack-kernels"];
        before: ["group-pointwise"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let (times, effects) = (BindingTimes::of(graph, cx), Effects::of(graph, cx));
        let mut changed = false;
        for id in graph.nodes() {
            let Some(call) = LeafCall::read(graph, id).filter(|call| call.kind == BATCH_NORM) else { continue };
            let is_plain = times.is_frozen(call.layer) && !times.is_frozen(id) && !effects.is_written(id);
            if is_plain && has_company(graph, id, call.input) {
                write_out(graph, id, &call);
                changed = true;
            }
        }
        Changed::from(changed)
    }
}

/// Returns whether a pointwise operator of the same region alone reads the batch norm, or makes what it alone reads.
fn has_company(graph: &Graph, id: NodeId, input: NodeId) -> bool {
    let is_beside = |other: NodeId| is_pointwise(graph, other) && graph.scope_of(other) == graph.scope_of(id);
    matches!(graph.users(id)[..], [reader] if is_beside(reader)) || graph.users(input)[..] == [id] && is_beside(input)
}

/// `x * factor + summand`, each of which lies along the axis of channels.
fn write_out(graph: &mut Graph, id: NodeId, call: &LeafCall) {
    let origin = Origin::merged(AffineNorm.name(), [&graph.node(id).origin]);
    let input = Arg::Node(call.input);
    let [factor, summand] =
        [("factor", "norm::channel_factor"), ("summand", "norm::channel_summand")].map(|(part, function)| {
            let of_layer = vec![HostOp::Frame.of([]), by_ref(&Arg::Node(call.layer))];
            let name = part_name(graph, id, part);
            let each = graph.insert_before(id, runtime(function), of_layer, &name, Type::TENSOR, origin.clone());
            let along = vec![by_ref(&Arg::Node(each)), by_ref(&input)];
            Arg::Node(graph.insert_before(
                id,
                runtime("norm::along_channels"),
                along,
                &name,
                Type::TENSOR,
                origin.clone(),
            ))
        });
    let product = part_name(graph, id, "scaled");
    let scaled =
        graph.insert_before(id, Op::Call(ops::MUL), vec![input, factor], &product, Type::TENSOR, origin.clone());
    let node = graph.node_mut(id);
    (node.op, node.args, node.origin) = (Op::Call(ops::ADD), vec![Arg::Node(scaled), summand], origin);
    if graph.users(call.leaf).is_empty() {
        let _ = graph.erase_node(call.leaf);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::testing::check_all;
    use crate::passes::{DeadCode, GroupPointwise};

    const LEAF: &str = r#"host.runtime["Leaf::<::fx_runtime::nn::BatchNorm>::new", fallible](host.frame(), host.ref(%bn)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::BatchNorm>>"#;

    fn check(body: &str, after: &Expect) {
        let text = format!(
            "graph f(self: module<Net>, x: tensor) {{
              %bn = get_attr[bn](self) : module<BatchNorm>
              %leaf = {LEAF}
              %n = host.runtime_method[\"run\", fallible](%leaf, host.ref(x)) : tensor @ m.rs:1 as bn
              {body}
            }}"
        );
        let graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        check_all(&[&AffineNorm, &GroupPointwise, &DeadCode], graph, after);
    }

    #[test]
    fn with_the_activation_behind_it() {
        check(
            "%a = relu(%n) : tensor @ m.rs:1 as relu ; yield %a",
            &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %bn = get_attr[bn](self) : module<BatchNorm>
              %bn_factor = host.runtime["norm::channel_factor", fallible](host.frame(), host.ref(%bn)) : tensor  @ m.rs:1 as bn by affine-norm
              %bn_factor_1 = host.runtime["norm::along_channels", fallible](host.ref(%bn_factor), host.ref(x)) : tensor  @ m.rs:1 as bn by affine-norm
              %bn_summand = host.runtime["norm::channel_summand", fallible](host.frame(), host.ref(%bn)) : tensor  @ m.rs:1 as bn by affine-norm
              %bn_summand_1 = host.runtime["norm::along_channels", fallible](host.ref(%bn_summand), host.ref(x)) : tensor  @ m.rs:1 as bn by affine-norm
              %a = group(x, %bn_factor_1, %bn_summand_1, body="graph mul_add_relu(x: tensor, bn_factor: tensor, bn_summand: tensor) { %bn_scaled = mul(x, bn_factor) ; %n = add(%bn_scaled, bn_summand) ; %a = relu(%n) ; yield %a }") : tensor  @ m.rs:1 as bn + relu by affine-norm + group-pointwise
              yield %a
            }"#]],
        );
    }

    #[test]
    fn alone_it_stays() {
        check(
            "%a = matmul(%n, %n) : tensor @ m.rs:2 as matmul ; yield %a",
            &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %bn = get_attr[bn](self) : module<BatchNorm>
              %leaf = host.runtime["Leaf::<::fx_runtime::nn::BatchNorm>::new", fallible](host.frame(), host.ref(%bn)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::BatchNorm>>
              %n = host.runtime_method["run", fallible](%leaf, host.ref(x)) : tensor  @ m.rs:1 as bn
              %a = matmul(%n, %n) : tensor  @ m.rs:2 as matmul
              yield %a
            }"#]],
        );
        check(
            "%a = relu(%n) : tensor @ m.rs:2 as relu ; %b = matmul(%n, %a) : tensor ; yield %b",
            &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %bn = get_attr[bn](self) : module<BatchNorm>
              %leaf = host.runtime["Leaf::<::fx_runtime::nn::BatchNorm>::new", fallible](host.frame(), host.ref(%bn)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::BatchNorm>>
              %n = host.runtime_method["run", fallible](%leaf, host.ref(x)) : tensor  @ m.rs:1 as bn
              %a = relu(%n) : tensor  @ m.rs:2 as relu
              %b = matmul(%n, %a) : tensor
              yield %b
            }"#]],
        );
    }
}
