//! Which values may change after they were made: those that something writes to, and what may share memory with them.

use std::collections::HashMap;

use crate::{Effect, Graph, ModuleKind, NodeId, NodeSet, Op};

/// Who counts as a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// In-place ops alone.
    Ops,
    /// In-place ops, and code with an effect of its own, which may write to any tensor that it is handed.
    OpsAndCode,
}

impl ModuleKind {
    /// May the layer's result be its input itself?
    pub fn passes_input(&self) -> bool {
        matches!(self.0.as_str(), "Identity" | "Id" | "Dropout" | "Flatten" | "Sequential" | "SequentialT")
    }
}

impl Graph {
    /// Every value that may be written to: what a writer is handed, and what that may share memory with. Two reads of
    /// one field are one value.
    pub fn written_values(&self, writers: Writers) -> NodeSet {
        let mut fields: HashMap<&str, Vec<NodeId>> = HashMap::new();
        let mut queue = Vec::new();
        let nodes = self.nodes();
        for &id in &nodes {
            let node = self.node(id);
            match (&node.op, node.op.effect()) {
                (Op::GetAttr(field), _) => fields.entry(field).or_default().push(id),
                (_, Effect::InPlace(position)) => queue.extend(node.input(position)),
                (_, Effect::Io) if writers == Writers::OpsAndCode => queue.extend(node.inputs()),
                _ => {}
            }
        }
        self.sharing(queue, |field| fields.get(field).into_iter().flatten().copied().collect())
    }

    /// Every value whose memory the caller may get with the graph's results, or the next call finds kept.
    pub fn handed_out_values(&self) -> NodeSet {
        let results = self.yield_of(self.body()).into_iter().flat_map(|end| self.node(end).inputs());
        self.sharing(results.chain(self.kept()).collect(), |_| Vec::new())
    }

    /// These values and all that they may share memory with, because they are made of it; `same_field` are other reads
    /// of a field.
    fn sharing(&self, mut queue: Vec<NodeId>, same_field: impl Fn(&str) -> Vec<NodeId>) -> NodeSet {
        let mut found = NodeSet::default();
        while let Some(id) = queue.pop() {
            if !self.node(id).ty.holds_tensor() || !found.insert(id) {
                continue;
            }
            match &self.node(id).op {
                Op::GetAttr(field) => queue.extend(same_field(field)),
                _ => queue.extend(self.may_alias(id)),
            }
        }
        found
    }

    /// What goes into the model's state. What comes out of it may be any of that.
    fn kept(&self) -> Vec<NodeId> {
        let nodes = self.nodes().into_iter().map(|id| self.node(id));
        nodes
            .filter(|node| node.op.effect() == Effect::State)
            .flat_map(|node| node.inputs().collect::<Vec<_>>())
            .collect()
    }

    /// The same with what comes out of it.
    fn kept_and_read(&self) -> Vec<NodeId> {
        let read = self.nodes().into_iter().filter(|&id| self.node(id).op.effect() == Effect::State);
        read.chain(self.kept()).collect()
    }

    /// What a loop hands from one turn to the next.
    fn carried(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let node = self.node(id);
        let body = node.regions.last().filter(|_| matches!(node.op, Op::For(_) | Op::While));
        let end = body.and_then(|&body| self.yield_of(body));
        end.into_iter().flat_map(|end| self.node(end).inputs())
    }

    /// The values whose memory the node's value may share, because it is made of them.
    fn may_alias(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.node(id);
        match &node.op {
            Op::Placeholder => {
                let owner = self.scope_of(id).and_then(|region| self.owner_of(region));
                owner.into_iter().flat_map(|owner| self.node(owner).inputs().chain(self.carried(owner))).collect()
            }
            Op::Call(op) if op.is_view() || op.effect() != Effect::Pure => node.inputs().collect(),
            Op::CallModule(kind) if kind.passes_input() => node.inputs().skip(1).collect(),
            Op::Call(_) | Op::CallModule(_) => Vec::new(),
            Op::Rust(code) if code.effect == Effect::State => self.kept_and_read(),
            _ => {
                let ends = node.regions.iter().filter_map(|&region| self.yield_of(region));
                ends.flat_map(|end| self.node(end).inputs()).chain(node.inputs()).collect()
            }
        }
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
        let graph: Graph = r#"graph f(self, cell: rust<"Kept">, x: tensor) {
          %k = relu(x)
          %w = rust["$0.set($1)", state](%cell, %k) : ()
          %r = rust["$0.value()", state](%cell) : tensor
          %n = neg(x)
          %bump = add_(%r, 1)
          yield %n
        }"#
        .parse()?;
        assert_eq!(names(&graph, &graph.written_values(Writers::OpsAndCode)), "k r", "in place, through the state");
        assert_eq!(names(&graph, &graph.handed_out_values()), "k n", "the next call finds it");
        let kept: Graph = r#"graph f(self, cell: rust<"Kept">, x: tensor) {
          %k = relu(x)
          %w = rust["$0.set($1)", state](%cell, %k) : ()
          yield x
        }"#
        .parse()?;
        assert_eq!(names(&kept, &kept.written_values(Writers::OpsAndCode)), "", "to keep it is not to write to it");
        Ok(())
    }
}
