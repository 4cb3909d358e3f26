//! The signature of generated methods.

use fx_front::{index::Ty, trace::Param};

use super::Emitter;

impl Emitter<'_> {
    /// How the frozen type's methods take it: as the user's forward takes the model.
    pub(super) fn receiver(&self) -> &'static str {
        if self.traced.signature.is_mut { "&mut self" } else { "&self" }
    }
}

/// A parameter with its type. One that opaque code may call or write to, `mut f: impl FnMut(&Tensor)`, is `mut`.
pub(super) fn parameter(param: &Param) -> String {
    let may_be_closure = match &param.ty {
        Ty::Unknown => true,
        Ty::Rust(name) => !fx_ir::scalar::is_scalar(name),
        _ => false,
    };
    let is_own = may_be_closure && !param.is_ref && !param.borrows && param.fixed.is_none();
    format!("{}{}: {}", if is_own { "mut " } else { "" }, param_name(param), param.written)
}

/// A parameter's name: the user's, unless generated code has a variable of that name itself.
pub(super) fn param_name(param: &Param) -> String {
    let taken =
        ["scope", "frame", "drop", "fx", "graphs", "recorded", "slices", "kernels"].contains(&param.name.as_str());
    if taken { format!("{}_", param.name) } else { param.name.clone() }
}
