//! Control flow: what it gives the parameters of its regions, and what it yields.

use crate::{Arg, Graph, NodeId, Op, host::Yields};

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

    /// Returns whether something takes a reference to the tensor that a branch chooses among tensors of its surroundings,
    /// so that it has to be one of them and no other handle, which would not live as long as they do.
    pub fn is_lent_choice(&self, id: NodeId) -> bool {
        let is_lent_by = |&user: &NodeId| match self.node(user).op {
            Op::Yield => {
                self.scope_of(user).and_then(|arm| self.owner_of(arm)).is_some_and(|of| self.is_lent_choice(of))
            }
            _ => self.node(user).args.iter().any(|arg| arg.borrowed().contains(&id)),
        };
        self.node(id).ty.is_tensor() && self.chooses_among_outer(id) && self.users(id).iter().any(is_lent_by)
    }

    /// Returns whether a branch yields values that are computed before it alone.
    pub fn chooses_among_outer(&self, id: NodeId) -> bool {
        self.is_choice_among_outer(id, id)
    }

    fn is_choice_among_outer(&self, id: NodeId, outermost: NodeId) -> bool {
        let node = self.node(id);
        let is_outer = |value: NodeId| {
            let is_before = self.scope_of(value).is_some_and(|scope| !self.is_inside(scope, outermost));
            // What a loop carries is another value in the next iteration.
            is_before && self.carried(value).is_none() || self.is_choice_among_outer(value, outermost)
        };
        let yields_outer = |end: NodeId| {
            let args = &self.node(end).args;
            args.len() == 1 && args[0].node().is_some_and(is_outer)
        };
        let is_choice = matches!(node.op, Op::If | Op::Match(_));
        is_choice && node.regions.iter().all(|&region| self.yield_of(region).is_some_and(yields_outer))
    }
}

impl Arg {
    /// The values to which the operand itself takes references.
    pub fn borrowed(&self) -> Vec<NodeId> {
        match self {
            Arg::Expr(expr) if expr.op.yields() == Yields::Reference => self.nodes().collect(),
            Arg::Expr(expr) => expr.args.iter().flat_map(Arg::borrowed).collect(),
            Arg::List(items) => items.iter().flat_map(Arg::borrowed).collect(),
            _ => Vec::new(),
        }
    }
}
