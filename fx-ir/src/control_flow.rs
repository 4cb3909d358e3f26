//! Control flow: what it gives the parameters of its regions, and what it yields.

use crate::{Arg, Graph, NodeId, Op};

impl Graph {
    /// What a loop gives a parameter of its region that it carries: the first value, and what an iteration yields at its
    /// place. `None` where the parameter is bound to an element, or is of no loop.
    pub fn carried(&self, param: NodeId) -> Option<Vec<&Arg>> {
        let region = self.scope_of(param)?;
        let node = self.node(self.owner_of(region)?);
        let first = match node.op {
            Op::For(_) => 1,
            Op::While => 0,
            _ => return None,
        };
        let params = &self.region(region).params;
        let bound = (params.len() + first).saturating_sub(node.args.len());
        let position = params.iter().position(|&other| other == param)?.checked_sub(bound)?;
        let end = node.regions.last().and_then(|&body| self.yield_of(body));
        let next = end.and_then(|end| self.node(end).args.get(position));
        Some(node.args.get(first + position).into_iter().chain(next).collect())
    }

    /// What control flow may hand on: what its regions yield, and where a loop may not run at all, what it carries.
    pub fn handed_on(&self, id: NodeId) -> impl Iterator<Item = &Arg> {
        let node = self.node(id);
        let ends = node.regions.iter().filter_map(|&region| self.yield_of(region));
        let carried = match node.op {
            Op::For(_) => &node.args[1..],
            Op::While => &node.args[..],
            _ => &[],
        };
        ends.flat_map(|end| &self.node(end).args).chain(carried)
    }
}
