//! Dependencies in a graph's body: the order that data and effects require.

use std::collections::HashMap;

use fx_ir::{Graph, NodeId, Op};

/// The nodes of a body, and for each those that have to run before it.
pub(super) struct Dependencies {
    /// The nodes in order, parameters and yield left out; control flow is one node.
    pub(super) nodes: Vec<NodeId>,
    before: HashMap<NodeId, Vec<NodeId>>,
}

impl Dependencies {
    pub(super) fn of(graph: &Graph) -> Dependencies {
        let is_step = |id: &NodeId| graph.node(*id).op != Op::Yield;
        let nodes: Vec<NodeId> = graph.region(graph.body()).nodes.iter().copied().filter(is_step).collect();
        let mut before = HashMap::new();
        // Nothing moves past a node with an effect: it waits for all since the one before, and all later wait for it.
        let (mut barrier, mut since) = (None, Vec::new());
        for &id in &nodes {
            let mut first: Vec<NodeId> = reads(graph, id);
            first.retain(|read| graph.node(*read).op != Op::Placeholder);
            first.extend(barrier);
            if graph.is_impure(id) {
                first.append(&mut since);
                barrier = Some(id);
            } else {
                since.push(id);
            }
            first.sort_unstable();
            first.dedup();
            before.insert(id, first);
        }
        Dependencies { nodes, before }
    }

    /// The nodes of the body that have to run before this one, each once.
    pub(super) fn before(&self, id: NodeId) -> &[NodeId] {
        self.before.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// The values of the body that a node reads, in order, what its regions read among them.
pub(super) fn reads(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut waiting = vec![id];
    while let Some(at) = waiting.pop() {
        let node = graph.node(at);
        let of_body = node.inputs().filter(|&input| graph.scope_of(input) == Some(graph.body()));
        for input in of_body {
            if !found.contains(&input) {
                found.push(input);
            }
        }
        let inner = node.regions.iter().flat_map(|&region| graph.region(region).nodes.iter().copied());
        waiting.extend(inner.collect::<Vec<_>>().into_iter().rev());
    }
    found
}
