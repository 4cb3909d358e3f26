//! What the live model knows before any input is there.

use fx_ir::{Binding, HostOp, NodeId, Op};

use super::Walk;

impl Walk<'_, '_> {
    /// Returns whether the value is there before any input is. Tensors are recorded even then, as torch.fx has them.
    pub(super) fn is_live(&self, id: NodeId) -> bool {
        if self.listed.contains(id) {
            return false;
        }
        if !self.is_carried_live(id) {
            return false;
        }
        let node = self.writer.graph().node(id);
        if let (Op::GetAttr(_), Some(base)) = (&node.op, node.input(0)) {
            // What a call writes to is a field of the live model all the same.
            return self.is_live(base);
        }
        if self.is_part_of_live(id) {
            return true;
        }
        if node.op.host() == Some(&HostOp::Vec) && node.args.is_empty() {
            // Nothing says what it would hold, so it is no value of the live model.
            return false;
        }
        let early = self.writer.emitter.bindings.get(id) != Binding::Call;
        let made_by_op = matches!(node.op, Op::Call(_) | Op::CallModule(_));
        let inside = node.regions.iter().flat_map(|&region| &self.writer.graph().region(region).nodes);
        let all_inside =
            inside.copied().all(|inner| matches!(self.writer.graph().node(inner).op, Op::Yield) || self.is_live(inner));
        early && !made_by_op && all_inside && node.inputs().all(|input| self.is_live(input))
    }

    /// Returns whether what a loop carries stays a live value in every iteration; anything else is taken for one here.
    fn is_carried_live(&self, id: NodeId) -> bool {
        let graph = self.writer.graph();
        let Some(region) = graph.scope_of(id) else { return true };
        let Some(owner) = graph.owner_of(region).filter(|&owner| matches!(graph.node(owner).op, Op::For(_))) else {
            return true;
        };
        let params = &graph.region(region).params;
        let bound = params.len() + 1 - graph.node(owner).args.len();
        let position = params.iter().position(|&param| param == id).filter(|at| *at >= bound);
        let Some(end) = graph.yield_of(region).filter(|_| position.is_some()) else { return true };
        let next = position.and_then(|at| graph.node(end).args.get(at - bound)?.node());
        let Some(next) = next.filter(|&next| next != id && self.asked.borrow_mut().insert(id)) else { return true };
        let is_live = self.is_live(next);
        self.asked.borrow_mut().remove(&id);
        is_live
    }

    /// Returns whether a loop or a `match` binds it to a part of a live value, which a call may write to.
    fn is_part_of_live(&self, id: NodeId) -> bool {
        let graph = self.writer.graph();
        let Some((region, owner)) = graph.scope_of(id).and_then(|region| Some((region, graph.owner_of(region)?)))
        else {
            return false;
        };
        let (node, params) = (graph.node(owner), &graph.region(region).params);
        let bound = match node.op {
            Op::For(_) => params.len() + 1 - node.args.len(),
            Op::Match(_) => params.len(),
            _ => 0,
        };
        params[..bound].contains(&id) && node.input(0).is_some_and(|subject| self.is_live(subject))
    }
}
