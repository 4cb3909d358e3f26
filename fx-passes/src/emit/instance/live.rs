//! What the live model knows before any input is there.

use fx_ir::{Binding, HostOp, NodeId, Op};

use super::Walk;

impl Walk<'_, '_> {
    /// Returns whether the value is there before any input is. Tensors are recorded even then, as torch.fx has them.
    pub(super) fn is_live(&self, id: NodeId) -> bool {
        if self.listed.contains(id) {
            return false;
        }
        let node = self.writer.graph().node(id);
        if let (Op::GetAttr(_), Some(base)) = (&node.op, node.input(0)) {
            // What a call writes to is a field of the live model all the same.
            return self.is_live(base);
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
}
