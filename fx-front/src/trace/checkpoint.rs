//! What is taken back where an expression fails halfway.

use fx_ir::RegionId;

use crate::trace::{Tracer, env::Env};

impl Tracer<'_> {
    /// The point where the trace is.
    pub(in crate::trace) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            region: self.region,
            nodes: self.graph.region(self.region).nodes.len(),
            opaque: self.opaque.len(),
            env: self.env.clone(),
        }
    }

    /// Takes back every node that was appended, and every variable that was set, since `mark`.
    pub(in crate::trace) fn rollback(&mut self, mark: Checkpoint) {
        self.region = mark.region;
        self.opaque.truncate(mark.opaque);
        self.graph.truncate(mark.region, mark.nodes);
        self.env = mark.env;
    }
}

/// A point to go back to.
pub(in crate::trace) struct Checkpoint {
    region: RegionId,
    nodes: usize,
    opaque: usize,
    env: Env,
}
