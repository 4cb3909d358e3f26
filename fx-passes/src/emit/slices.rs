//! A forward through which the samples of a batch of images go side by side says so, and takes a large one in pieces.

use fx_front::index::Ty;
use fx_ir::Bindings;

use super::{Emitter, graphs::Input, signature::param_name};
use fx_rewrite::analysis::are_side_by_side;

impl Emitter<'_> {
    /// The lines that such a forward begins with.
    pub(super) fn slicing(&self) -> String {
        self.sliced_call().unwrap_or_default()
    }

    fn sliced_call(&self) -> Option<String> {
        let signature = &self.traced.signature;
        let inputs = self.recordable().ok()?;
        let mut free = signature.params.iter().zip(&inputs).filter(|(_, input)| !matches!(input, Input::Fixed));
        let (Some((batch, Input::Tensor)), None) = (free.next(), free.next()) else { return None };
        let graph = self.inlined;
        let node = *graph.region(graph.body()).params.get(usize::from(signature.has_receiver))?;
        let is_plain = batch.is_ref && !batch.is_mut() && !batch.borrows && signature.output.ty == Ty::Tensor;
        if !is_plain || !are_side_by_side(graph, &Bindings::of(graph, signature.has_receiver), node) {
            return None;
        }
        let names: Vec<String> = signature.params.iter().map(param_name).collect();
        let (batch, names, name) = (param_name(batch), names.join(", "), &signature.name);
        Some(format!(
            "if let Some(microbatches) = self.frame.microbatches({batch}) {{
                return microbatches.run(|{batch}| self.try_{name}({names}));
            }}"
        ))
    }
}
