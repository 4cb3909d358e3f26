//! Who reads a node, where it stands and which node owns a region, kept so that asking costs no walk.
//!
//! Where a node stands is a number that grows along its region; what is put between two nodes gets one between theirs,
//! and where there is none the region is numbered anew. The node that was handed out last by `node_mut` may have changed
//! in any way: answers about it are read from the node itself, and its row is written when the next one is handed out.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Node, NodeId, RegionId};

/// The distance between the numbers of nodes that are put one behind the other.
const GAP: u64 = 1 << 32;

/// The tables; `nodes` in the methods below is always the arena of the graph that they describe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    scopes: Vec<Option<RegionId>>,
    ranks: Vec<u64>,
    inputs: Vec<Vec<NodeId>>,
    readers: Vec<BTreeSet<NodeId>>,
    owners: Vec<Option<NodeId>>,
    handed_out: Option<NodeId>,
    /// The number of the last edit, which no edit of another graph has.
    pub(crate) last_edit: u64,
}

/// The number of an edit: larger than those of all before.
fn next_edit() -> u64 {
    static EDITS: AtomicU64 = AtomicU64::new(1);
    EDITS.fetch_add(1, Ordering::Relaxed)
}

impl Index {
    /// Makes room for a region that nobody owns.
    pub(crate) fn add_region(&mut self) {
        self.owners.push(None);
    }

    /// Makes room for the node that was just appended to the arena.
    pub(crate) fn add_node(&mut self, nodes: &[Option<Node>], id: NodeId) {
        self.scopes.push(None);
        self.ranks.push(0);
        self.inputs.push(Vec::new());
        self.readers.push(BTreeSet::new());
        self.refresh(nodes, id);
    }

    /// The region the node stands in, as a parameter or in its order.
    pub(crate) fn scope(&self, id: NodeId) -> Option<RegionId> {
        self.scopes.get(id.index()).copied().flatten()
    }

    /// The node is now a parameter of the region, or stands nowhere.
    pub(crate) fn set_scope(&mut self, id: NodeId, scope: Option<RegionId>) {
        self.last_edit = next_edit();
        self.scopes[id.index()] = scope;
    }

    /// The node is now number `at` of the region with that `order`.
    pub(crate) fn place(&mut self, region: RegionId, order: &[NodeId], at: usize) {
        self.last_edit = next_edit();
        let id = order[at];
        self.scopes[id.index()] = Some(region);
        let before = at.checked_sub(1).map_or(0, |before| self.rank(order[before]));
        let rank = match order.get(at + 1) {
            Some(&after) => before + (self.rank(after) - before) / 2,
            None => before + GAP,
        };
        self.ranks[id.index()] = rank;
        if rank == before {
            for (&id, rank) in order.iter().zip((1..).map(|number| number * GAP)) {
                self.ranks[id.index()] = rank;
            }
        }
    }

    /// A number that grows along the nodes of a region.
    pub(crate) fn rank(&self, id: NodeId) -> u64 {
        self.ranks[id.index()]
    }

    /// The index of the node among the nodes of its region.
    pub(crate) fn position(&self, order: &[NodeId], id: NodeId) -> Option<usize> {
        let at = order.partition_point(|&other| self.rank(other) < self.rank(id));
        (order.get(at) == Some(&id)).then_some(at)
    }

    /// The node will change behind our back.
    pub(crate) fn hand_out(&mut self, nodes: &[Option<Node>], id: NodeId) {
        self.last_edit = next_edit();
        if let Some(last) = self.handed_out.replace(id).filter(|&last| last != id) {
            self.refresh(nodes, last);
        }
    }

    /// Reads the node again, or forgets it if it was erased.
    pub(crate) fn refresh(&mut self, nodes: &[Option<Node>], id: NodeId) {
        self.last_edit = next_edit();
        self.handed_out = self.handed_out.filter(|&last| last != id);
        for input in std::mem::take(&mut self.inputs[id.index()]) {
            self.readers[input.index()].remove(&id);
        }
        let Some(node) = &nodes[id.index()] else { return };
        for &region in &node.regions {
            if let Some(owner) = self.owners.get_mut(region.index()) {
                *owner = Some(id);
            }
        }
        let inputs: Vec<NodeId> =
            node.inputs().filter(|input| input.graph == id.graph && input.index() < self.readers.len()).collect();
        for input in &inputs {
            self.readers[input.index()].insert(id);
        }
        self.inputs[id.index()] = inputs;
    }

    /// Every node of the arena that reads `id`, each once.
    pub(crate) fn readers(&self, nodes: &[Option<Node>], id: NodeId) -> impl Iterator<Item = NodeId> {
        let reads = |node: &Node| node.inputs().any(|input| input == id);
        let last = self.handed_out;
        let known =
            self.readers.get(id.index()).into_iter().flatten().copied().filter(move |&reader| Some(reader) != last);
        known.chain(last.filter(|last| nodes[last.index()].as_ref().is_some_and(reads)))
    }

    /// The node that owns a region.
    pub(crate) fn owner(&self, nodes: &[Option<Node>], region: RegionId) -> Option<NodeId> {
        let owns = |id: &NodeId| nodes[id.index()].as_ref().is_some_and(|node| node.regions.contains(&region));
        let known = self.owners.get(region.index()).copied().flatten();
        known.filter(owns).or_else(|| self.handed_out.filter(owns))
    }
}
