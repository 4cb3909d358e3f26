//! Tests of a `Result` that a call makes, as tests of the option of what it holds, or as `?`.

use syn::{Expr, Pat, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{is_call_of, mentions, names_of};

/// `match call { Ok(x) => a, Err(_) => b }` as `match call.ok() { Some(x) => a, None => b }`, and
/// `match call { Ok(x) => a, Err(e) => return Err(b) }` as `match call.map_err(|e| b)? { x => a }`, which an `Err(b)` at the
/// end of a function is as well. None for any other.
pub(in crate::trace) fn without_error(choice: &syn::ExprMatch, is_tail: bool) -> Option<syn::ExprMatch> {
    if !is_made(&choice.expr) || !choice.arms.iter().any(|arm| held_by(&arm.pat, "Ok").is_some()) {
        return None;
    }
    let mut arms = Vec::new();
    for arm in &choice.arms {
        let pat = match (held_by(&arm.pat, "Ok"), held_by(&arm.pat, "Err")) {
            (Some(held), _) => syn::parse_quote_spanned!(arm.pat.span()=> Some(#held)),
            (None, Some(held)) if arm.guard.is_none() && !uses(&arm.body, held) && is_plain(held) => {
                parse_quote_spanned!(arm.pat.span()=> None)
            }
            (None, Some(held)) => return as_question(choice, arm, held, is_tail),
            (None, None) if matches!(arm.pat, Pat::Wild(_)) => arm.pat.clone(),
            (None, None) => return None,
        };
        arms.push(syn::Arm { pat, ..arm.clone() });
    }
    let expr = &choice.expr;
    Some(syn::ExprMatch { expr: parse_quote_spanned!(expr.span()=> #expr.ok()), arms, ..choice.clone() })
}

/// `if let Ok(x) = call` as `if let Some(x) = call.ok()`.
pub(in crate::trace) fn tested(condition: &syn::ExprLet) -> Option<syn::ExprLet> {
    let held = held_by(&condition.pat, "Ok").filter(|_| is_made(&condition.expr))?;
    let expr = &condition.expr;
    let pat = parse_quote_spanned!(condition.pat.span()=> Some(#held));
    Some(syn::ExprLet { pat, expr: parse_quote_spanned!(expr.span()=> #expr.ok()), ..condition.clone() })
}

/// The `match` with `?` in place of the one arm of errors, which returns one.
fn as_question(choice: &syn::ExprMatch, failing: &syn::Arm, held: &Pat, is_tail: bool) -> Option<syn::ExprMatch> {
    let error = match &*failing.body {
        Expr::Return(left) => left.expr.as_deref().filter(|value| is_call_of(value, "Err"))?,
        value if is_tail && is_call_of(value, "Err") => value,
        _ => return None,
    };
    let Expr::Call(error) = error else { return None };
    let (error, name) = (error.args.first()?, names_of(held));
    let expr = &choice.expr;
    let subject: Expr = match converted(error) {
        Expr::Path(path) if name.len() == 1 && name.iter().all(|name| path.path.is_ident(name)) => {
            parse_quote_spanned!(expr.span()=> #expr?)
        }
        error => parse_quote_spanned!(expr.span()=> #expr.map_err(|#held| #error)?),
    };
    let mut arms = Vec::new();
    for arm in choice.arms.iter().filter(|arm| !std::ptr::eq(*arm, failing)) {
        arms.push(syn::Arm { pat: held_by(&arm.pat, "Ok")?.clone(), ..arm.clone() });
    }
    Some(syn::ExprMatch { expr: Box::new(subject), arms, ..choice.clone() })
}

/// `e` of `e.into()`, which `?` does as well.
fn converted(error: &Expr) -> &Expr {
    match error {
        Expr::MethodCall(call) if call.method == "into" && call.args.is_empty() => &call.receiver,
        other => other,
    }
}

/// What the pattern of this variant holds.
pub(in crate::trace) fn held_by<'p>(pat: &'p Pat, variant: &str) -> Option<&'p Pat> {
    match pat {
        Pat::TupleStruct(of) if of.path.is_ident(variant) && of.elems.len() == 1 => of.elems.first(),
        _ => None,
    }
}

/// Whether the pattern takes any error.
pub(in crate::trace) fn is_plain(pat: &Pat) -> bool {
    crate::syntax::matches_all(pat)
}

/// Whether the code reads what the pattern binds.
pub(in crate::trace) fn uses(body: &Expr, pat: &Pat) -> bool {
    names_of(pat).iter().any(|name| mentions(body, &syn::Ident::new(name, pat.span())))
}

/// Whether the value is made here, so that nobody else has it.
fn is_made(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(_) | Expr::MethodCall(_))
}
