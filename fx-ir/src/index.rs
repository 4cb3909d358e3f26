//! Who reads a node, which region it stands in and which node owns a region, kept so that asking costs no walk.
//!
//! A node that was handed out by `node_mut` may have changed in any way, so it counts as *touched*: answers about it
//! are read from the node itself, and the tables catch up once some have gathered. Every answer is exact at
//! any time, and an edit costs what it touches rather than the size of the graph.

use std::collections::BTreeSet;

use crate::{Node, NodeId, RegionId};

/// How many touched nodes may gather before the tables catch up.
const PATIENCE: usize = 16;

/// The tables; `nodes` in the methods below is always the arena of the graph that they describe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    scopes: Vec<Option<RegionId>>,
    inputs: Vec<Vec<NodeId>>,
    readers: Vec<BTreeSet<NodeId>>,
    owners: Vec<Option<NodeId>>,
    touched: BTreeSet<NodeId>,
}

impl Index {
    /// Makes room for a region that nobody owns.
    pub(crate) fn add_region(&mut self) {
        self.owners.push(None);
    }

    /// Makes room for the node that was just appended to the arena.
    pub(crate) fn add_node(&mut self, nodes: &[Option<Node>], id: NodeId, scope: Option<RegionId>) {
        self.scopes.push(scope);
        self.inputs.push(Vec::new());
        self.readers.push(BTreeSet::new());
        self.refresh(nodes, id);
    }

    /// The region the node stands in, as a parameter or in its order.
    pub(crate) fn scope(&self, id: NodeId) -> Option<RegionId> {
        self.scopes.get(id.index()).copied().flatten()
    }

    /// The node now stands there.
    pub(crate) fn set_scope(&mut self, id: NodeId, scope: Option<RegionId>) {
        self.scopes[id.index()] = scope;
    }

    /// The node will change behind our back.
    pub(crate) fn touch(&mut self, nodes: &[Option<Node>], id: NodeId) {
        if self.touched.len() >= PATIENCE {
            for id in std::mem::take(&mut self.touched) {
                self.refresh(nodes, id);
            }
        }
        self.touched.insert(id);
    }

    /// Reads the node again, or forgets it if it was erased.
    pub(crate) fn refresh(&mut self, nodes: &[Option<Node>], id: NodeId) {
        for input in std::mem::take(&mut self.inputs[id.index()]) {
            self.readers[input.index()].remove(&id);
        }
        let Some(node) = &nodes[id.index()] else {
            self.touched.remove(&id);
            return;
        };
        for &region in &node.regions {
            if let Some(owner) = self.owners.get_mut(region.index()) {
                *owner = Some(id);
            }
        }
        let inputs: Vec<NodeId> = node.inputs().filter(|input| input.index() < self.readers.len()).collect();
        for input in &inputs {
            self.readers[input.index()].insert(id);
        }
        self.inputs[id.index()] = inputs;
        self.touched.remove(&id);
    }

    /// Every node of the arena that reads `id`, by number, each once.
    pub(crate) fn readers(&self, nodes: &[Option<Node>], id: NodeId) -> Vec<NodeId> {
        let known = self.readers.get(id.index()).into_iter().flatten().filter(|reader| !self.touched.contains(reader));
        let reads =
            |reader: &&NodeId| nodes[reader.index()].as_ref().is_some_and(|node| node.inputs().any(|i| i == id));
        known.chain(self.touched.iter().filter(reads)).copied().collect()
    }

    /// The node that owns a region.
    pub(crate) fn owner(&self, nodes: &[Option<Node>], region: RegionId) -> Option<NodeId> {
        let owns = |id: &NodeId| nodes[id.index()].as_ref().is_some_and(|node| node.regions.contains(&region));
        let known = self.owners.get(region.index()).copied().flatten();
        known.filter(owns).or_else(|| self.touched.iter().copied().find(owns))
    }
}
