//! Takes out what hands its input on: dropout in inference, `Identity`, extra handles, `detach`, copies that change nothing.
//!
//! `contiguous` goes where its readers ask for the elements alone, and stays where they ask for the order in memory. It
//! also stays where it may be the copy that keeps two tensors apart: somebody writes to one of them, or the caller gets
//! the result, which would else be a view of an input.

use fx_ir::layers::Passes;
use fx_ir::{Arg, Effect, Graph, HostOp, NodeId, Op, ops};

use super::layout_safe::reads_strides;
use crate::analysis::Effects;
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct RemoveIdentity;

impl Pass for RemoveIdentity {
    described! {
        "remove-identity": "takes out dropout, Identity and handles that only pass their input on";
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let effects = Effects::of(graph, cx);
        let mut changed = false;
        // Last first, so that a `contiguous` sees what its readers have become.
        for id in graph.nodes().into_iter().rev() {
            changed |= forget_own_dtype(graph, id);
            let Some(input) = passed_on(graph, &effects, id) else { continue };
            graph.replace_all_uses_with(id, &Arg::Node(input));
            changed |= graph.erase_node(id).is_ok();
        }
        Changed::from(changed)
    }
}

/// The node whose value `id` only passes on.
fn passed_on(graph: &Graph, effects: &Effects, id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    match &node.op {
        Op::CallModule(kind) => {
            let passes = kind.row().is_some_and(|row| row.passes == Passes::Input);
            node.input(1).filter(|_| passes)
        }
        Op::Call(op) => {
            let input = node.input(0)?;
            let passes = match *op {
                ops::DROPOUT | ops::ALPHA_DROPOUT | ops::FEATURE_DROPOUT | ops::FEATURE_ALPHA_DROPOUT => {
                    node.args.get(2) == Some(&Arg::Bool(false))
                }
                ops::SHALLOW_CLONE => true,
                // No gradients are computed; the caller's own tensor may have a history.
                ops::DETACH => !effects.is_handed_out(id) || graph.node(input).op.makes_own_tensor(),
                ops::CONTIGUOUS => {
                    let is_apart = effects.is_written(id) || effects.is_handed_out(id);
                    !is_apart && graph.users(id).iter().all(|&user| is_blind(graph, user))
                }
                _ => false,
            };
            passes.then_some(input)
        }
        _ => None,
    }
}

/// `x.softmax(-1, x.kind())` asks for the dtype that it would get without asking, and reads `x` twice for it.
fn forget_own_dtype(graph: &mut Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let asks = matches!(node.op, Op::Call(ops::SOFTMAX | ops::LOG_SOFTMAX));
    let (true, Some(input), Some(dtype)) = (asks, node.input(0), node.input(2)) else { return false };
    let dtype = graph.node(dtype);
    let is_kind = matches!(dtype.op.host(), Some(HostOp::Method(name)) if name == "kind");
    let is_own = is_kind && dtype.input(0) == Some(input);
    if is_own {
        graph.node_mut(id).args[2] = Arg::None;
    }
    is_own
}

