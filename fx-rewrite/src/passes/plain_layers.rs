//! The layers that passes fold into: nothing but a layer, of weights that are known at freeze time and read nowhere else.
//!
//! Folding gives such a layer other weights, so nobody else may read the old ones.

use std::rc::Rc;

use fx_ir::{Graph, NodeId};

use crate::analysis::{BindingTimes, Contraction, Effects, SharedWeights};
use crate::pass::PassContext;

/// The facts by which they are found, kept up by the pass that changes the graph.
pub(super) struct PlainLayers {
    pub(super) times: BindingTimes,
    pub(super) effects: Rc<Effects>,
    pub(super) weights: SharedWeights,
}

impl PlainLayers {
    pub(super) fn of(graph: &Graph, cx: &PassContext) -> PlainLayers {
        PlainLayers {
            times: BindingTimes::of(graph, cx),
            effects: Effects::of(graph, cx),
            weights: SharedWeights::of(graph),
        }
    }

    /// The layer at `id`: without an epilogue, frozen, its weight its own.
    pub(super) fn layer_at(&self, graph: &Graph, id: NodeId) -> Option<Contraction> {
        let layer = Contraction::read(graph, id)?;
        let is_plain = [&layer.norm, &layer.add, &layer.act].into_iter().all(Option::is_none);
        (is_plain && layer.is_frozen(&self.times) && self.weights.is_alone(graph, layer.weight)).then_some(layer)
    }

    /// The layer at `id`, if `reader` alone reads it and may take its place.
    pub(super) fn layer_before(&self, graph: &Graph, id: NodeId, reader: NodeId) -> Option<Contraction> {
        self.layer_at(graph, id).filter(|_| self.effects.is_only_reader(graph, reader, id))
    }
}
