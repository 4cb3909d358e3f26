//! `value.into()`, by what the code around it asks for.

use syn::spanned::Spanned;

use crate::syntax::written_types::typed_params;
use crate::trace::{Result, Tracer, Ty, Val, types::expectation::Expectation};

impl Tracer<'_> {
    /// `value.into()`, where the code around it asks for an option of the tensor that it is, or for a struct of the crate's with
    /// a `From` for it; `None` for any other call.
    pub(in crate::trace) fn converted_value(
        &mut self,
        value: &Val,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        if call.method != "into" || !call.args.is_empty() {
            return Ok(None);
        }
        if value.ty() == Ty::Tensor && self.expects_tensor_option(expected) {
            return Ok(Some(Val::Some(Box::new(value.clone()))));
        }
        match self.own_conversion(value, expected) {
            Some(from) => self.inline(from, None, vec![value.clone()], call.span()).map(Some),
            None => Ok(None),
        }
    }

    /// The `From` of the crate's own that makes such a struct of the value.
    fn own_conversion(&self, value: &Val, expected: Option<&Expectation>) -> Option<usize> {
        let (wanted @ Ty::Struct(_), given) = (self.expected_ty(expected?), value.ty()) else { return None };
        let is_it = |id: &usize| {
            let function = &self.index.fns[*id];
            let of = function.owner.as_ref().map(|owner| self.index.ty(&function.module, None, owner));
            let takes = typed_params(&function.sig).next();
            function.sig.ident == "from"
                && function.of_trait.as_deref() == Some("From")
                && of.as_ref() == Some(&wanted)
                && takes.is_some_and(|param| self.index.ty(&function.module, None, &param.ty) == given)
        };
        (0..self.index.fns.len()).find(is_it)
    }
}
