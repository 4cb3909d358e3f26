//! What the entries of a frozen type have in common: the type itself, and the `freeze` that fills it.
//!
//! A type of one entry holds what its calls read. Of several entries each has a struct of its own, and the frozen type
//! holds these: what two of them read alike, the runtime keeps once.

use std::fmt::Write as _;

use super::names::Names;
use super::{Emitter, QUIET};

/// All entries of one frozen type; there is at least one.
pub(super) struct Whole<'e, 'a>(pub(super) &'e [Emitter<'a>]);

/// The fields that hold the structs of the entries; none where there is one entry.
pub(super) fn fields(entries: &[String]) -> Vec<Option<String>> {
    if let [_] = entries {
        return vec![None];
    }
    let mut names = Names::default();
    for name in ["frame", "options", "self"] {
        names.take(name);
    }
    entries.iter().map(|entry| Some(names.fresh(entry))).collect()
}

/// The struct of an entry that is this field of the frozen type. Its name is one with which that of no other begins.
pub(super) fn struct_of(frozen: &str, field: &str, entries: &[String]) -> String {
    let own = fx_ir::camel(field);
    let names = entries.iter().map(|entry| fx_ir::camel(entry));
    let is_head = names.filter(|name| *name != own).any(|name| name.starts_with(&own));
    format!("{frozen}{own}{}", if is_head { "Entry" } else { "" })
}

impl Whole<'_, '_> {
    /// The entry that stands for all where it does not matter which.
    pub(super) fn first(&self) -> &Emitter<'_> {
        &self.0[0]
    }

    /// Whether a call of an entry writes to the frozen model.
    pub(super) fn is_mut(&self) -> bool {
        self.0.iter().any(|entry| entry.traced.signature.is_mut)
    }

    /// Whether that is the name of one of the entries.
    pub(super) fn has_entry(&self, name: &str) -> bool {
        self.first().entries.iter().any(|entry| entry == name)
    }

    /// The frozen type of several entries; that of one is its struct.
    pub(super) fn types(&self) -> String {
        if let [_] = self.0 {
            return String::new();
        }
        let field = |entry: &Emitter| format!("{}: {},\n", entry.field.clone().unwrap_or_default(), entry.name);
        let fields: String = self.0.iter().map(field).collect();
        let (doc, frozen) = (self.doc(), &self.first().frozen);
        format!(
            "{doc}{QUIET}\n#[derive(Debug, ::fx_runtime::frozen::State)]\n\
             pub struct {frozen} {{ frame: ::fx_runtime::frozen::Frame, {fields} }}\n"
        )
    }

    /// What the frozen type is, for its users.
    pub(super) fn doc(&self) -> String {
        let first = self.first();
        let name = &first.graph.name;
        let what = match first.traced.model {
            Some(_) => format!("[`{name}`] frozen for inference; made by [`{name}::freeze`]."),
            None => format!("`{name}` frozen for inference."),
        };
        let shared = if self.is_mut() {
            "keeps what its calls write to, as the model does, in fields of its own"
        } else {
            "can be shared between threads"
        };
        format!(
            "/// {what}\n///\n/// Weights are folded and packed once. It takes any batch and any size that the model \
             takes, and {shared}.\n"
        )
    }

    /// The impl that makes the frozen type.
    pub(super) fn freeze(&self) -> String {
        let first = self.first();
        let (lines, fields, freezing) = self.parts();
        let name = &first.frozen;
        let (owner, receiver, model) = match first.traced.model {
            Some(_) => (first.owner(), "&self, ", "self"),
            None => (name.clone(), "", "&()"),
        };
        let title = &first.graph.name;
        format!(
            "impl {owner} {{
                /// Folds and packs the weights into a [`{name}`], which computes the same, faster.
                ///
                /// Weights are copied: what is done to this model later does not change the frozen one.
                ///
                /// # Errors
                /// Names the layer and the source line where something cannot be frozen as `options` ask.
                {QUIET}
                #[inline]
                pub fn freeze({receiver}options: &::fx_runtime::Freeze) -> ::fx_runtime::Result<{name}> {{
                    use ::fx_runtime::frozen as fx;
                    use ::fx_runtime::frozen::prelude::*;
                    let frame = fx::Frame::new({title:?}, options, {model})?;
                    let _scope = frame.{freezing}();
                    {lines}
                    Ok({name} {{ {fields} frame }})
                }}
            }}\n"
        )
    }

    /// What computes the fields of the frozen type, these, and how that is begun.
    fn parts(&self) -> (String, String, &'static str) {
        if let [one] = self.0 {
            let (lines, fields) = one.freezing();
            return (lines, fields, "freezing");
        }
        let (mut all, mut fields) = (String::new(), String::new());
        for entry in self.0 {
            let field = entry.field.clone().unwrap_or_default();
            let ((lines, values), name) = (entry.freezing(), &entry.name);
            // Writing to a string cannot fail.
            let _ = writeln!(all, "let {field} = {{ {lines}\n{name} {{ {values} }} }};");
            let _ = write!(fields, "{field}, ");
        }
        (all, fields, "freezing_entries")
    }
}
