//! Functions that are named where a closure stands: `list.iter().map(Tensor::shallow_clone)` is `map(|item| ..)`.

use quote::format_ident;
use syn::{Expr, ExprMethodCall, parse_quote_spanned, spanned::Spanned};

/// Methods that take a closure of one parameter as their only argument.
const OF_ONE: [&str; 8] = ["map", "for_each", "flat_map", "filter_map", "and_then", "inspect", "any", "all"];

/// The call with closures in place of functions that are named, in it and in the calls that it is made on; `None` where
/// there are none.
pub(in crate::trace) fn with_closures(call: &ExprMethodCall) -> Option<ExprMethodCall> {
    let receiver = match &*call.receiver {
        Expr::MethodCall(inner) => with_closures(inner),
        _ => None,
    };
    let closure = named(call);
    if receiver.is_none() && closure.is_none() {
        return None;
    }
    let mut call = call.clone();
    if let Some(receiver) = receiver {
        call.receiver = Box::new(Expr::MethodCall(receiver));
    }
    if let (Some(closure), Some(arg)) = (closure, call.args.first_mut()) {
        *arg = closure;
    }
    Some(call)
}

/// The closure that calls the function which is the call's only argument.
fn named(call: &ExprMethodCall) -> Option<Expr> {
    let (Some(Expr::Path(path)), 1) = (call.args.first(), call.args.len()) else { return None };
    let is_function = path.path.segments.len() > 1
        && path.path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_lowercase));
    if !is_function || !OF_ONE.iter().any(|name| call.method == name) {
        return None;
    }
    let item = format_ident!("fx_named", span = path.span());
    Some(parse_quote_spanned!(path.span()=> |#item| #path(#item)))
}
