//! Whether the elements of a list that the forward has made are tensors or references to tensors.

use std::collections::BTreeSet;

use fx_ir::{Arg, Graph, HostOp, NodeId, Op};

use crate::trace::{RefKind, RefKinds, Tracer, Ty};

impl Tracer<'_> {
    /// How an element of that type is held which is taken out of the list by value.
    pub(in crate::trace) fn kinds_in(&self, list: NodeId, element: &Ty) -> RefKinds {
        match element {
            Ty::Tensor if self.lists_references(list) => RefKinds::All(RefKind::Ref),
            Ty::Tensor | Ty::Tuple(_) => self.element_kinds(list).unwrap_or(RefKinds::All(RefKind::Value)),
            _ => RefKinds::All(RefKind::Value),
        }
    }

    /// How an element of the list is held that is taken by value, as what the list was filled with tells; `None` where nothing
    /// does.
    fn element_kinds(&self, list: NodeId) -> Option<RefKinds> {
        let (mut open, mut seen) = (vec![list], BTreeSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let known = self.facts.part_kinds(id).cloned();
            if let Some(kinds) = known.or_else(|| first_item(&self.graph, id).map(kinds_of)) {
                return Some(kinds);
            }
            open.extend(same_lists(&self.graph, id));
        }
        None
    }
}

/// An element that the list is made with, or that is put into it.
fn first_item(graph: &Graph, list: NodeId) -> Option<&Arg> {
    let node = graph.node(list);
    let is_made = matches!(node.op.host(), Some(HostOp::Vec | HostOp::Array));
    let pushed = |user: NodeId| match (graph.node(user).op.host(), graph.node(user).args.as_slice()) {
        (Some(HostOp::Mutate(name)), [Arg::Node(into), item]) if name == "push" && *into == list => Some(item),
        _ => None,
    };
    let made = node.args.first().filter(|_| is_made);
    made.or_else(|| graph.users(list).into_iter().find_map(pushed))
}

/// The lists that control flow makes this one of: what a loop carries, and what regions hand over.
fn same_lists(graph: &Graph, list: NodeId) -> Vec<NodeId> {
    let handed_at = |owner: NodeId, at: usize| {
        let node = graph.node(owner);
        let first = usize::from(matches!(node.op, Op::For(_)));
        let begun = Some(first + at).filter(|_| matches!(node.op, Op::For(_) | Op::While));
        let begun = begun.and_then(|at| node.args.get(at));
        let ends = node.regions.iter().filter_map(|&region| graph.yield_of(region));
        ends.filter_map(|end| graph.node(end).args.get(at)).chain(begun).filter_map(Arg::node).collect()
    };
    let node = graph.node(list);
    match (&node.op, node.input(0)) {
        (op, _) if op.is_control_flow() => handed_at(list, 0),
        (Op::TupleGet(at), Some(whole)) if graph.node(whole).op.is_control_flow() => handed_at(whole, *at),
        (Op::Placeholder, _) => graph.carried(list).into_iter().flatten().filter_map(Arg::node).collect(),
        _ => Vec::new(),
    }
}

/// How a variable would hold what the operand is, which the list owns.
fn kinds_of(item: &Arg) -> RefKinds {
    match item {
        Arg::Expr(expr) if expr.op == HostOp::Tuple => RefKinds::Each(expr.args.iter().map(kinds_of).collect()),
        item if item.is_reference() => RefKinds::All(RefKind::Ref),
        _ => RefKinds::All(RefKind::Value),
    }
}
