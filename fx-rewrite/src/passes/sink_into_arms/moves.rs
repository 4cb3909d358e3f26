//! The moves themselves: into all arms for what reads the result, into those that read it for what was computed before.

use fx_ir::{Arg, Graph, NodeId, Origin, RegionId};

use super::{Sink, SinkIntoArms};
use crate::pass::Pass as _;

impl Sink {
    /// Moves the nodes, which stand in the region of `control`, into its arms; yields whether any moved.
    pub(super) fn sink(&mut self, graph: &mut Graph, control: NodeId, outside: &[NodeId]) -> bool {
        let mut moved = false;
        while let Some(reader) = self.only_reader(graph, control).filter(|reader| outside.contains(reader)) {
            self.sink_reader(graph, control, reader);
            moved = true;
        }
        let order = graph.block_order();
        let mut earlier: Vec<NodeId> = outside.iter().copied().filter(|&id| graph.is_alive(id)).collect();
        earlier.sort_by_key(|&id| order.position(id));
        for id in earlier.into_iter().rev() {
            moved |= self.sink_source(graph, control, id);
        }
        moved
    }

    /// Moves what alone reads the result behind the end of every arm.
    fn sink_reader(&mut self, graph: &mut Graph, control: NodeId, reader: NodeId) {
        // What else the reader reads may stand between the two.
        let _ = graph.move_before(control, reader);
        for arm in graph.node(control).regions.clone() {
            let Some(end) = graph.yield_of(arm) else { continue };
            let result = graph.node(end).args[0].clone();
            let copy = self.copy(graph, reader, end);
            graph.replace_input_with(copy, control, &result);
            graph.node_mut(end).args = vec![Arg::Node(copy)];
        }
        let (name, ty) = (graph.node(reader).name.clone(), graph.node(reader).ty.clone());
        graph.replace_all_uses_with(reader, &Arg::Node(control));
        // Its readers read the result of the arms now.
        let _ = graph.erase_node(reader);
        let node = graph.node_mut(control);
        (node.name, node.ty) = (name, ty);
    }

    /// Moves what is read nowhere but in the arms to the head of those that read it.
    fn sink_source(&mut self, graph: &mut Graph, control: NodeId, id: NodeId) -> bool {
        if !self.is_for_arms(graph, control, id) {
            return false;
        }
        for arm in arms_that_read(graph, control, id) {
            let Some(&head) = graph.region(arm).nodes.first() else { continue };
            let mut readers = graph.users(id);
            readers.retain(|&user| is_within(graph, user, arm));
            let copy = self.copy(graph, id, head);
            for reader in readers {
                graph.replace_input_with(reader, id, &Arg::Node(copy));
            }
        }
        graph.erase_node(id).is_ok()
    }

    /// A copy of a node in front of `anchor`, in an arm.
    fn copy(&mut self, graph: &mut Graph, id: NodeId, anchor: NodeId) -> NodeId {
        let node = graph.node(id).clone();
        let origin = Origin::merged(SinkIntoArms.name(), [&node.origin]);
        let name = graph.base_name(id).to_owned();
        let copy = graph.insert_before(anchor, node.op, node.args, &name, node.ty, origin);
        graph.node_mut(copy).kwargs = node.kwargs;
        self.facts.learn(graph, copy, id);
        copy
    }

    /// Returns whether the value is computed before `control`, in its region, and read nowhere but in the arms.
    pub(super) fn is_for_arms(&self, graph: &Graph, control: NodeId, id: NodeId) -> bool {
        let node = graph.node(id);
        let beside = id != control && node.regions.is_empty() && graph.scope_of(id) == graph.scope_of(control);
        let users = graph.users(id);
        let inside = |&user: &NodeId| graph.scope_of(user).is_some_and(|scope| graph.is_inside(scope, control));
        let is_node = !matches!(node.op, fx_ir::Op::Placeholder | fx_ir::Op::Yield);
        beside && is_node && self.is_near(id, control) && !users.is_empty() && users.iter().all(inside)
    }
}

/// The arms in which something reads the value, at any depth.
pub(super) fn arms_that_read(graph: &Graph, control: NodeId, id: NodeId) -> Vec<RegionId> {
    let users = graph.users(id);
    let reads = |&arm: &RegionId| users.iter().any(|&user| is_within(graph, user, arm));
    graph.node(control).regions.iter().copied().filter(reads).collect()
}

/// Returns whether the node stands in the region, at any depth.
pub(super) fn is_within(graph: &Graph, id: NodeId, region: RegionId) -> bool {
    graph.scope_of(id).is_some_and(|scope| graph.scopes(scope).any(|one| one == region))
}
