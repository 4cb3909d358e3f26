//! The entries of a frozen type, and what is known of all of them.

use super::emitter::Emitter;

/// All entries of one frozen type; there is at least one.
pub(super) struct Whole<'e, 'a>(pub(super) &'e [Emitter<'a>]);

impl Whole<'_, '_> {
    /// The entry that stands for all where it does not matter which.
    pub(super) fn first(&self) -> &Emitter<'_> {
        &self.0[0]
    }

    /// Whether a call of an entry writes to the frozen model.
    pub(super) fn writes_model(&self) -> bool {
        self.0.iter().any(Emitter::writes_model)
    }

    /// Whether that is the name of one of the entries.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.first().entries.iter().any(|entry| entry == name)
    }

    /// What the frozen type is, for its users.
    pub(super) fn doc(&self) -> String {
        let first = self.first();
        let name = &first.graph.name;
        let what = match first.traced.model {
            Some(_) => format!("[`{name}`] frozen for inference; made by [`{name}::freeze`]."),
            None => format!("`{name}` frozen for inference."),
        };
        let shared = if self.writes_model() {
            "keeps what its calls write to, as the model does, in fields of its own"
        } else {
            "can be shared between threads"
        };
        format!(
            "/// {what}\n///\n/// Weights are folded and packed once. It takes any batch and any size that the model \
             takes, and {shared}.\n"
        )
    }
}
