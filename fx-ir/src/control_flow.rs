//! Control flow: what it gives the parameters of its regions, and what it yields.

use crate::{Arg, Graph, NodeId, Op, Type, host::Yields};

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

    /// Returns whether the parameter of a region is bound by a pattern: to an element of what a loop goes over, or to a part of
    /// what is matched.
    pub fn is_bound_by_pattern(&self, param: NodeId) -> bool {
        let owner = self.parent(param);
        self.node(param).op == Op::Placeholder && owner.is_some() && self.carried(param).is_none()
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
            Op::Yield => self.parent(user).is_some_and(|of| self.is_lent_choice(of)),
            _ => self.node(user).args.iter().any(|arg| arg.borrowed().contains(&id)),
        };
        self.node(id).ty.is_tensor() && self.chooses_among_outer(id) && self.users(id).iter().any(is_lent_by)
    }

    /// Returns whether a branch yields values that are computed before it alone.
    pub fn chooses_among_outer(&self, id: NodeId) -> bool {
        self.is_choice_among_outer(id, id)
    }

    /// The values that branches and iterations hand over at the place where `reader`, the end of one of them or a loop that
    /// carries it, takes the value.
    pub fn handed_beside(&self, id: NodeId, reader: NodeId) -> Vec<NodeId> {
        let node = self.node(reader);
        let owner = match node.op {
            Op::Yield => self.parent(reader),
            Op::For(_) | Op::While => Some(reader),
            _ => None,
        };
        let Some(owner) = owner else { return Vec::new() };
        let of = self.node(owner);
        let first = usize::from(matches!(of.op, Op::For(_)));
        let at = |args: &[Arg]| args.iter().position(|arg| arg.node() == Some(id));
        let place = if reader == owner { at(&of.args).and_then(|at| at.checked_sub(first)) } else { at(&node.args) };
        let Some(place) = place else { return Vec::new() };
        let carried = matches!(of.op, Op::For(_) | Op::While).then(|| of.args.get(first + place)).flatten();
        let ends = of.regions.iter().filter_map(|&region| self.yield_of(region));
        let yielded = ends.filter_map(|end| self.node(end).args.get(place));
        let beside = yielded.chain(carried).filter_map(Arg::node);
        beside.filter(|other| *other != id).collect()
    }

    /// The type of what a branch makes of the value that `reader`, the end of one of its arms, hands over.
    pub fn handed_type(&self, id: NodeId, reader: NodeId) -> Option<&Type> {
        let owner = self.parent(reader).filter(|_| self.node(reader).op == Op::Yield).map(|owner| self.node(owner))?;
        let place = self.node(reader).args.iter().position(|arg| arg.node() == Some(id))?;
        match (&owner.op, &owner.ty) {
            (Op::If | Op::Match(_), Type::Tuple(parts)) if self.node(reader).args.len() > 1 => parts.get(place),
            (Op::If | Op::Match(_), ty) => Some(ty),
            _ => None,
        }
    }

    fn is_choice_among_outer(&self, id: NodeId, outermost: NodeId) -> bool {
        let node = self.node(id);
        let is_outer =
            |value: NodeId| self.is_outside(value, outermost) || self.is_choice_among_outer(value, outermost);
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
