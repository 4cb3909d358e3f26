//! Numbers without an end, `0..`, as counters of a loop: a range that a `break` ends, and one that is zipped with a list.
//!
//! ```text
//! for i in 1.. { body }                =>    { let mut n = 1; loop { let i = n; n += 1; body } }
//! for (i, x) in (1..).zip(xs) { body } =>    for (at, x) in xs.into_iter().enumerate() { let i = 1 + at; body }
//! ```
//!
//! In the second the position is converted to the type of the numbers; where that is not known there is a counter as in the
//! first.

use syn::{Block, Expr, ExprForLoop, Pat, Stmt, parse_quote_spanned, spanned::Spanned};

use crate::syntax::peeled;
use crate::trace::desugar::Surroundings;

/// The loop with counters in place of the numbers; `None` where it goes over none without an end.
pub(in crate::trace) fn counted(each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<Block> {
    if let Some(start) = start_of(&each.expr) {
        return Some(endless(start, each, around));
    }
    let Expr::MethodCall(zip) = &*each.expr else { return None };
    let other = zip.args.first().filter(|_| zip.method == "zip" && zip.args.len() == 1)?;
    let (start, list, is_first) = match (start_of(&zip.receiver), start_of(other)) {
        (Some(start), None) => (start, other, true),
        (None, Some(start)) => (start, &*zip.receiver, false),
        _ => return None,
    };
    is_plain(start).then(|| beside(start, list, is_first, each, around))
}

/// Where a range without an end begins.
fn start_of(expr: &Expr) -> Option<&Expr> {
    match peeled(expr) {
        Expr::Range(syn::ExprRange { start: Some(start), end: None, .. }) => Some(start),
        _ => None,
    }
}

/// `for pat in start.. { .. }`.
fn endless(start: &Expr, each: &ExprForLoop, around: &mut dyn Surroundings) -> Block {
    let (span, pat, stmts) = (each.for_token.span, &each.pat, &each.body.stmts);
    let number = around.new_name("number", span);
    let begin: Stmt = match around.number_ty(start, pat, &each.body) {
        Some(ty) => parse_quote_spanned!(span=> let mut #number: #ty = #start;),
        None => parse_quote_spanned!(span=> let mut #number = #start;),
    };
    parse_quote_spanned!(span=> { #begin loop { let #pat = #number; #number += 1; #(#stmts)* } })
}

/// `for (a, b) in (start..).zip(list) { .. }`, and the same the other way round.
fn beside(start: &Expr, list: &Expr, is_first: bool, each: &ExprForLoop, around: &mut dyn Surroundings) -> Block {
    let (span, stmts) = (each.for_token.span, &each.body.stmts);
    let (number, item) = (around.new_name("number", span), around.new_name("item", span));
    let (counter, element, whole): (Pat, Pat, Option<Stmt>) = match &*each.pat {
        Pat::Tuple(pair) if pair.elems.len() == 2 => {
            let (first, second) = (pair.elems[0].clone(), pair.elems[1].clone());
            if is_first { (first, second, None) } else { (second, first, None) }
        }
        pat => {
            let count = around.new_name("count", span);
            let pair: Expr = if is_first {
                parse_quote_spanned!(span=> (#count, #item))
            } else {
                parse_quote_spanned!(span=> (#item, #count))
            };
            let whole = parse_quote_spanned!(span=> let #pat = #pair;);
            (parse_quote_spanned!(span=> #count), parse_quote_spanned!(span=> #item), Some(whole))
        }
    };
    let over: Expr = match list {
        Expr::MethodCall(_) => list.clone(),
        list => parse_quote_spanned!(list.span()=> (#list).into_iter()),
    };
    match around.number_ty(start, &counter, &each.body) {
        Some(ty) => parse_quote_spanned!(span=> {
            let #number: #ty = #start;
            for (fx_position, #element) in #over.enumerate() {
                let #counter = #number + fx_position as #ty;
                #whole
                #(#stmts)*
            }
        }),
        None => parse_quote_spanned!(span=> {
            let mut #number = #start;
            for #element in #list { let #counter = #number; #number += 1; #whole #(#stmts)* }
        }),
    }
}

/// Whether it does not matter when the number is read, before the list is made or behind that.
fn is_plain(start: &Expr) -> bool {
    match start {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Field(field) => is_plain(&field.base),
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::Cast(cast) => is_plain(&cast.expr),
        Expr::Binary(binary) => is_plain(&binary.left) && is_plain(&binary.right),
        _ => false,
    }
}
