//! `save` and `load` of the frozen type: the runtime does it, the graphs are named here.

use std::fmt::Write as _;

use fx_front::key;
use fx_ir::{Graph, Origin};

use super::QUIET;
use super::whole::Whole;

impl Whole<'_, '_> {
    /// The impls by which the frozen type is written to a file and read again, and its own state taken back.
    pub(super) fn state(&self) -> String {
        format!("{}{}", self.saved(), self.reset())
    }

    /// The method that takes back what calls have written.
    fn reset(&self) -> String {
        if !self.is_mut() || self.has_entry("reset_state") {
            return String::new();
        }
        let name = &self.first().frozen;
        format!(
            "{QUIET}
            impl {name} {{
                /// Gives all that calls have written to the values that it had when the model was frozen.
                ///
                /// # Errors
                /// When there is no memory for them.
                pub fn reset_state(&mut self) -> ::fx_runtime::Result<()> {{
                    self.frame.reset_state()
                }}
            }}\n"
        )
    }

    fn saved(&self) -> String {
        if self.has_entry("save") || self.has_entry("load") {
            return String::new();
        }
        let (name, title) = (&self.first().frozen, &self.first().graph.name);
        let graph = format!("{title}#{:016x}", self.fingerprint());
        format!(
            "{QUIET}
            impl {name} {{
                const GRAPH: &'static str = {graph:?};

                /// Writes the folded weights, and all else that a call needs, to a safetensors file.
                ///
                /// # Errors
                /// Names the parts that cannot be saved: values of the program's own that carried code reads.
                pub fn save(&self, path: impl AsRef<::std::path::Path>) -> ::fx_runtime::Result<()> {{
                    ::fx_runtime::frozen::save(self, &self.frame, Self::GRAPH, path.as_ref())
                }}

                /// Reads what [`Self::save`] has written, without the model, on the CPU unless `options` say otherwise.
                ///
                /// # Errors
                /// Refuses a file of another version of fx or of another graph, and one that is damaged.
                pub fn load(
                    path: impl AsRef<::std::path::Path>,
                    options: &::fx_runtime::Freeze,
                ) -> ::fx_runtime::Result<Self> {{
                    ::fx_runtime::frozen::load({title:?}, Self::GRAPH, path.as_ref(), options)
                }}
            }}\n"
        )
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
