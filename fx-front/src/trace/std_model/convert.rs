//! Conversions of whole numbers that may fail: `i64::try_from(n).unwrap()`, `n.try_into().unwrap()`.

use fx_ir::scalar;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::trace::{Ty, Val, tensor::operator};

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
