//! What the entries of a frozen type have in common: the type itself, and the `freeze` that fills it.
//!
//! A type of one entry holds what its calls read. Of several entries each has a struct of its own, and the frozen type
//! holds these: what two of them read alike, the runtime keeps once.

use std::fmt::Write as _;

use super::entries::Whole;
use super::{Emitter, QUIET};

impl Whole<'_, '_> {
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
        let (alias, frame) = (first.alias(), first.short("::fx_runtime::frozen::Frame"));
        let quantized = self.quantized();
        let traceable = match first.traced.model {
            Some(_) => format!("::fx_runtime::frozen_as!({owner}, {name});\n"),
            None => String::new(),
        };
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
                    {alias}
                    use ::fx_runtime::frozen::prelude::*;
                    let frame = {frame}::new({title:?}, options, {model})?;
                    {quantized}
                    let _scope = frame.{freezing}();
                    {lines}
                    Ok({name} {{ {fields} frame }})
                }}
            }}
            {traceable}"
        )
    }

    /// What computes the fields of the frozen type, these, and how that is begun.
    fn parts(&self) -> (String, String, &'static str) {
        if let [one] = self.0 {
            let (lines, fields) = one.freezing();
            if !one.has_forms() {
                return (lines, fields, "freezing");
            }
            let form = format!("::fx_runtime::quant::Form::Packed({} {{ {fields} }})", one.kernels());
            return (lines, format!("form: {form},"), "freezing");
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
