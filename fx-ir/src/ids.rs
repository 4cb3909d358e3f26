//! Typed ids: a node is never confused with a region, nor either with a number, nor with a node of another graph.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names one [`Node`](crate::Node) of one graph; it stays valid until the node is erased. A clone of a graph has the same
/// ids, [`Graph::deep_copy`](crate::Graph::deep_copy) has others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    pub(crate) number: u32,
    pub(crate) graph: GraphId,
}

/// Names one [`Region`](crate::Region) of one graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub(crate) u32);

/// Tells graphs apart within a process; nothing that is written depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GraphId(u32);

impl GraphId {
    /// One that no graph has.
    pub(crate) fn fresh() -> GraphId {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        GraphId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.number as usize
    }
}

impl RegionId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.number)
    }
}

impl fmt::Debug for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}
