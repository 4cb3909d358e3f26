//! The signature of generated methods.

use fx_front::trace::Param;

use super::Emitter;

impl Emitter<'_> {
    /// How the frozen type's methods take it: as the user's forward takes the model.
    pub(super) fn receiver(&self) -> &'static str {
        if self.traced.signature.is_mut { "&mut self" } else { "&self" }
    }
}

/// A parameter's name: the user's, unless generated code has a variable of that name itself.
pub(super) fn param_name(param: &Param) -> String {
    let taken =
        ["scope", "frame", "drop", "fx", "graphs", "recorded", "slices", "kernels"].contains(&param.name.as_str());
    if taken { format!("{}_", param.name) } else { param.name.clone() }
}
