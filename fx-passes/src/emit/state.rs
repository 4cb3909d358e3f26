//! `save` and `load` of the frozen type: the runtime does it, the graphs are named here.

use std::fmt::Write as _;

use fx_front::key;
use fx_ir::{Graph, HostOp, Origin};

use super::{emitter::Emitter, entries::Whole};

impl Emitter<'_> {
    /// Whether calls write to fields of the model: by `&mut self`, to what their cells hold, or in code that is not
    /// understood.
    pub(super) fn writes_model(&self) -> bool {
        let is_cell = |op: &HostOp| matches!(op, HostOp::Cell(_) | HostOp::ForeignCell(_));
        let nodes = self.graph.nodes();
        self.traced.signature.is_mut
            || self.traced.copies_state
            || nodes.into_iter().any(|id| self.graph.node(id).op.host().is_some_and(is_cell))
    }
}

impl Whole<'_, '_> {
    /// The impls by which the frozen type is written to a file and read again, and its own state taken back.
    pub(super) fn state(&self) -> String {
        format!("{}{}", self.saved(), self.reset())
    }

    /// The method that takes back what calls have written.
    fn reset(&self) -> String {
        if !self.writes_model() || self.has_entry("reset_state") {
            return String::new();
        }
        format!("::fx_runtime::reset_state!({});\n", self.first().frozen)
    }

    fn saved(&self) -> String {
        if self.has_entry("save") || self.has_entry("load") {
            return String::new();
        }
        let (name, title) = (&self.first().frozen, &self.first().graph.name);
        let graph = format!("{title}#{:016x}", self.fingerprint());
        format!("::fx_runtime::saved!({name}, {title:?}, {graph:?});\n")
    }

    /// A number for what the entries compute.
    fn fingerprint(&self) -> u64 {
        if let [one] = self.0 {
            return key::fnv(bare(one.inlined).bytes());
        }
        let mut text = String::new();
        for entry in self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", entry.traced.signature.name, bare(entry.inlined));
        }
        key::fnv(text.bytes())
    }
}

/// A graph as text, in which places and names of the source's layers do not count.
fn bare(graph: &Graph) -> String {
    let mut bare = graph.clone();
    for id in bare.nodes() {
        bare.node_mut(id).origin = Origin::default();
    }
    bare.to_string()
}
