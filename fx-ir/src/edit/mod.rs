//! The edits: insert, move, erase, replace, copy, splice. Each keeps the order, the scopes and the readers consistent.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use crate::{Arg, Graph, Node, NodeId, Op, Origin, Region, RegionId, Type};

/// A place where nodes are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Right before a node, in its region; before a parameter means at the region's start.
    Before(NodeId),
    /// At the end of a region.
    End(RegionId),
}

/// The reason why an edit was refused; nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The node of this name is a parameter, which belongs to its region.
    Parameter(String),
    /// The anchor stands inside the node or region that would be moved.
    Inside(String),
    /// The region has a parameter of this name that is read; replace it first.
    ParamRead(String),
    /// The region does not end in a yield.
    NoYield,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Parameter(name) => write!(f, "`{name}` is a parameter and cannot be moved"),
            EditError::Inside(name) => write!(f, "`{name}` stands inside what would be moved before it"),
            EditError::ParamRead(name) => write!(f, "the parameter `{name}` of the region is still read"),
            EditError::NoYield => write!(f, "the region does not end in a yield"),
        }
    }
}

impl std::error::Error for EditError {}

/// A region taken out of a graph with all that it holds, ready to be pasted.
struct Cutting {
    params: Vec<(NodeId, Node)>,
    nodes: Vec<(NodeId, Node, Vec<Cutting>)>,
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
    /// The names of the users, if there are some; nothing is changed then.
    pub fn erase_node(&mut self, id: NodeId) -> Result<(), Vec<String>> {
        if self.has_users(id) {
            return Err(self.users(id).into_iter().map(|user| self.node(user).name.clone()).collect());
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

    /// Copies one node of `source` with its regions; what `map` knows is read from there, and it learns the copies.
    pub fn node_copy(&mut self, source: &Graph, id: NodeId, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> NodeId {
        let cutting = source.cut_node(id);
        self.paste_node(cutting, map, spot)
    }

    /// Copies the body of `source`, which is inlining: `map` says what its parameters stand for, and a parameter that
    /// it does not know becomes a parameter of the region at `spot`. Returns what `source` yields, as seen from here.
    pub fn graph_copy(&mut self, source: &Graph, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        self.paste(source.cut(source.body()), map, spot)
    }

    /// Copies a region of this graph (unrolling a loop, say); the same as [`Graph::graph_copy`], but what `map` does
    /// not know and does not stand in the region is read where it is.
    pub fn region_copy(&mut self, region: RegionId, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        self.paste(self.cut(region), map, spot)
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

    fn cut(&self, region: RegionId) -> Cutting {
        let Region { params, nodes } = self.region(region);
        Cutting {
            params: params.iter().map(|&id| (id, self.node(id).clone())).collect(),
            nodes: nodes.iter().map(|&id| self.cut_node(id)).collect(),
        }
    }

    fn cut_node(&self, id: NodeId) -> (NodeId, Node, Vec<Cutting>) {
        let node = self.node(id).clone();
        let regions = node.regions.iter().map(|&region| self.cut(region)).collect();
        (id, node, regions)
    }

    fn paste(&mut self, cutting: Cutting, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        let region = match spot {
            Spot::Before(anchor) => self.scope_of(anchor).unwrap_or(self.body()),
            Spot::End(region) => region,
        };
        for (id, param) in cutting.params {
            if let std::collections::btree_map::Entry::Vacant(entry) = map.entry(id) {
                entry.insert(Arg::Node(self.add_param(region, &param.name, param.ty, param.origin)));
            }
        }
        let mut yielded = Vec::new();
        for (id, node, regions) in cutting.nodes {
            if node.op == Op::Yield {
                yielded = node.args.iter().map(|arg| mapped(arg, map)).collect();
            } else {
                self.paste_node((id, node, regions), map, spot);
            }
        }
        yielded
    }

    fn paste_node(
        &mut self,
        (old, node, regions): (NodeId, Node, Vec<Cutting>),
        map: &mut BTreeMap<NodeId, Arg>,
        spot: Spot,
    ) -> NodeId {
        let args = node.args.iter().map(|arg| mapped(arg, map)).collect();
        let kwargs = node.kwargs.iter().map(|(key, arg)| (key.clone(), mapped(arg, map))).collect();
        let name = self.fresh_name(&node.name);
        let id = self.create_node(Node { args, kwargs, regions: Vec::new(), name, ..node });
        self.place(id, spot);
        map.insert(old, Arg::Node(id));
        for cutting in regions {
            let region = self.add_region_to(id);
            for (param, _) in &cutting.params {
                map.remove(param);
            }
            self.paste_region(cutting, map, region);
        }
        id
    }

    /// Fills the empty region of a copied node, yield included.
    fn paste_region(&mut self, mut cutting: Cutting, map: &mut BTreeMap<NodeId, Arg>, region: RegionId) {
        for (id, param) in std::mem::take(&mut cutting.params) {
            let copy = self.add_param(region, &param.name, param.ty, param.origin);
            map.insert(id, Arg::Node(copy));
        }
        for part in cutting.nodes {
            self.paste_node(part, map, Spot::End(region));
        }
    }
}

fn mapped(arg: &Arg, map: &BTreeMap<NodeId, Arg>) -> Arg {
    arg.map_nodes(&mut |id| map.get(&id).cloned().unwrap_or(Arg::Node(id)))
}
