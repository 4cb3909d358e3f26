//! Functional convolutions as `convolution`, whose sizes become parameters written out in Rust, and products with weights
//! as `product`.

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, OpId, Origin, Type, ops};

use super::name::part_name;
use crate::analysis::BindingTimes;

/// The runtime's type for a convolution's parameters.
pub(super) const PARAMS: &str = "::fx_runtime::frozen::ConvParams";

/// Where a functional convolution has its parameters, after input, weight and bias.
const PLAIN: &[&str] = &["stride", "padding", "dilation", "groups"];
const TRANSPOSED: &[&str] = &["stride", "padding", "output_padding", "groups", "dilation"];

/// Rewrites a convolution whose weight and bias are known at freeze time and whose sizes are literals.
pub(super) fn lower_function(graph: &mut Graph, times: &BindingTimes, id: NodeId, op: OpId) -> bool {
    let (names, transposed) = match op {
        ops::CONV1D | ops::CONV2D | ops::CONV3D => (PLAIN, false),
        ops::CONV_TRANSPOSE1D | ops::CONV_TRANSPOSE2D | ops::CONV_TRANSPOSE3D => (TRANSPOSED, true),
        ops::MATMUL => return lower_product(graph, times, id),
        _ => return false,
    };
    let node = graph.node(id);
    let weights = node.args.get(1..).is_some_and(|args| args.iter().all(|arg| times.is_frozen_arg(arg)));
    let (Some(input), Some(weight), true) = (node.input(0), node.input(1), weights) else { return false };
    let bias = node.args.get(2).cloned().unwrap_or(Arg::None);
    let sizes = node.args.get(3..).unwrap_or_default();
    let Some((literal, fields)) = params_literal(names, sizes, transposed) else { return false };
    let origin = Origin::merged("lower-modules", [&node.origin]);
    let name = part_name(graph, id, "params");
    let params = graph.insert_before(id, Op::Host(literal.into()), fields, &name, Type::rust(PARAMS), origin.clone());
    let args = vec![Arg::Node(input), Arg::Node(weight), bias, Arg::Node(params)];
    let node = graph.node_mut(id);
    (node.op, node.args, node.origin) = (Op::Call(ops::CONVOLUTION), args, origin);
    true
}

/// Rewrites a matrix product with a weight that is known at freeze time, when its shape is known too.
fn lower_product(graph: &mut Graph, times: &BindingTimes, id: NodeId) -> bool {
    let node = graph.node(id);
    let &[Arg::Node(input), Arg::Node(weight)] = &node.args[..] else { return false };
    if !times.is_frozen(weight) || times.is_frozen(input) {
        return false;
    }
    let origin = Origin::merged("lower-modules", [&node.origin]);
    let node = graph.node_mut(id);
    (node.op, node.origin) = (Op::Call(ops::PRODUCT), origin);
    node.args.push(Arg::None);
    true
}

/// The parameters as a struct's literal, and its fields.
fn params_literal(names: &[&str], sizes: &[Arg], transposed: bool) -> Option<(HostOp, Vec<Arg>)> {
    let (mut fields, mut values) = (Vec::new(), Vec::new());
    for (&name, size) in names.iter().zip(sizes) {
        let value = match (name, size) {
            ("groups", Arg::Int(_)) => size.clone(),
            (_, Arg::Int(_)) => HostOp::Vec.on(size.clone()),
            (_, Arg::List(items)) if items.iter().all(|item| matches!(item, Arg::Int(_))) => {
                HostOp::Vec.of(items.iter().cloned())
            }
            _ => return None,
        };
        fields.push(name.to_owned());
        values.push(value);
    }
    if transposed {
        fields.push("transposed".to_owned());
        values.push(Arg::Bool(true));
    }
    Some((HostOp::StructDefault((PARAMS.to_owned(), fields)), values))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::LowerModules;
    use crate::passes::testing::check;

    #[test]
    fn functional_convolutions_are_the_same_op() {
        check(
            LowerModules,
            r#"graph f(self: module<Net>, x: tensor) {
              %w = get_attr[w](self) : tensor
              %a = conv2d(x, %w, none, [2, 2], [1, 1], [1, 1], 1) : tensor
              %b = conv_transpose1d(%a, %w, none, 2, 0, 1, 4) : tensor
              yield %b
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %kernel_params = host.struct_default["::fx_runtime::frozen::ConvParams", "stride", "padding", "dilation", "groups"](host.vec(2, 2), host.vec(1, 1), host.vec(1, 1), 1) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %a = convolution(x, %w, none, %kernel_params) : tensor  @ by lower-modules
                  %kernel_params_1 = host.struct_default["::fx_runtime::frozen::ConvParams", "stride", "padding", "output_padding", "groups", "transposed"](host.vec(2), host.vec(0), host.vec(1), 4, true) : rust<::fx_runtime::frozen::ConvParams>  @ by lower-modules
                  %b = convolution(%a, %w, none, %kernel_params_1) : tensor  @ by lower-modules
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn a_weight_or_a_size_from_an_input_keeps_the_function() {
        check(
            LowerModules,
            r#"graph f(self: module<Net>, x: tensor, n: rust<i64>) {
              %w = get_attr[w](self) : tensor
              %a = conv2d(x, x, none, 1, 0, 1, 1) : tensor
              %b = conv2d(x, %w, none, [n, 1], 0, 1, 1) : tensor
              yield %a, %b
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, n: rust<i64>) {
                  %w = get_attr[w](self) : tensor
                  %a = conv2d(x, x, none, 1, 0, 1, 1) : tensor
                  %b = conv2d(x, %w, none, [n, 1], 0, 1, 1) : tensor
                  yield %a, %b
                }"#]],
        );
    }
}
