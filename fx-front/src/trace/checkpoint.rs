//! What is taken back where an expression fails halfway.
//!
//! A checkpoint holds all that tracing an expression may change and that a second attempt would see: the nodes that are
//! appended and those that are edited in place, the variables, what is known of values, and the notes. What stays is what
//! was found out about the model itself ([`Tracer::found`]), and the count of names that were made up.

use fx_ir::RegionId;

use crate::trace::{Tracer, env::Env};

impl Tracer<'_> {
    /// The point where the trace is.
    pub(in crate::trace) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            region: self.region,
            nodes: self.graph.region(self.region).nodes.len(),
            edits: self.edits.len(),
            opaque: self.opaque.len(),
            parts: self.parts.len(),
            env: self.env.clone(),
            facts: self.facts.mark(),
        }
    }

    /// Takes back every change since the checkpoint.
    pub(in crate::trace) fn rollback(&mut self, mark: Checkpoint) {
        for (id, before) in self.edits.drain(mark.edits..).rev() {
            if self.graph.is_alive(id) {
                *self.graph.node_mut(id) = before;
            }
        }
        self.region = mark.region;
        self.opaque.truncate(mark.opaque);
        self.parts.truncate(mark.parts);
        self.graph.truncate(mark.region, mark.nodes);
        self.env = mark.env;
        self.facts.rollback(mark.facts);
    }
}

/// A point to go back to.
pub(in crate::trace) struct Checkpoint {
    region: RegionId,
    nodes: usize,
    edits: usize,
    opaque: usize,
    parts: usize,
    env: Env,
    facts: usize,
}
