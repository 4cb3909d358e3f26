//! Methods of options and truth values that take closures, as the `match` or `if` that they stand for. What the method
//! is called on bears a name in it.

use fx_ir::ops;
use syn::{Expr, ExprMethodCall, Pat, parse_quote, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{contains_return, makes_result};
use crate::trace::{Result, unsupported};

/// The option of [`mapped`], and of [`matched`].
pub(in crate::trace) const MAPPED: &str = "mapped_option";
pub(in crate::trace) const MATCHED: &str = "matched_option";
/// The truth value of [`asked`].
pub(in crate::trace) const FLAG: &str = "asked_flag";

/// `option.map(|pattern| body)` as `match option { Some(pattern) => Some(body), None => None }`, and the closure.
pub(in crate::trace) fn mapped(call: &ExprMethodCall) -> Result<(&syn::ExprClosure, syn::ExprMatch)> {
    let Some(Expr::Closure(closure)) = call.args.first() else {
        return unsupported(call.span(), "`map` with something other than a closure");
    };
    let (Some(pattern), 1) = (closure.inputs.first(), closure.inputs.len()) else {
        return unsupported(call.span(), "a closure of this form");
    };
    let pattern = match pattern {
        Pat::Type(typed) => &*typed.pat,
        other => other,
    };
    let body = &closure.body;
    if makes_result(body) {
        return unsupported(body.span(), "an option of a `Result`");
    }
    let choice = if contains_return(body) {
        // It leaves the closure alone.
        parse_quote_spanned!(call.span()=> match mapped_option {
            Some(held_value) => Some((#closure)(held_value)),
            None => None,
        })
    } else {
        parse_quote_spanned!(call.span()=> match mapped_option { Some(#pattern) => Some(#body), None => None })
    };
    Ok((closure, choice))
}

/// `flag.then(|| x)` as `if flag { Some(x) } else { None }`.
pub(in crate::trace) fn asked(call: &ExprMethodCall) -> Result<syn::ExprIf> {
    let value = match call.args.first() {
        Some(closure @ Expr::Closure(_)) if call.method == "then" => body_of(closure, 0)?.1,
        Some(value) if call.method == "then_some" && is_plain(value) => value.clone(),
        _ => return unsupported(call.method.span(), format!("the method `{}`", call.method)),
    };
    Ok(parse_quote_spanned!(call.span()=> if asked_flag { Some(#value) } else { None }))
}

/// `option.unwrap_or(xs)`, `option.map_or_else(|| xs, |ys| ys + xs)` and the like as the `match` that they stand for.
pub(in crate::trace) fn matched(name: &str, call: &ExprMethodCall) -> Result<syn::ExprMatch> {
    let args: Vec<&Expr> = call.args.iter().collect();
    let held: Pat = parse_quote!(held_value);
    let (some, none): ((Pat, Expr), Expr) = match (name, args.as_slice()) {
        ("unwrap_or", [other]) if is_plain(other) => ((held, parse_quote!(held_value)), (*other).clone()),
        ("unwrap_or_else", [other]) => ((held, parse_quote!(held_value)), body_of(other, 0)?.1),
        ("map_or", [other, some]) if is_plain(other) => (body_of(some, 1)?, (*other).clone()),
        ("map_or_else", [other, some]) => (body_of(some, 1)?, body_of(other, 0)?.1),
        ("and_then", [some]) => (body_of(some, 1)?, parse_quote!(None)),
        ("or", [other]) if is_plain(other) => ((held, parse_quote!(Some(held_value))), (*other).clone()),
        ("or_else", [other]) => ((held, parse_quote!(Some(held_value))), body_of(other, 0)?.1),
        ("filter", [test]) => {
            let (pattern, test) = body_of(test, 1)?;
            let kept = parse_quote!({
                let #pattern = &held_value;
                if #test { Some(held_value) } else { None }
            });
            ((held, kept), parse_quote!(None))
        }
        ("is_some_and", [test]) => (body_of(test, 1)?, parse_quote!(false)),
        ("is_none_or", [test]) => (body_of(test, 1)?, parse_quote!(true)),
        _ => return unsupported(call.method.span(), format!("the method `{name}`")),
    };
    let (pattern, some) = some;
    Ok(parse_quote_spanned!(call.span()=> match matched_option { Some(#pattern) => #some, None => #none }))
}

/// Whether it is there already, so that it does not matter whether it is asked for.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Reference(inner) => is_plain(&inner.expr),
        Expr::Field(inner) => is_plain(&inner.base),
        Expr::MethodCall(call) => ops::SHALLOW_CLONE.is_spelled(&call.method.to_string()) && is_plain(&call.receiver),
        _ => false,
    }
}

/// The parameter and the body of a closure with so many parameters.
fn body_of(closure: &Expr, count: usize) -> Result<(Pat, Expr)> {
    match closure {
        Expr::Closure(closure) if closure.inputs.len() == count && !contains_return(&closure.body) => {
            let pattern = match closure.inputs.first() {
                Some(Pat::Type(typed)) => (*typed.pat).clone(),
                Some(pattern) => pattern.clone(),
                None => parse_quote!(_),
            };
            Ok((pattern, (*closure.body).clone()))
        }
        other => unsupported(other.span(), "a function in place of a closure"),
    }
}
