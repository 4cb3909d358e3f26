//! Conversions of whole numbers that may fail: `i64::try_from(n).unwrap()`, `n.try_into().unwrap()`.

use fx_ir::scalar;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::written_types::typed_params;
use crate::trace::{Result, Tracer, Ty, Val, tensor::operator, types::expectation::Expectation};

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

/// Whether it is a whole number of a known type, or a literal.
pub(in crate::trace) fn is_whole(value: &Val) -> bool {
    operator::is_number(value) && matches!(value.ty(), Ty::Rust(ty) if scalar::is_integer(&ty) || ty == "integer")
}

/// `n.try_into().unwrap()` whose type is known, as a call of `try_from`; `None` for anything else.
pub(in crate::trace) fn by_try_from(call: &syn::ExprMethodCall, expected: Option<&Ty>) -> Option<syn::ExprMethodCall> {
    let Expr::MethodCall(inner) = &*call.receiver else { return None };
    let Some(Ty::Rust(ty)) = expected.filter(|_| is_conversion(call)) else { return None };
    let ty = syn::Ident::new(Some(ty).filter(|ty| scalar::is_integer(ty))?, inner.method.span());
    let number = &inner.receiver;
    let receiver = parse_quote_spanned!(inner.span()=> #ty::try_from(#number));
    Some(syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() })
}

/// Whether it is `n.try_into().unwrap()` and the like, whose type the code around it says.
pub(in crate::trace) fn is_conversion(call: &syn::ExprMethodCall) -> bool {
    let is_ended = ["unwrap", "expect", "unwrap_or"].iter().any(|name| call.method == name);
    is_ended && matches!(&*call.receiver, Expr::MethodCall(inner) if inner.method == "try_into")
}
