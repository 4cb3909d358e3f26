//! Merges equal nodes: of two that compute the same, the second goes if the first is visible where it stands.
//!
//! Equal are nodes without effects that have the same op and arguments in the same epoch, between two writes. A value
//! that is written to later is a thing of its own, and so is each of several results that the caller gets. Values of
//! Rust types that a reader may take away are left alone too.

use std::rc::Rc;

use std::collections::HashMap;

use fx_ir::{Arg, Effect, Graph, HostOp, Node, NodeId, NodeMap, NodeSet, Op, RegionId, Type};

use crate::analysis::Effects;
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct CommonSubexpressions;

impl Pass for CommonSubexpressions {
    described! {
        "common-subexpressions": "merges nodes that compute the same";
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let returned = graph.yield_of(graph.body()).map(|end| graph.node(end).inputs().collect());
        let mut merge = Merge {
            graph,
            effects: Effects::of(graph, cx),
            returned: returned.unwrap_or_default(),
            seen: Vec::new(),
            same: Vec::new(),
            stands_for: NodeMap::default(),
        };
        merge.region(graph.body());
        let same = merge.same;
        for &(second, first) in &same {
            graph.replace_all_uses_with(second, &Arg::Node(first));
        }
        for &(second, _) in same.iter().rev() {
            // Nothing reads it any more.
            let _ = graph.erase_node(second);
        }
        Changed::from(!same.is_empty())
    }
}

struct Merge<'g> {
    graph: &'g Graph,
    effects: Rc<Effects>,
    returned: NodeSet,
    /// The nodes so far of each region that is open, outermost first.
    seen: Vec<HashMap<Key<'g>, NodeId>>,
    /// The node that goes, and the one that stays in its place.
    same: Vec<(NodeId, NodeId)>,
    stands_for: NodeMap<NodeId>,
}

/// The properties that two equal nodes have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key<'g> {
    op: &'g Op,
    args: Vec<Word<'g>>,
    epoch: Option<u32>,
}

