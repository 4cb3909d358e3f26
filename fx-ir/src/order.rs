//! The order of execution as numbers, so that "before" and "can be read here" are comparisons.

use crate::{Graph, NodeId, RegionId};

/// The positions of a graph's live nodes at the time of the query; an edit does not change them.
#[derive(Clone, Debug)]
pub struct BlockOrder {
    /// By node: its number, the last number inside its own regions, and the last number of the region it stands in.
    spans: Vec<Option<Span>>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    at: usize,
    ready: usize,
    until: usize,
}

impl Graph {
    /// Numbers the live nodes in the order of [`Graph::nodes`].
    pub fn block_order(&self) -> BlockOrder {
        let mut order = BlockOrder { spans: vec![None; self.nodes.len()] };
        order.number(self, self.body(), 0);
        order
    }
}

impl BlockOrder {
    /// The node's number, from 0; `None` if it was not live.
    pub fn position(&self, id: NodeId) -> Option<usize> {
        self.span(id).map(|span| span.at)
    }

    /// Returns whether `first` comes before `second` in the text.
    pub fn is_before(&self, first: NodeId, second: NodeId) -> bool {
        matches!((self.span(first), self.span(second)), (Some(a), Some(b)) if a.at < b.at)
    }

    /// Returns whether `reader` may read `value`: it has been computed on every way there, and is still in scope.
    pub fn is_visible(&self, value: NodeId, reader: NodeId) -> bool {
        let (Some(value), Some(reader)) = (self.span(value), self.span(reader)) else { return false };
        value.ready < reader.at && reader.at <= value.until
    }

    fn span(&self, id: NodeId) -> Option<Span> {
        self.spans.get(id.index()).copied().flatten()
    }

    /// Numbers a region from `next` on; returns the first number after it.
    fn number(&mut self, graph: &Graph, region: RegionId, mut next: usize) -> usize {
        let members = || graph.region(region).params.iter().chain(&graph.region(region).nodes);
        for &id in members() {
            let at = next;
            next += 1;
            for &inner in &graph.node(id).regions {
                next = self.number(graph, inner, next);
            }
            self.spans[id.index()] = Some(Span { at, ready: next - 1, until: 0 });
        }
        for &id in members() {
            if let Some(span) = &mut self.spans[id.index()] {
                span.until = next - 1;
            }
        }
        next
    }
}
