//! A frozen type computes in one of two forms: by the kernels that its code calls, or as a graph on codes of eight bits.

use fx_front::{index::Ty, trace::Param};
use fx_ir::scalar;

use super::{Emitter, entries::Whole, graphs::is_recordable, signature::param_name};

impl Emitter<'_> {
    /// Returns whether the frozen type has a form on codes, and so a field `form`.
    pub(super) fn has_forms(&self) -> bool {
        self.unquantized().is_none()
    }

    /// The struct of the kernels of a type that has forms.
    pub(super) fn kernels(&self) -> String {
        format!("{}Kernels", self.frozen)
    }

    /// Why there is no form on codes, where that is so.
    fn unquantized(&self) -> Option<String> {
        let signature = &self.traced.signature;
        if self.traced.model.is_none() {
            return Some("it is a function".to_owned());
        }
        if self.field.is_some() {
            return Some("it has several entries".to_owned());
        }
        if self.writes_model() {
            return Some(format!("`{}` writes to the model", signature.name));
        }
        if ["graph", "graph_module"].iter().any(|method| self.entries.iter().any(|entry| entry == method)) {
            return Some("it has no instance graph".to_owned());
        }
        if let Some(param) = signature.params.iter().find(|param| param.fixed.is_none() && !is_value(param)) {
            return Some(format!("`{}: {}` is neither a tensor nor a number", param.name, param.written));
        }
        let output = &signature.output;
        if !is_recordable(&output.ty) || output.written.contains('[') {
            return Some(format!("the result, `{}`, is not of tensors alone", output.written));
        }
        let has_generics = !self.index.fns[self.traced.item].sig.generics.params.is_empty();
        has_generics.then(|| format!("`{}` is generic", signature.name))
    }

    /// The lines by which a call finds its kernels, or runs the graph on codes.
    pub(super) fn form(&self) -> String {
        if !self.has_forms() {
            return String::new();
        }
        let free = self.traced.signature.params.iter().filter(|param| param.fixed.is_none());
        let value = |param: &Param| {
            let reference = if param.ty == Ty::Tensor { "&" } else { "" };
            format!("::fx_runtime::graph_module::value({reference}{})", param_name(param))
        };
        let values: Vec<String> = free.map(value).collect();
        format!(
            "let kernels = match &self.form {{
                ::fx_runtime::quant::Form::Packed(kernels) => kernels,
                ::fx_runtime::quant::Form::Quantized(graph) => return graph.run(&scope, &[{}]),
            }};",
            values.join(", ")
        )
    }
}

impl Whole<'_, '_> {
    /// What `freeze` does about quantization parameters: it makes the form on codes, or refuses them.
    pub(super) fn quantized(&self) -> String {
        let first = self.first();
        match first.unquantized() {
            None => format!(
                "if let Some(form) = ::fx_runtime::quant::Form::quantized(&frame, options, self)? {{
                    return Ok({} {{ form, frame }});
                }}",
                first.frozen
            ),
            Some(reason) => {
                format!("::fx_runtime::quant::unquantized({:?}, options, {reason:?})?;", first.graph.name)
            }
        }
    }
}

/// Returns whether a parameter is a tensor, one that may be absent, or a number.
fn is_value(param: &Param) -> bool {
    match &param.ty {
        Ty::Tensor => !param.is_mut(),
        Ty::Option(inner) => {
            **inner == Ty::Tensor && !param.is_ref && param.written.replace(' ', "").contains("Option<&")
        }
        Ty::Rust(name) => scalar::is_scalar(name) && !param.is_mut(),
        _ => false,
    }
}
