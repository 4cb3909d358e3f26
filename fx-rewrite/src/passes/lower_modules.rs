//! Turns layers that kernels know into ops on their weights, so that folding and fusing see one form.
//!
//! `call_module[Conv2D](m, x)` becomes `convolution(x, weight, bias, params)`, where the last three are read from the
//! layer at freeze time; a functional convolution with known sizes becomes the same. Layers without a kernel of their own
//! stay layers.

use fx_ir::layers::{FieldType, Lowering};
use fx_ir::{Arg, Graph, HostOp, LayerRow, NodeId, Op, Origin, Type, ops};

use super::lower_functions::{PARAMS, lower_function};
use super::name::part_name;
use crate::analysis::BindingTimes;
use crate::pass::{Changed, Pass, PassContext};

/// The field of a convolution that says its parameters, and the runtime's function that reads them there.
pub(super) const CONFIG: &str = "config";
pub(super) const PARAMS_OF_CONFIG: &str = "ConvParams::from";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LowerModules;

impl Pass for LowerModules {
    described! {
        "lower-modules": "turns convolutions, linear layers and activations into ops on their weights";
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let times = BindingTimes::of(graph, cx);
        let mut changed = false;
        for id in graph.nodes() {
            changed |= match &graph.node(id).op {
                Op::CallModule(kind) => kind.row().is_some_and(|row| lower_layer(graph, &times, id, row)),
                Op::Call(op) => lower_function(graph, &times, id, *op),
                _ => false,
            };
        }
        Changed::from(changed)
    }
}

fn lower_layer(graph: &mut Graph, times: &BindingTimes, id: NodeId, row: &LayerRow) -> bool {
    let &[Arg::Node(layer), Arg::Node(input)] = &graph.node(id).args[..] else { return false };
    let has_weights = row.lowering == Lowering::OnWeights;
    let is_op = (has_weights || row.lowering == Lowering::ToOp) && times.is_frozen(layer);
    let Some(op) = row.op.filter(|_| is_op) else { return false };
    let origin = Origin::merged(LowerModules.name(), [&graph.node(id).origin]);
    let mut args = vec![Arg::Node(input)];
    let mut part = |graph: &mut Graph, name: &str, op: Op, of: Arg, ty: Type| {
        let name = part_name(graph, id, name);
        let part = graph.insert_before(id, op, vec![of], &name, ty, origin.clone());
        args.push(Arg::Node(part));
    };
    for (field, name) in row.tensors().filter(|_| has_weights) {
        let ty = match field.ty {
            FieldType::OptTensor => Type::Option(Box::new(Type::TENSOR)),
            _ => Type::TENSOR,
        };
        part(graph, name, Op::GetAttr(field.name.to_owned()), Arg::Node(layer), ty);
    }
    if op == ops::CONVOLUTION {
        let from = Op::Host(HostOp::Runtime(PARAMS_OF_CONFIG.to_owned()).into());
        part(graph, "params", from, HostOp::Field(CONFIG.to_owned()).on(layer), Type::rust(PARAMS));
    }
    let node = graph.node_mut(id);
    (node.op, node.args, node.origin) = (Op::Call(op), args, origin);
    true
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
