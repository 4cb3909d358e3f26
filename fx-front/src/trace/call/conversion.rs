//! `value.into()`, by what the code around it asks for.

use syn::spanned::Spanned;

use crate::index::Function;
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

    /// `chain.collect()`, where the code around it asks for a filled list, or for a struct of the crate's with one
    /// `FromIterator`; `None` for any other.
    pub(in crate::trace) fn collected(
        &mut self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        if let Some(list) = self.filled(call, expected)? {
            return Ok(Some(list));
        }
        let written = call.turbofish.as_ref().and_then(|fish| match fish.args.first() {
            Some(syn::GenericArgument::Type(ty)) => self.written(ty),
            _ => None,
        });
        let Some(wanted) = written.as_ref().or(expected) else { return Ok(None) };
        let Ty::Struct(wanted) = self.expected_ty(wanted) else { return Ok(None) };
        let is_it = |function: &Function| {
            let of = function.owner.as_ref().map(|owner| self.index.ty(&function.module, None, owner));
            function.sig.ident == "from_iter"
                && function.of_trait.as_deref() == Some("FromIterator")
                && of == Some(Ty::Struct(wanted))
        };
        let mut known = (0..self.index.fns.len()).filter(|&id| is_it(&self.index.fns[id]));
        let (Some(from), None) = (known.next(), known.next()) else { return Ok(None) };
        let mark = self.checkpoint();
        if let Ok(Some(chain)) = self.iterator_of(&call.receiver) {
            return self.inline(from, None, vec![chain], call.span()).map(Some);
        }
        self.rollback(mark);
        Ok(None)
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
