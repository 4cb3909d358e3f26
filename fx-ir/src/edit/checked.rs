//! Edits as users make them: each is checked and refused with a reason, and then nothing is changed.
//!
//! Ids may be of erased nodes or of other graphs, and what a node is to read must be computed before it.

use super::{EditError, Spot};
use crate::{Arg, Graph, Node, NodeId, Op};

impl Graph {
    /// A node.
    ///
    /// # Errors
    /// [`EditError::Erased`] or [`EditError::OtherGraph`] if it is no node of this graph.
    pub fn try_node(&self, id: NodeId) -> Result<&Node, EditError> {
        let (node, graph) = (format!("{id:?}"), self.name.clone());
        if id.graph != self.id {
            return Err(EditError::OtherGraph { node, graph });
        }
        self.nodes.get(id.index()).and_then(Option::as_ref).ok_or(EditError::Erased { node, graph })
    }

    /// The node behind this one in its region, parameters being first.
    pub fn next(&self, id: NodeId) -> Option<NodeId> {
        self.neighbour(id, |at| at.checked_add(1))
    }

    /// The node before this one in its region, parameters being first.
    pub fn prev(&self, id: NodeId) -> Option<NodeId> {
        self.neighbour(id, |at| at.checked_sub(1))
    }

    fn neighbour(&self, id: NodeId, step: impl Fn(usize) -> Option<usize>) -> Option<NodeId> {
        let region = self.region(self.scope_of(self.try_node(id).ok().map(|_| id)?)?);
        let at = match self.position(id) {
            Some(at) => region.params.len() + at,
            None => region.params.iter().position(|&param| param == id)?,
        };
        region.members().nth(step(at)?)
    }

    /// Moves `id` with its regions right before `anchor`, be it in another region; before a parameter means at the
    /// region's start.
    ///
    /// # Errors
    /// [`EditError::Order`] if what it reads or what reads it does not allow that, [`EditError::Parameter`] or
    /// [`EditError::End`] if it is one, [`EditError::Inside`] if `anchor` stands in one of its regions; those of
    /// [`Graph::try_node`].
    pub fn prepend(&mut self, anchor: NodeId, id: NodeId) -> Result<(), EditError> {
        self.try_node(anchor)?;
        self.move_checked(id, anchor, Spot::Before(anchor))
    }

    /// Moves `id` with its regions right behind `anchor`, as [`Graph::prepend`] does before it.
    ///
    /// # Errors
    /// Those of [`Graph::prepend`], and [`EditError::End`] if nothing comes after `anchor`.
    pub fn append(&mut self, anchor: NodeId, id: NodeId) -> Result<(), EditError> {
        let node = self.try_node(anchor)?;
        if node.op == Op::Yield {
            return Err(EditError::End(node.name.clone()));
        }
        let spot = self.spot_after(anchor);
        if spot == Spot::Before(id) { Ok(()) } else { self.move_checked(id, anchor, spot) }
    }

    fn move_checked(&mut self, id: NodeId, anchor: NodeId, spot: Spot) -> Result<(), EditError> {
        let node = self.try_node(id)?;
        match node.op {
            _ if id == anchor => return Ok(()),
            Op::Placeholder => return Err(EditError::Parameter(node.name.clone())),
            Op::Yield => return Err(EditError::End(node.name.clone())),
            _ => {}
        }
        if self.scope_of(anchor).is_some_and(|scope| self.is_inside(scope, id)) {
            return Err(EditError::Inside(self.node(anchor).name.clone()));
        }
        let back = self.spot_after(id);
        self.unplace(id);
        self.place(id, spot);
        let readers = self.users(id);
        let checked = std::iter::once(id).chain(self.inner_nodes(id)).chain(readers);
        let result = checked.collect::<Vec<_>>().into_iter().try_for_each(|reader| self.check_reads(reader));
        if result.is_err() {
            self.unplace(id);
            self.place(id, back);
        }
        result
    }

