//! The edits: insert, move, erase, replace, copy, splice. Each keeps the order, the scopes and the readers consistent.

mod checked;
mod copy;
mod cursor;
mod error;
#[cfg(test)]
mod tests;

use crate::{Arg, Graph, NodeId, Op, Origin, Region, RegionId, Type};
pub use cursor::Cursor;
pub use error::EditError;

/// A place where nodes are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Right before a node, in its region; before a parameter means at the region's start.
    Before(NodeId),
    /// At the end of a region.
    End(RegionId),
}

impl Graph {
    /// Appends a node to a region.
    pub fn push(&mut self, region: RegionId, op: Op, args: Vec<Arg>, name: &str, ty: Type, origin: Origin) -> NodeId {
        let id = self.create(op, args, name, ty, origin);
        self.place(id, Spot::End(region));
        id
    }

    /// Inserts a node right before `anchor`, in the same region; before a parameter means at the region's start.
    pub fn insert_before(
        &mut self,
        anchor: NodeId,
        op: Op,
        args: Vec<Arg>,
        name: &str,
        ty: Type,
        origin: Origin,
    ) -> NodeId {
        let id = self.create(op, args, name, ty, origin);
        self.place(id, Spot::Before(anchor));
        id
    }

    /// Inserts a node right after `anchor`, in the same region; after a parameter means at the region's start.
    pub fn insert_after(
        &mut self,
        anchor: NodeId,
        op: Op,
        args: Vec<Arg>,
        name: &str,
        ty: Type,
        origin: Origin,
    ) -> NodeId {
        let id = self.create(op, args, name, ty, origin);
        let spot = self.spot_after(anchor);
        self.place(id, spot);
        id
    }

    /// Moves a node with its regions right before `anchor`, be it in another region. What it reads must be visible
    /// there and its users must come after; `lint` checks that.
    ///
    /// # Errors
    /// If the node is a parameter, or `anchor` stands inside one of its own regions.
    pub fn move_before(&mut self, id: NodeId, anchor: NodeId) -> Result<(), EditError> {
        if id == anchor {
            return Ok(());
        }
        if self.node(id).op == Op::Placeholder {
            return Err(EditError::Parameter(self.node(id).name.clone()));
        }
        if self.scope_of(anchor).is_some_and(|scope| self.is_inside(scope, id)) {
            return Err(EditError::Inside(self.node(anchor).name.clone()));
        }
        self.unplace(id);
        self.place(id, Spot::Before(anchor));
        Ok(())
    }

    /// Lets every user of `old` read `new` instead; `new` itself, if it reads `old`, goes on doing so.
    pub fn replace_all_uses_with(&mut self, old: NodeId, new: &Arg) {
        let users: Vec<NodeId> =
            self.index.readers(&self.nodes, old).filter(|&user| new.node() != Some(user)).collect();
        for user in users {
            self.replace_input_with(user, old, new);
        }
    }

    /// Lets `user` read `new` wherever it reads `old`.
    pub fn replace_input_with(&mut self, user: NodeId, old: NodeId, new: &Arg) {
        if let Some(node) = &mut self.nodes[user.index()] {
            node.args_mut().for_each(|arg| arg.replace(old, new));
        }
        self.index.refresh(&self.nodes, user);
    }

    /// Takes back everything that was appended to a region after its first `len` nodes; what took part in it goes too.
    pub fn truncate(&mut self, region: RegionId, len: usize) {
        while let Some(&last) = self.region(region).nodes.get(len..).and_then(<[NodeId]>::last) {
            self.erase_forced(last);
        }
    }

    /// Erases a node that nobody reads, and the regions it owns.
    ///
    /// # Errors
    /// [`EditError::InUse`] with the names of the users, if there are some; those of [`Graph::try_node`].
    pub fn erase_node(&mut self, id: NodeId) -> Result<(), EditError> {
        let node = self.try_node(id)?;
        if self.has_users(id) {
            let users = self.users(id).into_iter().map(|user| self.node(user).name.clone()).collect();
            return Err(EditError::InUse { node: node.name.clone(), users });
        }
        self.erase_forced(id);
        Ok(())
    }

    /// Erases, last first, every node that `keep` refuses and that nobody reads by then; parameters and yields stay.
    /// Returns how many were erased.
    pub fn retain(&mut self, mut keep: impl FnMut(&Graph, NodeId) -> bool) -> usize {
        let mut erased = 0;
        for id in self.nodes().into_iter().rev() {
            let fixed = !self.is_alive(id) || matches!(self.node(id).op, Op::Placeholder | Op::Yield);
            if !fixed && !keep(self, id) && self.erase_node(id).is_ok() {
                erased += 1;
            }
        }
        erased
    }

    fn erase_forced(&mut self, id: NodeId) {
        self.unplace(id);
        for region in self.node(id).regions.clone() {
            let Region { params, nodes } = std::mem::take(&mut self.regions[region.index()]);
            nodes.into_iter().chain(params).for_each(|inner| self.erase_forced(inner));
        }
        self.nodes[id.index()] = None;
        self.index.refresh(&self.nodes, id);
    }

    /// Moves the nodes of a region in front of `anchor`, usually the node that owns it (an `if` whose condition is
    /// known), and erases the region's yield. Returns what it yielded.
    ///
    /// # Errors
    /// If a parameter of the region is read, if it ends in no yield, or if `anchor` stands inside it.
    pub fn splice_region(&mut self, region: RegionId, anchor: NodeId) -> Result<Vec<Arg>, EditError> {
        let end = self.yield_of(region).ok_or(EditError::NoYield)?;
        if let Some(&param) = self.region(region).params.iter().find(|&&param| self.has_users(param)) {
            return Err(EditError::ParamRead(self.node(param).name.clone()));
        }
        if self.scope_of(anchor).is_some_and(|scope| self.scopes(scope).any(|around| around == region)) {
            return Err(EditError::Inside(self.node(anchor).name.clone()));
        }
        let yielded = self.node(end).args.clone();
        self.erase_forced(end);
        for id in std::mem::take(&mut self.regions[region.index()].nodes) {
            self.place(id, Spot::Before(anchor));
        }
        Ok(yielded)
    }

    /// Puts a node that stands nowhere into the order.
    pub(crate) fn place(&mut self, id: NodeId, spot: Spot) {
        let region = match spot {
            Spot::Before(anchor) => self.scope_of(anchor).unwrap_or(self.body()),
            Spot::End(region) => region,
        };
        let at = match spot {
            Spot::Before(anchor) => self.position(anchor).unwrap_or(0),
            Spot::End(_) => self.region(region).nodes.len(),
        };
        let nodes = &mut self.regions[region.index()].nodes;
        nodes.insert(at, id);
        self.index.place(region, nodes, at);
    }

    /// Takes a node out of the order of its region, or out of its parameters.
    fn unplace(&mut self, id: NodeId) {
        let Some(region) = self.scope_of(id) else { return };
        let at = self.position(id);
        let Region { params, nodes } = &mut self.regions[region.index()];
        match at {
            Some(at) => _ = nodes.remove(at),
            None => params.retain(|&param| param != id),
        }
        self.index.set_scope(id, None);
    }

    fn spot_after(&self, anchor: NodeId) -> Spot {
        let region = self.scope_of(anchor).unwrap_or(self.body());
        let next = self.position(anchor).map_or(0, |at| at + 1);
        self.region(region).nodes.get(next).map_or(Spot::End(region), |&node| Spot::Before(node))
    }
}
