//! Alias analysis: which values may share memory, and so which may change after they were made.

use crate::field_path::{Segment, may_be_same, path_of};
use crate::{Arg, Effect, Graph, NodeId, NodeMap, NodeSet, Op, Type};

/// The nodes that count as writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// In-place ops alone.
    Ops,
    /// In-place ops, and code with an effect of its own, which may write to any tensor that it is handed.
    OpsAndCode,
}

/// The values of a graph that may hold a tensor's memory, and the others from which they may have it.
///
/// A tensor holds some, and what it may be put into: a type of the user's or of another crate's (a struct, a map) holds
/// what flows into it. The model itself does not count: each of its fields is a value of its own.
#[derive(Debug)]
pub struct AliasAnalysis<'g> {
    graph: &'g Graph,
    /// Of each value that may hold memory.
    made_of: NodeMap<Vec<NodeId>>,
    /// The inverse.
    goes_into: NodeMap<Vec<NodeId>>,
}

impl<'g> AliasAnalysis<'g> {
    /// As far as the graph's ops, types and regions tell.
    pub fn of(graph: &'g Graph) -> Self {
        let kept = kept(graph);
        let may_hold = |id: &NodeId| graph.node(*id).op != Op::Yield && !graph.node(*id).ty.is_plain();
        let nodes = graph.nodes().into_iter().filter(may_hold);
        let mut left: Vec<_> = nodes.map(|id| (id, may_alias(graph, &kept, id))).collect();
        let mut made_of: NodeMap<Vec<NodeId>> = NodeMap::default();
        loop {
            let before = left.len();
            left.retain(|(id, from)| {
                let holds = is_source(graph, *id) || from.iter().any(|&from| made_of.get(from).is_some());
                if holds {
                    made_of.insert(*id, from.clone());
                }
                !holds
            });
            if left.len() == before {
                break;
            }
        }
        let mut goes_into: NodeMap<Vec<NodeId>> = NodeMap::default();
        for (id, from) in made_of.iter() {
            for &from in from {
                goes_into.get_or_default(from).push(id);
            }
        }
        AliasAnalysis { graph, made_of, goes_into }
    }

