//! What a field can hold for calls, and for how long.

use fx_ir::{Binding, Graph, HostOp, NodeId, Op, RegionId};

use super::Planner;
use crate::emit::holder::Holder;

impl Planner<'_> {
    /// How a field holds the value for calls; `None` where they compute it again.
    pub(super) fn holder_of(&self, id: NodeId) -> Option<Holder> {
        if self.is_constant(id) {
            return Some(Holder::Constant);
        }
        let node = self.graph.node(id);
        // The number of an iteration is known to `freeze` alone, even where the range is written out.
        let is_known =
            self.bindings.get(id) == Binding::Freeze || node.op == Op::Placeholder || self.is_from_control_flow(id);
        Holder::of(node, self.names_of).filter(|_| is_known && !self.is_call(id))
    }

    /// Whether it is a part of the model of which a reference leaves the scope that would hold a copy of it.
    pub(super) fn is_lent_on(&self, id: NodeId, kind: &Holder, reader: RegionId) -> bool {
        matches!(kind, Holder::Captured(_)) && outlives(self.graph, id, self.known_in(id, reader))
    }
}

/// Whether a reference to the value leaves the region, at whose end it is let go of.
pub(in crate::emit) fn outlives(graph: &Graph, id: NodeId, region: RegionId) -> bool {
    let leaves = |user: &NodeId| match &graph.node(*user).op {
        Op::Yield => true,
        Op::Host(host) => matches!(host.op, HostOp::Mutate(_) | HostOp::Assign),
        _ => false,
    };
    region != graph.body() && graph.users(id).iter().any(leaves)
}
