//! The graph itself: an arena of nodes, the regions that order them, and the questions one asks of both.

use std::collections::HashMap;

use crate::ids::GraphId;
use crate::index::Index;
use crate::names::Names;
use crate::python_names::PYTHON_NAMES;
use crate::{Arg, Meta, Node, NodeId, Op, Origin, RegionId, Type};

/// A function over tensors and host values.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The name of what was traced: `ResNet18`.
    pub name: String,
    pub(crate) id: GraphId,
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) regions: Vec<Region>,
    pub(crate) index: Index,
    pub(crate) names: Names,
}

/// A straight line of nodes: parameters first, then nodes in order, the last of which is a [`Op::Yield`].
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// The placeholders that stand for what the region is given.
    pub params: Vec<NodeId>,
    /// The nodes in order of execution.
    pub nodes: Vec<NodeId>,
}

impl Region {
    /// Its nodes in order, parameters first.
    pub fn members(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.params.iter().chain(&self.nodes).copied()
    }
}

impl Graph {
    /// An empty graph with an empty body.
    pub fn new(name: impl Into<String>) -> Graph {
        let mut graph = Graph {
            name: name.into(),
            id: GraphId::fresh(),
            nodes: Vec::new(),
            regions: Vec::new(),
            index: Index::default(),
            names: Names::default(),
        };
        graph.add_region();
        graph
    }

    /// The outermost region.
    pub fn body(&self) -> RegionId {
        RegionId(0)
    }