    /// Every value that may be written to: what a writer is handed, and what that may have its memory from. Two reads of
    /// what may be one field are one value.
    pub fn written(&self, writers: Writers) -> NodeSet {
        let mut fields: Vec<(NodeId, Vec<Segment<'_>>)> = Vec::new();
        let mut queue = Vec::new();
        for id in self.graph.nodes() {
            let node = self.graph.node(id);
            match (&node.op, node.effect()) {
                (Op::GetAttr(_), _) => fields.push((id, path_of(self.graph, id))),
                (_, Effect::InPlace(position)) => queue.extend(node.input(position)),
                (_, Effect::Io) if writers == Writers::OpsAndCode => queue.extend(node.inputs()),
                _ => {}
            }
        }
        self.closure(queue, |id| {
            let path = fields.iter().find(|(known, _)| *known == id).map(|(_, path)| path);
            let may_be = |other: &Vec<Segment<'_>>| path.is_some_and(|path| may_be_same(path, other));
            let same = fields.iter().filter(|(_, other)| may_be(other)).map(|(other, _)| *other);
            same.chain(self.made_of.get(id).into_iter().flatten().copied()).collect::<Vec<_>>().into_iter()
        })
    }

    /// Every value whose memory the caller may get with the graph's results, or the next call finds kept.
    pub fn handed_out(&self) -> NodeSet {
        let results = self.graph.yield_of(self.graph.body()).into_iter().flat_map(|end| self.graph.node(end).inputs());
        self.closure(results.chain(kept(self.graph)).collect(), |id| {
            self.made_of.get(id).into_iter().flatten().copied()
        })
    }

    /// Every value whose memory was there before the call: inputs, what is read from the model and its state, and what
    /// regions are given.
    pub fn given(&self) -> NodeSet {
        let is_given = |op: &Op| matches!(op, Op::Placeholder | Op::GetAttr(_)) || op.effect() == Effect::State;
        self.made_of.iter().map(|(id, _)| id).filter(|&id| is_given(&self.graph.node(id).op)).collect()
    }

    /// These values and all that is made of their memory: a write to one view is seen through the next.
    pub fn reached(&self, values: &NodeSet) -> NodeSet {
        self.closure(values.iter().collect(), |id| self.goes_into.get(id).into_iter().flatten().copied())
    }

    /// These values, as far as they hold memory, and those that `next` leads to from them.
    fn closure<I: Iterator<Item = NodeId>>(&self, mut queue: Vec<NodeId>, next: impl Fn(NodeId) -> I) -> NodeSet {
        let mut found = NodeSet::default();
        while let Some(id) = queue.pop() {
            if self.made_of.get(id).is_some() && found.insert(id) {
                queue.extend(next(id));
            }
        }
        found
    }
}

/// Returns whether it has memory of its own, and not from what flows into it.
fn is_source(graph: &Graph, id: NodeId) -> bool {
    fn names_tensor(ty: &Type) -> bool {
        match ty {
            Type::Unknown | Type::Tensor(_) => true,
            Type::Option(inner) | Type::List(inner) => names_tensor(inner),
            Type::Tuple(parts) => parts.iter().any(names_tensor),
            Type::Module(_) | Type::Rust(_) => false,
        }
    }
    let node = graph.node(id);
    let is_input = node.op == Op::Placeholder && graph.scope_of(id) == Some(graph.body());
    names_tensor(&node.ty) || (is_input && !matches!(node.ty, Type::Module(_)))
}

/// What goes into the model's state. What comes out of it may be any of that.
fn kept(graph: &Graph) -> Vec<NodeId> {
    let nodes = graph.nodes().into_iter().map(|id| graph.node(id));
    nodes.filter(|node| node.op.effect() == Effect::State).flat_map(|node| node.inputs().collect::<Vec<_>>()).collect()
}

/// What a parameter of a region is given: a part of what control flow looks at or goes over, or what a loop carries,
/// which is its first value or what an iteration yields at its place.
fn given_to(graph: &Graph, param: NodeId) -> Vec<NodeId> {
    let Some(owner) = graph.parent(param) else { return Vec::new() };
    let node = graph.node(owner);
    match graph.carried(param) {
        Some(given) => given.into_iter().flat_map(Arg::nodes).collect(),
        None if matches!(node.op, Op::For(_) | Op::While) => {
            node.args.first().into_iter().flat_map(Arg::nodes).collect()
        }
        None => node.inputs().collect(),
    }
}

/// What code with an effect of its own may put into a value: all that it is handed with it.
fn filled_with(graph: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let fills = |op: &Op| op.is_host() && op.effect() == Effect::Io;
    let fillers = graph.users(id).into_iter().map(|user| graph.node(user)).filter(move |user| fills(&user.op));
    fillers.flat_map(|user| user.inputs().collect::<Vec<_>>()).filter(move |&input| input != id)
}

/// The values whose memory the node's value may share, because it is made of them.
fn may_alias(graph: &Graph, kept: &[NodeId], id: NodeId) -> Vec<NodeId> {
    let node = graph.node(id);
    match &node.op {
        Op::Placeholder => given_to(graph, id),
        Op::Call(op) if op.is_view() || op.effect() != Effect::Pure => node.inputs().collect(),
        Op::CallModule(kind) if kind.passes_input() => node.inputs().skip(1).collect(),
        Op::Call(_) | Op::CallModule(_) => Vec::new(),
        op if op.is_host() && op.effect() == Effect::State => {
            let read = graph.nodes().into_iter().filter(|&id| graph.node(id).op.effect() == Effect::State);
            read.chain(kept.iter().copied()).collect()
        }
        Op::GetAttr(_) => node.inputs().collect(),
        op if op.is_control_flow() => graph.handed_on(id).flat_map(Arg::nodes).chain(filled_with(graph, id)).collect(),
        _ => node.inputs().chain(filled_with(graph, id)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParseError;

    fn names(graph: &Graph, found: &NodeSet) -> String {
        let nodes = graph.nodes();
        let names = nodes.iter().filter(|id| found.contains(**id)).map(|&id| graph.node(id).name.as_str());
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_state_is_given_may_come_out_of_it() -> Result<(), ParseError> {
        let graph: Graph = r#"graph f(self, cell: rust<"::fx_runtime::frozen::StateCell<Tensor>">, x: tensor) {
          %k = relu(x)
          %w = rust["$0.set($1)", state](%cell, %k) : ()
          %r = rust["$0.value()", state](%cell) : tensor
          %n = neg(x)
          %bump = add_(%r, 1)
          yield %n
        }"#
        .parse()?;
        assert_eq!(
            names(&graph, &AliasAnalysis::of(&graph).written(Writers::OpsAndCode)),
            "k r",
            "in place, through the state"
        );
        assert_eq!(names(&graph, &AliasAnalysis::of(&graph).handed_out()), "k n", "the next call finds it");
        let kept: Graph = r#"graph f(self, cell: rust<"::fx_runtime::frozen::StateCell<Tensor>">, x: tensor) {
          %k = relu(x)
          %w = rust["$0.set($1)", state](%cell, %k) : ()
          yield x
        }"#
        .parse()?;
        assert_eq!(
            names(&kept, &AliasAnalysis::of(&kept).written(Writers::OpsAndCode)),
            "",
            "to keep it is not to write to it"
        );
        Ok(())
    }

    #[test]
    fn what_flows_into_a_type_of_the_users_is_held_by_it() -> Result<(), ParseError> {
        let graph: Graph = r#"graph f(self: module<"crate::Net">, x: tensor) {
          %a = relu(x) : tensor
          %b = relu(x) : tensor
          %n = rust["$0.size()[0]"](x) : rust<i64>
          %w = get_attr[w](self) : tensor
          %p = rust["Pair { left: $0, right: $1 }"](%a, %n) : module<"crate::Pair">
          %left = get_attr[left](%p) : tensor
          %map = rust["HashMap::new()"]() : rust<"::std::collections::HashMap<i64,Tensor>">
          %filled = rust["$0.insert(0, $1)", io](%map, %b) : ?
          %bump = add_(%left, 1) : tensor
          yield %map
        }"#
        .parse()?;
        let sharing = AliasAnalysis::of(&graph);
        let written = sharing.written(Writers::Ops);
        assert_eq!(names(&graph, &written), "a p left", "through the struct; neither the number nor the model");
        assert_eq!(names(&graph, &sharing.reached(&written)), "a p left bump");
        assert_eq!(names(&graph, &sharing.handed_out()), "b map", "what was put in comes out");
        assert_eq!(names(&graph, &sharing.given()), "x w left");
        Ok(())
    }
}