/// Returns whether the reader computes the same whatever the order of elements in memory.
fn is_blind(graph: &Graph, reader: NodeId) -> bool {
    let reader = graph.node(reader);
    match &reader.op {
        Op::Call(op) => op.row().is_some_and(|row| !row.reads_strides) && op.effect() == Effect::Pure,
        Op::CallModule(_) => true,
        op if op.is_host() => !reads_strides(reader),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn dropout_in_inference_is_nothing() {
        check(
            RemoveIdentity,
            r#"graph f(self: module<Net>, x: tensor, train: rust<bool>) {
              %drop = get_attr[drop](self) : module<Dropout>
              %a = call_module[Dropout](%drop, x) : tensor
              %b = call_module[Identity](%drop, %a) : tensor
              %c = dropout(%b, 0.5, false) : tensor
              %d = dropout(%c, 0.5, true) : tensor
              %e = dropout(%d, 0.5, train) : tensor
              yield %e
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, train: rust<bool>) {
                  %drop = get_attr[drop](self) : module<Dropout>
                  %d = dropout(x, 0.5, true) : tensor
                  %e = dropout(%d, 0.5, train) : tensor
                  yield %e
                }"#]],
        );
    }

    /// What the caller gets may be his own tensor, with a history: by a view, or by a layer that hands its input on.
    #[test]
    fn detach_stays_where_the_caller_may_get_an_input() {
        check(
            RemoveIdentity,
            r#"graph f(self: module<Net>, x: tensor) {
              %a = relu(x) : tensor
              %b = detach(%a) : tensor
              %c = narrow(x, 0, 0, 1) : tensor
              %d = detach(%c) : tensor
              %e = detach(x) : tensor
              %g = neg(%e) : tensor
              %id = get_attr[id](self) : module<Identity>
              %h = call_module[Identity](%id, x) : tensor
              %i = detach(%h) : tensor
              yield %b, %d, %g, %i
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %a = relu(x) : tensor
                  %c = narrow(x, 0, 0, 1) : tensor
                  %d = detach(%c) : tensor
                  %g = neg(x) : tensor
                  %id = get_attr[id](self) : module<Identity>
                  %i = detach(x) : tensor
                  yield %a, %d, %g, %i
                }"#]],
        );
    }

    #[test]
    fn a_softmax_in_its_own_dtype_needs_not_ask() {
        check(
            RemoveIdentity,
            r#"graph f(x: tensor, y: tensor) {
              %own = host.method["kind"](x) : rust<::fx_runtime::Kind>
              %a = softmax(x, -1, %own) : tensor
              %b = softmax(y, -1, %own) : tensor
              yield %a, %b
            }"#,
            &expect![[r#"
                graph f(x: tensor, y: tensor) {
                  %own = host.method["kind"](x) : rust<::fx_runtime::Kind>
                  %a = softmax(x, -1, none) : tensor
                  %b = softmax(y, -1, %own) : tensor
                  yield %a, %b
                }"#]],
        );
    }

    #[test]
    fn contiguous_stays_where_it_keeps_an_input_apart() {
        check(
            RemoveIdentity,
            r#"graph f(x: tensor, y: tensor) {
              %a = transpose(x, 0, 1) : tensor
              %b = contiguous(%a) : tensor
              %c = view(%b, [-1]) : tensor
              %d = transpose(y, 0, 1) : tensor
              %e = contiguous(%d) : tensor
              %g = view(%e, [-1]) : tensor
              %w = add_(y, 1)
              %h = relu(%g) : tensor
              yield %c, %h
            }"#,
            &expect![[r#"
                graph f(x: tensor, y: tensor) {
                  %a = transpose(x, 0, 1) : tensor
                  %b = contiguous(%a) : tensor
                  %c = view(%b, [-1]) : tensor
                  %d = transpose(y, 0, 1) : tensor
                  %e = contiguous(%d) : tensor
                  %g = view(%e, [-1]) : tensor
                  %w = add_(y, 1)
                  %h = relu(%g) : tensor
                  yield %c, %h
                }"#]],
        );
    }

    #[test]
    fn contiguous_stays_where_the_order_in_memory_is_seen() {
        check(
            RemoveIdentity,
            r#"graph f(x: tensor) {
              %a = transpose(x, 1, 2) : tensor
              %b = contiguous(%a) : tensor
              %c = contiguous(%b) : tensor
              %d = shallow_clone(%c) : tensor
              %e = view(%d, [1, -1]) : tensor
              %k = exp(%e) : tensor
              %g = contiguous(%a) : tensor
              %s = host.method["stride"](%g)
              %n = neg(x) : tensor
              %h = contiguous(%n) : tensor
              %w = add_(%h, 1)
              %i = contiguous(%k) : tensor
              yield %i, %s, %h
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = transpose(x, 1, 2) : tensor
                  %e = view(%a, [1, -1]) : tensor
                  %k = exp(%e) : tensor
                  %g = contiguous(%a) : tensor
                  %s = host.method["stride"](%g)
                  %n = neg(x) : tensor
                  %h = contiguous(%n) : tensor
                  %w = add_(%h, 1)
                  %i = contiguous(%k) : tensor
                  yield %i, %s, %h
                }"#]],
        );
    }
}
