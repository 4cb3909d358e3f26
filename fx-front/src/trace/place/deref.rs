//! What a struct of the crate stands for by a `Deref` of its own.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::trace::{OnError, Result, Tracer, Ty, Val};

impl Tracer<'_> {
    /// What the value derefs to; `None` where its type has no `Deref`.
    pub(in crate::trace) fn dereferenced(&mut self, value: &Val, span: Span) -> Option<Result<Val>> {
        let method = self.index.method(&value.ty(), "deref").filter(|_| matches!(value.ty(), Ty::Struct(_)))?;
        Some(self.inline(method, Some(value.clone()), Vec::new(), span))
    }

    /// The same where the field is none of the struct's own.
    pub(in crate::trace) fn deref_for_field(&mut self, value: &Val, name: &str, span: Span) -> Option<Result<Val>> {
        match value.ty() {
            Ty::Struct(owner) if self.index.field(owner, name).is_none() => self.dereferenced(value, span),
            _ => None,
        }
    }

    /// A method of what the value derefs to, where its own type has none of that name.
    pub(in crate::trace) fn method_behind(
        &mut self,
        value: &Val,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Option<Result<Val>> {
        match self.dereferenced(value, call.span())? {
            Ok(behind) => Some(self.on_value(behind, call, errors)),
            Err(fault) => Some(Err(fault)),
        }
    }
}