/// An argument, comparable: floats by their bits.
#[derive(PartialEq, Eq, Hash)]
enum Word<'g> {
    Node(NodeId),
    Int(i64),
    Float(u64),
    Bool(bool),
    Str(&'g str),
    None,
    Path(&'g str),
    List(Vec<Word<'g>>),
    Expr(&'g HostOp, Vec<Word<'g>>),
    Named(&'g str, Box<Word<'g>>),
}

impl<'g> Merge<'g> {
    /// Nodes of a region are seen until it ends.
    fn region(&mut self, region: RegionId) {
        self.seen.push(HashMap::new());
        for &id in &self.graph.region(region).nodes {
            if let Some(key) = self.key(id) {
                let known = self.seen.iter().rev().find_map(|seen| seen.get(&key)).copied();
                match (known, self.seen.last_mut()) {
                    (Some(first), _) if !(self.returned.contains(first) && self.returned.contains(id)) => {
                        self.same.push((id, first));
                        self.stands_for.insert(id, first);
                    }
                    (None, Some(seen)) => _ = seen.insert(key, id),
                    _ => {}
                }
            }
            for &inner in &self.graph.node(id).regions {
                self.region(inner);
            }
        }
        self.seen.pop();
    }

    fn key(&self, id: NodeId) -> Option<Key<'g>> {
        let node = self.graph.node(id);
        // A field is the same place at any time, and so is a part of a tuple.
        let is_place = matches!(node.op, Op::GetAttr(_));
        if !is_place && (!is_mergeable(node) || self.effects.is_written(id)) {
            return None;
        }
        let of = |id: NodeId| self.stands_for.get(id).copied().unwrap_or(id);
        let mut args: Vec<Word> = node.args.iter().map(|arg| word(arg, &of)).collect();
        if let Op::Call(op) = &node.op
            && op.row().is_some_and(|row| row.commutative)
            && let [Word::Node(a), Word::Node(b), ..] = &mut args[..]
            && *a > *b
        {
            std::mem::swap(a, b);
        }
        let mut named: Vec<_> = node.kwargs.iter().collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        args.extend(named.into_iter().map(|(key, arg)| Word::Named(key, Box::new(word(arg, &of)))));
        Some(Key { op: &node.op, args, epoch: self.effects.epoch(id).filter(|_| !is_place) })
    }
}

/// Returns whether one node may compute what several do that are equal to it.
pub(super) fn is_mergeable(node: &Node) -> bool {
    let is_value = !matches!(node.op, Op::Placeholder | Op::Yield) && !node.op.is_control_flow();
    is_value && node.effect() == Effect::Pure && is_shareable(&node.ty)
}

/// May a value of this type have more readers than before? A tensor or a layer is read by reference, a number is copied.
fn is_shareable(ty: &Type) -> bool {
    match ty {
        Type::Tensor(_) | Type::Module(_) => true,
        Type::Rust(name) => fx_ir::scalar::is_scalar(name) || ty.of_runtime().is_some(),
        Type::Tuple(parts) => parts.iter().all(is_shareable),
        Type::Unknown | Type::Option(_) | Type::List(_) => false,
    }
}

fn word<'g>(arg: &'g Arg, of: &impl Fn(NodeId) -> NodeId) -> Word<'g> {
    match arg {
        Arg::Node(id) => Word::Node(of(*id)),
        Arg::Int(value) => Word::Int(*value),
        Arg::Float(value) => Word::Float(value.to_bits()),
        Arg::Bool(value) => Word::Bool(*value),
        Arg::Str(text) => Word::Str(text),
        Arg::None => Word::None,
        Arg::Path(path) => Word::Path(path),
        Arg::List(items) => Word::List(items.iter().map(|item| word(item, of)).collect()),
        Arg::Expr(expr) => Word::Expr(&expr.op, expr.args.iter().map(|arg| word(arg, of)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn equal_nodes_are_one() {
        check(
            CommonSubexpressions,
            r#"graph f(self, x: tensor) {
              %w = get_attr[ws](self) : tensor
              %a = matmul(x, %w) : tensor
              %v = get_attr[ws](self) : tensor
              %b = matmul(x, %v) : tensor
              %c = add(%a, x) : tensor
              %d = add(x, %b) : tensor
              %e = sub(%c, %d) : tensor
              %f = sub(%d, x) : tensor
              %g = mul.Scalar(%f, 2.0) : tensor
              %h = mul.Scalar(%f, 2) : tensor
              %i = add(%g, %h) : tensor
              yield %e, %i
            }"#,
            &expect![[r#"
                graph f(self, x: tensor) {
                  %w = get_attr[ws](self) : tensor
                  %a = matmul(x, %w) : tensor
                  %c = add(%a, x) : tensor
                  %e = sub(%c, %c) : tensor
                  %f = sub(%c, x) : tensor
                  %g = mul.Scalar(%f, 2.0) : tensor
                  %h = mul.Scalar(%f, 2) : tensor
                  %i = add(%g, %h) : tensor
                  yield %e, %i
                }"#]],
        );
    }

    #[test]
    fn only_what_is_visible_is_merged() {
        check(
            CommonSubexpressions,
            r#"graph f(c, x: tensor) {
              %a = if(c) : tensor { %b = neg(x) : tensor ; yield %b } else { %d = neg(x) : tensor ; yield %d }
              %e = neg(x) : tensor
              %g = if(c) : tensor { %h = neg(x) : tensor ; yield %h } else { yield %e }
              yield %a, %e, %g
            }"#,
            &expect![[r#"
                graph f(c, x: tensor) {
                  %a = if(c) : tensor {
                    %b = neg(x) : tensor
                    yield %b
                  } else {
                    %d = neg(x) : tensor
                    yield %d
                  }
                  %e = neg(x) : tensor
                  %g = if(c) : tensor {
                    yield %e
                  } else {
                    yield %e
                  }
                  yield %a, %e, %g
                }"#]],
        );
    }

    #[test]
    fn randomness_and_effects_stay_apart() {
        check(
            CommonSubexpressions,
            r#"graph f(x: tensor) {
              %a = dropout(x, 0.5, true) : tensor
              %b = dropout(x, 0.5, true) : tensor
              %c = add(%a, %b) : tensor
              %p = print(x)
              %q = print(x)
              yield %c
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = dropout(x, 0.5, true) : tensor
                  %b = dropout(x, 0.5, true) : tensor
                  %c = add(%a, %b) : tensor
                  %p = print(x)
                  %q = print(x)
                  yield %c
                }"#]],
        );
    }

    #[test]
    fn a_write_parts_what_is_read_before_and_after() {
        check(
            CommonSubexpressions,
            r#"graph f(x: tensor) {
              %a = neg(x) : tensor
              %b = neg(x) : tensor
              %w = add_(x, 1)
              %c = neg(x) : tensor
              %d = add(%a, %b) : tensor
              %e = add(%c, %d) : tensor
              yield %e
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = neg(x) : tensor
                  %w = add_(x, 1)
                  %c = neg(x) : tensor
                  %d = add(%a, %a) : tensor
                  %e = add(%c, %d) : tensor
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn what_is_written_to_later_is_a_thing_of_its_own() {
        check(
            CommonSubexpressions,
            r#"graph f(x: tensor) {
              %a = neg(x) : tensor
              %b = neg(x) : tensor
              %v = view(%b, [1]) : tensor
              %w = add_(%v, 1)
              %d = add(%a, %b) : tensor
              yield %d
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = neg(x) : tensor
                  %b = neg(x) : tensor
                  %v = view(%b, [1]) : tensor
                  %w = add_(%v, 1)
                  %d = add(%a, %b) : tensor
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn a_turn_of_a_loop_comes_after_the_writes_of_the_one_before() {
        check(
            CommonSubexpressions,
            r#"graph f(n, x: tensor) {
              %a = neg(x) : tensor
              %r = for["%0"](n, %a) : tensor (i, y: tensor) { %b = neg(x) : tensor ; %w = add_(x, 1) ; yield %b }
              %q = for["%0"](n, %r) : tensor (j, z: tensor) { %c = exp(%a) : tensor ; %d = exp(%a) : tensor ; %e = add(%c, %d) : tensor ; yield %e }
              yield %q
            }"#,
            &expect![[r#"
                graph f(n, x: tensor) {
                  %a = neg(x) : tensor
                  %r = for["%0"](n, %a) : tensor (i, y: tensor) {
                    %b = neg(x) : tensor
                    %w = add_(x, 1)
                    yield %b
                  }
                  %q = for["%0"](n, %r) : tensor (j, z: tensor) {
                    %c = exp(%a) : tensor
                    %e = add(%c, %c) : tensor
                    yield %e
                  }
                  yield %q
                }"#]],
        );
    }

    #[test]
    fn results_are_handed_out_one_by_one() {
        check(
            CommonSubexpressions,
            "graph f(x: tensor) { %a = neg(x) : tensor ; %b = neg(x) : tensor ; yield %a, %b }",
            &expect![[r#"
                graph f(x: tensor) {
                  %a = neg(x) : tensor
                  %b = neg(x) : tensor
                  yield %a, %b
                }"#]],
        );
    }
}
