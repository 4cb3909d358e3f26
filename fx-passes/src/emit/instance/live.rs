//! What the live model knows before any input is there.

use fx_ir::{Binding, HostOp, NodeId, NodeSet, Op};

use super::Walk;

impl Walk<'_, '_> {
    /// Returns whether the value is there before any input is. Tensors are recorded even then, as torch.fx has them.
    pub(super) fn is_live(&self, id: NodeId) -> bool {
        self.live.get_or_init(|| self.all_live()).contains(id)
    }

    /// The greatest fixed point: what a loop carries is live where that is so in every iteration.
    fn all_live(&self) -> NodeSet {
        let graph = self.writer.graph();
        let params = graph.live_regions().into_iter().flat_map(|region| graph.region(region).params.clone());
        let mut live: NodeSet = params.chain(graph.nodes()).collect();
        loop {
            let (kept, dead): (Vec<NodeId>, Vec<NodeId>) = live.iter().partition(|&id| self.stays_live(id, &live));
            if dead.is_empty() {
                return live;
            }
            live = kept.into_iter().collect();
        }
    }

    /// Returns whether the value is live where these are.
    fn stays_live(&self, id: NodeId, live: &NodeSet) -> bool {
        if self.listed.contains(id) || self.next_of(id).is_some_and(|next| !live.contains(next)) {
            return false;
        }
        let node = self.writer.graph().node(id);
        if let (Op::GetAttr(_), Some(base)) = (&node.op, node.input(0)) {
            // What a call writes to is a field of the live model all the same.
            return live.contains(base);
        }
        if self.is_part_of_live(id, live) {
            return true;
        }
        if node.op.host() == Some(&HostOp::Vec) && node.args.is_empty() {
            // Nothing says what it would hold, so it is no value of the live model.
            return false;
        }
        let early = self.writer.emitter.bindings.get(id) != Binding::Call;
        let made_by_op = matches!(node.op, Op::Call(_) | Op::CallModule(_));
        let inside = node.regions.iter().flat_map(|&region| &self.writer.graph().region(region).nodes);
        let all_inside = inside.copied().all(|inner| match &self.writer.graph().node(inner) {
            end if end.op == Op::Yield => !is_choice(&node.op) || end.inputs().all(|given| live.contains(given)),
            _ => live.contains(inner),
        });
        early && !made_by_op && all_inside && node.inputs().all(|input| live.contains(input))
    }

    /// What the next iteration gets for what a loop carries; `None` of anything else.
    fn next_of(&self, id: NodeId) -> Option<NodeId> {
        let graph = self.writer.graph();
        let region = graph.scope_of(id)?;
        let owner = graph.node(graph.owner_of(region)?);
        let (params, end) = (&graph.region(region).params, graph.yield_of(region)?);
        let bound = bound_by(&owner.op, params.len(), owner.args.len());
        let at = params.iter().position(|&param| param == id)?.checked_sub(bound)?;
        graph.node(end).args.get(at)?.node().filter(|_| matches!(owner.op, Op::For(_)))
    }

    /// Returns whether a loop or a `match` binds it to a part of a live value, which a call may write to.
    fn is_part_of_live(&self, id: NodeId, live: &NodeSet) -> bool {
        let graph = self.writer.graph();
        let Some((region, owner)) = graph.scope_of(id).and_then(|region| Some((region, graph.owner_of(region)?)))
        else {
            return false;
        };
        let (node, params) = (graph.node(owner), &graph.region(region).params);
        params[..bound_by(&node.op, params.len(), node.args.len())].contains(&id)
            && node.input(0).is_some_and(|subject| live.contains(subject))
    }
}

/// How many of a region's parameters, the first, are bound to parts of what the loop or the `match` is over.
fn bound_by(owner: &Op, params: usize, args: usize) -> usize {
    match owner {
        Op::For(_) => params + 1 - args,
        Op::Match(_) => params,
        _ => 0,
    }
}

/// Whether it is a choice, whose arms hand over what may stand around it.
fn is_choice(op: &Op) -> bool {
    matches!(op, Op::If | Op::Match(_))
}
