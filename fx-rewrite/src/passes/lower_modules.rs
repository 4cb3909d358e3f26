//! Turns layers that kernels know into ops on their weights, so that folding and fusing see one form.
//!
//! `call_module[Conv2D](m, x)` becomes `convolution(x, weight, bias, params)`, where the last three are read from the
//! layer at freeze time; a functional convolution with known sizes becomes the same. Layers without a kernel of their own
//! stay layers.

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, OpId, Origin, Type, ops};

use super::lower_functions::{PARAMS, lower_function};
use super::name::part_name;
use crate::analysis::{BindingTimes, activation_of};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LowerModules;

impl Pass for LowerModules {
    fn name(&self) -> &'static str {
        "lower-modules"
    }

    fn doc(&self) -> &'static str {
        "turns convolutions, linear layers and activations into ops on their weights"
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let times = BindingTimes::of(graph, cx);
        let mut changed = false;
        for id in graph.nodes() {
            changed |= match &graph.node(id).op {
                Op::CallModule(kind) => lower_layer(graph, &times, id, &kind.0.clone()),
                Op::Call(op) => lower_function(graph, &times, id, *op),
                _ => false,
            };
        }
        Changed::from(changed)
    }
}

fn lower_layer(graph: &mut Graph, times: &BindingTimes, id: NodeId, kind: &str) -> bool {
    let (&[Arg::Node(layer), Arg::Node(input)], op) = (&graph.node(id).args[..], op_of(kind)) else { return false };
    let Some(op) = op.filter(|_| times.is_frozen(layer)) else { return false };
    let origin = Origin::merged(LowerModules.name(), [&graph.node(id).origin]);
    let mut args = vec![Arg::Node(input)];
    let mut part = |graph: &mut Graph, name: &str, op: Op, of: Arg, ty: Type| {
        let name = part_name(graph, id, name);
        let part = graph.insert_before(id, op, vec![of], &name, ty, origin.clone());
        args.push(Arg::Node(part));
    };
    if matches!(op, ops::CONVOLUTION | ops::LINEAR) {
        part(graph, "weight", Op::GetAttr("ws".to_owned()), Arg::Node(layer), Type::TENSOR);
        part(graph, "bias", Op::GetAttr("bs".to_owned()), Arg::Node(layer), Type::Option(Box::new(Type::TENSOR)));
    }
    if op == ops::CONVOLUTION {
        let from = Op::Host(HostOp::Runtime("ConvParams::from".to_owned()).into());
        part(graph, "params", from, HostOp::Field("config".to_owned()).on(layer), Type::rust(PARAMS));
    }
    let node = graph.node_mut(id);
    (node.op, node.args, node.origin) = (Op::Call(op), args, origin);
    true
}

/// The op that a layer computes.
fn op_of(kind: &str) -> Option<OpId> {
    match kind {
        "Conv1D" | "Conv2D" | "Conv3D" | "ConvTranspose1D" | "ConvTranspose2D" | "ConvTranspose3D" => {
            Some(ops::CONVOLUTION)
        }
        "Linear" => Some(ops::LINEAR),
        other => activation_of(other),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn layers_become_ops_on_their_weights() {
        check(
            LowerModules,
            r#"graph f(self: module<Net>, x: tensor) {
              %conv = get_attr[conv](self) : module<Conv2D>
              %a = call_module[Conv2D](%conv, x) : tensor @ src/model.rs:3 as conv
              %up = get_attr[up](self) : module<ConvTranspose2D>
              %b = call_module[ConvTranspose2D](%up, %a) : tensor @ src/model.rs:4 as "blocks.*.up"
              %act = get_attr[act](self) : module<ReLU>
              %c = call_module[ReLU](%act, %b) : tensor @ src/model.rs:5 as act
              %fc = get_attr[fc](self) : module<Linear>
              %d = call_module[Linear](%fc, %c) : tensor @ src/model.rs:6 as fc
              %pool = get_attr[pool](self) : module<MaxPool2D>
              %e = call_module[MaxPool2D](%pool, %d) : tensor @ src/model.rs:7 as pool
              yield %e
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %conv = get_attr[conv](self) : module<Conv2D>
                  %conv_weight = get_attr[ws](%conv) : tensor  @ src/model.rs:3 as conv by lower-modules
                  %conv_bias = get_attr[bs](%conv) : option<tensor>  @ src/model.rs:3 as conv by lower-modules
                  %conv_params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ src/model.rs:3 as conv by lower-modules
                  %a = convolution(x, %conv_weight, %conv_bias, %conv_params) : tensor  @ src/model.rs:3 as conv by lower-modules
                  %up = get_attr[up](self) : module<ConvTranspose2D>
                  %up_weight = get_attr[ws](%up) : tensor  @ src/model.rs:4 as "blocks.*.up" by lower-modules
                  %up_bias = get_attr[bs](%up) : option<tensor>  @ src/model.rs:4 as "blocks.*.up" by lower-modules
                  %up_params = host.runtime["ConvParams::from"](host.field["config"](%up)) : rust<::fx_runtime::frozen::ConvParams>  @ src/model.rs:4 as "blocks.*.up" by lower-modules
                  %b = convolution(%a, %up_weight, %up_bias, %up_params) : tensor  @ src/model.rs:4 as "blocks.*.up" by lower-modules
                  %act = get_attr[act](self) : module<ReLU>
                  %c = relu(%b) : tensor  @ src/model.rs:5 as act by lower-modules
                  %fc = get_attr[fc](self) : module<Linear>
                  %fc_weight = get_attr[ws](%fc) : tensor  @ src/model.rs:6 as fc by lower-modules
                  %fc_bias = get_attr[bs](%fc) : option<tensor>  @ src/model.rs:6 as fc by lower-modules
                  %d = linear(%c, %fc_weight, %fc_bias) : tensor  @ src/model.rs:6 as fc by lower-modules
                  %pool = get_attr[pool](self) : module<MaxPool2D>
                  %e = call_module[MaxPool2D](%pool, %d) : tensor  @ src/model.rs:7 as pool
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn a_layer_that_an_input_chooses_stays() {
        check(
            LowerModules,
            r#"graph f(self: module<Net>, x: tensor, i: rust<usize>) {
              %convs = get_attr[convs](self) : list<module<Conv2D>>
              %conv = host.item_ref(%convs, i) : module<Conv2D>
              %a = call_module[Conv2D](%conv, x) : tensor
              yield %a
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, i: rust<usize>) {
                  %convs = get_attr[convs](self) : list<module<Conv2D>>
                  %conv = host.item_ref(%convs, i) : module<Conv2D>
                  %a = call_module[Conv2D](%conv, x) : tensor
                  yield %a
                }"#]],
        );
    }
}
