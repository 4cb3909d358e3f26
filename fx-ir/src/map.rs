//! A map and a set over the nodes of one graph, found by a node's number rather than by a hash of it.

use crate::NodeId;

/// A value for some of the nodes of a graph.
#[derive(Clone, Debug)]
pub struct NodeMap<T>(Vec<Option<(NodeId, T)>>);

/// Some of the nodes of a graph.
#[derive(Clone, Debug, Default)]
pub struct NodeSet(NodeMap<()>);

impl<T> Default for NodeMap<T> {
    fn default() -> NodeMap<T> {
        NodeMap(Vec::new())
    }
}

impl<T> NodeMap<T> {
    /// The value of a node, if it has one.
    pub fn get(&self, id: NodeId) -> Option<&T> {
        self.0.get(id.index())?.as_ref().map(|(_, value)| value)
    }

    /// The value of a node, if it has one, to be changed.
    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut T> {
        self.0.get_mut(id.index())?.as_mut().map(|(_, value)| value)
    }

    /// Gives a node a value; yields the one that it had.
    pub fn insert(&mut self, id: NodeId, value: T) -> Option<T> {
        self.place(id).replace((id, value)).map(|(_, value)| value)
    }

    /// Takes the value of a node away.
    pub fn remove(&mut self, id: NodeId) -> Option<T> {
        self.0.get_mut(id.index())?.take().map(|(_, value)| value)
    }

    fn place(&mut self, id: NodeId) -> &mut Option<(NodeId, T)> {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, || None);
        }
        &mut self.0[id.index()]
    }

    /// The nodes that have a value, by number, which is the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &T)> {
        self.0.iter().flatten().map(|(id, value)| (*id, value))
    }
}

impl<T: Default> NodeMap<T> {
    /// The value of a node; one that had none gets the default.
    pub fn get_or_default(&mut self, id: NodeId) -> &mut T {
        &mut self.place(id).get_or_insert_with(|| (id, T::default())).1
    }
}

impl NodeSet {
    /// Returns whether the node is one of them.
    pub fn contains(&self, id: NodeId) -> bool {
        self.0.get(id).is_some()
    }

    /// Takes a node in; returns whether it was not one of them yet.
    pub fn insert(&mut self, id: NodeId) -> bool {
        self.0.insert(id, ()).is_none()
    }

    /// The nodes by number, which is the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().map(|(id, ())| id)
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        let mut set = NodeSet::default();
        for id in nodes {
            set.insert(id);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::GraphId;

    #[test]
    fn holds_what_was_put_in() {
        let graph = GraphId::fresh();
        let node = |number| NodeId { number, graph };
        let [a, b, c] = [4, 1, 0].map(node);
        let mut map = NodeMap::default();
        assert_eq!((map.insert(a, "x"), map.insert(a, "y"), map.insert(b, "z")), (None, Some("x"), None));
        assert_eq!([a, b, c].map(|id| map.get(id).copied()), [Some("y"), Some("z"), None]);
        let mut set: NodeSet = [a, b].into_iter().collect();
        assert_eq!((set.insert(a), set.insert(c)), (false, true));
        assert_eq!(set.iter().collect::<Vec<_>>(), [c, b, a]);
        assert_eq!([a, node(3), node(9)].map(|id| set.contains(id)), [true, false, false]);
    }
}
