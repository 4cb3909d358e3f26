//! How many tensors a call keeps alive at once: what the printer knows of variables that own one, counted.
//!
//! The count is a bound. Views and results in place have variables of their own, and share the memory of others. Sizes
//! are those of weights and inputs, which no build knows.

use std::fmt;

use fx_ir::NodeId;

use super::{
    labels::label,
    writer::{Phase, Writer},
};

/// The most tensors of its own that a call has alive at once: inputs, weights, lists and what opaque code or a kernel
/// needs for itself not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// How many.
    pub tensors: usize,
    /// The operation that has just made the last of them.
    pub label: String,
    /// The source lines of it, each file named once: `src/lib.rs:12,14`.
    pub lines: Option<String>,
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Peak { tensors, label, lines } = self;
        let plural = if *tensors == 1 { "tensor of its own is" } else { "tensors of its own are" };
        write!(f, "at most {tensors} {plural} alive at once")?;
        match lines {
            Some(lines) => write!(f, ", at `{label}` ({lines})"),
            None => Ok(()),
        }
    }
}

impl Writer<'_, '_> {
    /// Counts the tensors that are alive when the node has been computed: those that variables own, the ones that were
    /// moved into the computation, and `more`.
    pub(super) fn weigh(&mut self, id: NodeId, more: usize) {
        let moved = std::mem::take(&mut self.moved);
        let Some(scope) = self.graph().scope_of(id).filter(|_| self.phase == Phase::Call) else { return };
        let open: Vec<_> = self.graph().scopes(scope).collect();
        let is_alive = |region| open.contains(&region);
        let owned = self.owned.values().filter(|owned| owned.region.is_some_and(is_alive)).count();
        let tensors = owned + moved + more;
        if tensors > self.peak.tensors {
            let node = self.graph().node(id);
            self.peak = Peak { tensors, label: label(node), lines: node.origin.lines() };
        }
    }
}
