//! Functions that are named where a closure stands: `list.iter().map(Tensor::shallow_clone)` is `map(|item| ..)`.

use quote::format_ident;
use syn::{Expr, ExprMethodCall, Ident, parse_quote_spanned, spanned::Spanned};

use crate::syntax::element_access::ElementAccess;
use crate::syntax::iterator_method::{IteratorMethod, Takes};

/// Returns whether the method takes a closure of one parameter as its only argument.
fn takes_closure_of_one(method: &syn::Ident) -> bool {
    IteratorMethod::of(method).is_some_and(|method| method.takes() == Takes::Closure) || method == "and_then"
}

/// The call with closures in place of functions that are named, by a path or by a name that `is_callable` knows, in it and
/// in the calls that it is made on; `None` where there are none.
pub(in crate::trace) fn with_closures(
    call: &ExprMethodCall,
    is_callable: &dyn Fn(&Ident) -> bool,
) -> Option<ExprMethodCall> {
    let receiver = match &*call.receiver {
        Expr::MethodCall(inner) => with_closures(inner, is_callable),
        _ => None,
    };
    let closure = named(call, is_callable);
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
fn named(call: &ExprMethodCall, is_callable: &dyn Fn(&Ident) -> bool) -> Option<Expr> {
    let (Some(Expr::Path(path)), 1) = (call.args.first(), call.args.len()) else { return None };
    let is_function = path.path.segments.len() > 1
        && path.path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_lowercase));
    let is_called = is_function || path.path.is_ident("Some") || path.path.get_ident().is_some_and(is_callable);
    if !is_called || !takes_closure_of_one(&call.method) {
        return None;
    }
    let item = format_ident!("fx_named", span = path.span());
    Some(parse_quote_spanned!(path.span()=> |#item| #path(#item)))
}

/// `list.iter().next()` as `list.first()`, and the list; the last element and one at a number alike. `None` for anything
/// else.
pub(in crate::trace) fn element_of_iterator(call: &syn::ExprMethodCall) -> Option<(&syn::Expr, syn::ExprMethodCall)> {
    let bare = |expr: &'_ syn::Expr, name: &str| match expr {
        syn::Expr::MethodCall(inner) => inner.method == name && inner.args.is_empty(),
        _ => false,
    };
    let syn::Expr::MethodCall(iterator) = &*call.receiver else { return None };
    let is_reversed = bare(&call.receiver, "rev") && bare(&iterator.receiver, "iter");
    let iterator = match &*iterator.receiver {
        syn::Expr::MethodCall(inner) if is_reversed => inner,
        _ if bare(&call.receiver, "iter") => iterator,
        _ => return None,
    };
    let element = match (call.method.to_string().as_str(), call.args.len(), is_reversed) {
        ("next", 0, false) | ("next_back" | "last", 0, true) => ElementAccess::First,
        ("next", 0, true) | ("next_back" | "last", 0, false) => ElementAccess::Last,
        ("nth", 1, false) => ElementAccess::Get,
        _ => return None,
    };
    let method = syn::Ident::new(element.name(), call.method.span());
    let list = &*iterator.receiver;
    Some((list, syn::ExprMethodCall { method, receiver: Box::new(list.clone()), ..call.clone() }))
}