    /// A node that is alive.
    ///
    /// # Panics
    /// If it was erased: an id that outlives its node is a mistake of the caller's.
    #[allow(clippy::expect_used, reason = "a stale id is a broken invariant, not an input")]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes[id.index()].as_ref().expect("the node was erased")
    }

    /// A node that is alive, to be changed in place.
    ///
    /// # Panics
    /// If it was erased.
    #[allow(clippy::expect_used, reason = "a stale id is a broken invariant, not an input")]
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.index.hand_out(&self.nodes, id);
        self.nodes[id.index()].as_mut().expect("the node was erased")
    }

    /// Returns whether it is a node of this graph that has not been erased.
    pub fn is_alive(&self, id: NodeId) -> bool {
        id.graph == self.id && self.nodes.get(id.index()).is_some_and(Option::is_some)
    }

    /// A number that every edit makes larger: of two moments with one number, the graph was the same at both. Two graphs of
    /// one number are copies of each other, or empty.
    pub fn revision(&self) -> u64 {
        self.index.last_edit
    }

    /// A region.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// A new region that belongs to no node yet.
    pub fn add_region(&mut self) -> RegionId {
        self.regions.push(Region::default());
        self.index.add_region();
        RegionId(u32::try_from(self.regions.len() - 1).unwrap_or(u32::MAX))
    }

    /// A new region that is the last one of `owner`.
    pub fn add_region_to(&mut self, owner: NodeId) -> RegionId {
        let region = self.add_region();
        self.node_mut(owner).regions.push(region);
        region
    }

    /// Appends a parameter to a region; the graph's own inputs are the parameters of its body.
    pub fn add_param(&mut self, region: RegionId, name: &str, ty: Type, origin: Origin) -> NodeId {
        let name = self.fresh_name(name);
        self.add_named_param(region, name, ty, origin)
    }

    /// Appends a parameter whose name is already its own.
    pub(crate) fn add_named_param(&mut self, region: RegionId, name: String, ty: Type, origin: Origin) -> NodeId {
        let (args, kwargs, regions) = (Vec::new(), Vec::new(), Vec::new());
        let meta = Meta::default();
        let id = self.create_node(Node { op: Op::Placeholder, args, kwargs, regions, ty, name, origin, meta });
        self.index.set_scope(id, Some(region));
        self.regions[region.index()].params.push(id);
        id
    }

    /// Makes a node that stands nowhere yet, under a fresh name.
    pub(crate) fn create(&mut self, op: Op, args: Vec<Arg>, name: &str, ty: Type, origin: Origin) -> NodeId {
        let name = self.fresh_name(name);
        let (kwargs, regions, meta) = (Vec::new(), Vec::new(), Meta::default());
        self.create_node(Node { op, args, kwargs, regions, ty, name, origin, meta })
    }

    /// Puts a node whose name is already its own into the arena.
    pub(crate) fn create_node(&mut self, node: Node) -> NodeId {
        self.nodes.push(Some(node));
        let number = u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX);
        let id = NodeId { number, graph: self.id };
        self.index.add_node(&self.nodes, id);
        id
    }

    /// A name that no node bears yet: `base` if it is free, and else as torch.fx numbers them, `relu`, `relu_1`,
    /// `relu_2`; a base that ends in a number goes on from there, `features_0`, `features_1`.
    pub fn fresh_name(&mut self, base: &str) -> String {
        self.names.fresh(base)
    }

    /// From now on names that mean something in Python are not given to nodes, as torch.fx does not: a sum is `sum_1`.
    pub fn reserve_python_names(&mut self) {
        self.names.reserve(PYTHON_NAMES);
    }

    /// The name that was asked for when the node got its own: the user's `ys` where there is an `ys` already and the node
    /// is `ys_3`.
    pub fn base_name(&self, id: NodeId) -> &str {
        self.names.asked(&self.node(id).name)
    }

    /// Gives a node the name `base`, or the next free one; returns the name that it got.
    pub fn rename(&mut self, id: NodeId, base: &str) -> String {
        let name = self.fresh_name(base);
        self.node_mut(id).name.clone_from(&name);
        name
    }

    /// The region in whose order the node stands (a parameter stands in none).
    pub fn region_of(&self, id: NodeId) -> Option<RegionId> {
        self.scope_of(id).filter(|_| self.position(id).is_some())
    }

    /// The index of the node among the nodes of its region (a parameter is none of them).
    pub fn position(&self, id: NodeId) -> Option<usize> {
        self.index.position(&self.region(self.scope_of(id)?).nodes, id)
    }

    /// The region the node belongs to, be it one of its parameters or one of its nodes.
    pub fn scope_of(&self, id: NodeId) -> Option<RegionId> {
        self.index.scope(id)
    }

    /// The control-flow node that a region belongs to; the body belongs to none.
    pub fn owner_of(&self, region: RegionId) -> Option<NodeId> {
        self.index.owner(&self.nodes, region)
    }

    /// The control-flow node in one of whose regions the node lies; what lies in the body has none.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.scope_of(id).and_then(|region| self.owner_of(region))
    }

    /// Returns whether `region` lies inside a region of `id`, at any depth.
    pub fn is_inside(&self, region: RegionId, id: NodeId) -> bool {
        self.scopes(region).any(|region| self.owner_of(region) == Some(id))
    }

    /// The region and those around it, innermost first.
    pub fn scopes(&self, region: RegionId) -> impl Iterator<Item = RegionId> + '_ {
        let outer = |region: &RegionId| self.owner_of(*region).and_then(|owner| self.scope_of(owner));
        std::iter::successors(Some(region), outer).take(self.regions.len())
    }

    /// Returns whether the node can be reached from the body.
    pub fn is_live(&self, id: NodeId) -> bool {
        let scope = self.scope_of(id).filter(|_| self.is_alive(id));
        scope.is_some_and(|scope| self.scopes(scope).last() == Some(self.body()))
    }

    /// Every region that can be reached from the body, outermost first.
    pub fn live_regions(&self) -> Vec<RegionId> {
        let mut out = vec![self.body()];
        let mut next = 0;
        while next < out.len() {
            for &id in &self.region(out[next]).nodes {
                out.extend(&self.node(id).regions);
            }
            next += 1;
        }
        out
    }

    /// Every node in order of execution, a control-flow node before what its regions hold; parameters come first in
    /// their region.
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut out = Vec::new();
        self.collect(self.body(), &mut out);
        out
    }

    fn collect(&self, region: RegionId, out: &mut Vec<NodeId>) {
        out.extend(&self.region(region).params);
        for &id in &self.region(region).nodes {
            out.push(id);
            for &inner in &self.node(id).regions {
                self.collect(inner, out);
            }
        }
    }

    /// The nodes that read `id`, in order of execution, each once.
    pub fn users(&self, id: NodeId) -> Vec<NodeId> {
        let mut users: Vec<NodeId> = self.readers(id).collect();
        if users.len() > 1 {
            users.sort_by_cached_key(|&user| self.path_of(user));
        }
        users
    }

    /// The same in no order, as they are found.
    fn readers(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.index.readers(&self.nodes, id).filter(|&user| self.is_live(user))
    }

    /// The position of a node, outermost first; such paths compare as the order of execution.
    fn path_of(&self, mut id: NodeId) -> Vec<u64> {
        let mut path = vec![self.index.rank(id)];
        while let Some((region, owner)) = self.scope_of(id).and_then(|region| Some((region, self.owner_of(region)?))) {
            let at = (0..).zip(&self.node(owner).regions).find(|&(_, &inner)| inner == region);
            path.extend([at.map_or(0, |(at, _)| at), self.index.rank(owner)]);
            id = owner;
        }
        path.reverse();
        path
    }

    /// Does any node read `id`? Cheaper than asking for them.
    pub fn has_users(&self, id: NodeId) -> bool {
        self.readers(id).next().is_some()
    }

    /// For every node how often it is read, repeats included.
    pub fn use_counts(&self) -> HashMap<NodeId, usize> {
        let mut counts = HashMap::new();
        for id in self.nodes() {
            counts.entry(id).or_insert(0);
            for input in self.node(id).inputs() {
                *counts.entry(input).or_insert(0) += 1;
            }
        }
        counts
    }

    /// The node that ends a region.
    pub fn yield_of(&self, region: RegionId) -> Option<NodeId> {
        let last = *self.region(region).nodes.last()?;
        matches!(self.node(last).op, Op::Yield).then_some(last)
    }

    /// Every node of that opcode and, if one is given, that target, in order of execution: torch.fx's `find_nodes`.
    ///
    /// A target is what the table of [`Graph::print_tabular`] shows: the name of an input, the path of a module or of an
    /// attribute, the name of an op; or of a function what [`Graph::listing`] shows, `operator.add`.
    ///
    /// ```
    /// let graph: fx_ir::Graph = "graph f(x: tensor) { %a = relu(x) ; %b = neg(%a) ; %c = relu(%b) ; yield %c }".parse()?;
    /// assert_eq!(graph.find_nodes("call_method", Some("relu")).len(), 2);
    /// assert_eq!(graph.find_nodes("placeholder", None).len(), 1);
    /// # Ok::<(), fx_ir::ParseError>(())
    /// ```
    pub fn find_nodes(&self, opcode: &str, target: Option<&str>) -> Vec<NodeId> {
        let is_one = |id: &NodeId| {
            let is_target = |target: &str| self.target(*id) == target || self.qualified_target(*id) == target;
            self.node(*id).op.opcode() == opcode && target.is_none_or(is_target)
        };
        self.nodes().into_iter().filter(is_one).collect()
    }
}