    /// Inserts an argument at a position, behind the last at the latest.
    ///
    /// # Errors
    /// [`EditError::Order`] if its value is not computed before the node, [`EditError::Position`] if there are fewer
    /// arguments; those of [`Graph::try_node`], for the node as for the argument.
    pub fn insert_arg(&mut self, id: NodeId, position: usize, arg: impl Into<Arg>) -> Result<(), EditError> {
        let arg = arg.into();
        self.check_position(id, position, 1)?;
        self.check_arg(id, &arg)?;
        self.node_mut(id).args.insert(position, arg);
        Ok(())
    }

    /// Replaces the argument at a position.
    ///
    /// # Errors
    /// Those of [`Graph::insert_arg`].
    pub fn update_arg(&mut self, id: NodeId, position: usize, arg: impl Into<Arg>) -> Result<(), EditError> {
        let arg = arg.into();
        self.check_position(id, position, 0)?;
        self.check_arg(id, &arg)?;
        self.node_mut(id).args[position] = arg;
        Ok(())
    }

    /// Replaces the argument of that name, or adds it.
    ///
    /// # Errors
    /// Those of [`Graph::insert_arg`].
    pub fn update_kwarg(&mut self, id: NodeId, name: &str, arg: impl Into<Arg>) -> Result<(), EditError> {
        let arg = arg.into();
        self.try_node(id)?;
        self.check_arg(id, &arg)?;
        let kwargs = &mut self.node_mut(id).kwargs;
        match kwargs.iter_mut().find(|(key, _)| key == name) {
            Some((_, value)) => *value = arg,
            None => kwargs.push((name.to_owned(), arg)),
        }
        Ok(())
    }

    /// Lets every user of `old` read `new` instead, but for `new` itself; returns those that do.
    ///
    /// # Errors
    /// [`EditError::Order`] if one of them comes before `new`; those of [`Graph::try_node`].
    pub fn try_replace_all_uses_with(&mut self, old: NodeId, new: impl Into<Arg>) -> Result<Vec<NodeId>, EditError> {
        let new = new.into();
        self.try_node(old)?;
        let users: Vec<NodeId> = self.users(old).into_iter().filter(|&user| new.node() != Some(user)).collect();
        new.nodes().try_for_each(|id| self.try_node(id).map(drop))?;
        users.iter().try_for_each(|&user| self.check_arg(user, &new))?;
        self.replace_all_uses_with(old, &new);
        Ok(users)
    }

    fn check_position(&self, id: NodeId, position: usize, beyond: usize) -> Result<(), EditError> {
        let node = self.try_node(id)?;
        let count = node.args.len();
        let is_there = position < count + beyond;
        if is_there { Ok(()) } else { Err(EditError::Position { node: node.name.clone(), position, count }) }
    }

    /// Checks that a node may read an argument.
    fn check_arg(&self, reader: NodeId, arg: &Arg) -> Result<(), EditError> {
        arg.nodes().try_for_each(|value| {
            let input = self.try_node(value)?.name.clone();
            let is_readable = self.can_read(value, reader);
            if is_readable { Ok(()) } else { Err(EditError::Order { node: self.node(reader).name.clone(), input }) }
        })
    }

    /// Checks that a node may read what it reads.
    pub(super) fn check_reads(&self, id: NodeId) -> Result<(), EditError> {
        self.node(id).inputs().try_for_each(|input| self.check_arg(id, &Arg::Node(input)))
    }

    /// Returns whether a value is computed before a node, and in scope there.
    fn can_read(&self, value: NodeId, reader: NodeId) -> bool {
        let Some(scope) = self.scope_of(value) else { return false };
        let outwards = |id: &NodeId| self.parent(*id);
        let mut around = std::iter::successors(Some(reader), outwards);
        // The node that stands in the value's own region: the reader, or what it is in.
        let Some(at) = around.find(|&id| self.scope_of(id) == Some(scope)) else { return false };
        match (self.position(value), self.position(at)) {
            (None, Some(_)) => true,
            (Some(value), Some(at)) => value < at,
            _ => false,
        }
    }

    /// All nodes in the regions of a node.
    pub(crate) fn inner_nodes(&self, id: NodeId) -> Vec<NodeId> {
        let mut out = Vec::new();
        let mut regions = self.node(id).regions.clone();
        while let Some(region) = regions.pop() {
            for inner in self.region(region).members() {
                out.push(inner);
                regions.extend(&self.node(inner).regions);
            }
        }
        out
    }
}
