//! A variable that a loop counts up beside its own, as the position of the iteration.
//!
//! ```text
//! for x in xs { f(i); i += 1; g(i); }    =>    for (at, x) in xs.enumerate() { i += 1; let i = start + at; f(i); let i = i + 1; g(i); }
//! ```
//!
//! That is the same where nothing else in the loop writes to the variable and no jump leaves an iteration. What stands at
//! such a position is known when a model is frozen, while what a variable holds is known to a call alone.

use syn::{Expr, Ident, Stmt, parse_quote_spanned};

use super::counted_while::{is_increment, keeps};
use crate::syntax::{counters::indexes, mentions, names_of};
use crate::trace::desugar::Surroundings;

/// The loop over what it goes over and its position; `None` where it counts no variable by which something is indexed.
/// `start` yields the number at which a variable begins.
pub(in crate::trace) fn positioned(
    each: &syn::ExprForLoop,
    around: &dyn Surroundings,
    start: &dyn Fn(&Ident) -> Option<i64>,
) -> Option<syn::ExprForLoop> {
    let stmts = &each.body.stmts;
    let (at, name, start) = stmts.iter().enumerate().find_map(|(at, stmt)| {
        let name = counted(stmt).filter(|name| indexes(&each.body, name))?;
        Some((at, name, start(name)?))
    })?;
    let (before, after) = (&stmts[..at], &stmts[at + 1..]);
    let others = before.iter().chain(after);
    let binds = |stmt: &Stmt| matches!(stmt, Stmt::Local(local) if names_of(&local.pat).contains(&name.to_string()));
    let is_own = names_of(&each.pat).contains(&name.to_string());
    if is_own || !keeps(others.clone(), &|other| other == name, around) || others.clone().any(binds) {
        return None;
    }
    let (span, list) = (each.for_token.span, &each.expr);
    // At the end of the body it may have no semicolon.
    let Stmt::Expr(increment, _) = &stmts[at] else { return None };
    let pat = &each.pat;
    let start = proc_macro2::Literal::i64_unsuffixed(start);
    let next: Option<Stmt> =
        after.iter().any(|stmt| mentions(stmt, name)).then(|| parse_quote_spanned!(span=> let #name = #name + 1;));
    let over: Expr = match &*each.expr {
        Expr::MethodCall(chain) => chain.clone().into(),
        Expr::Range(_) => parse_quote_spanned!(span=> (#list)),
        _ => parse_quote_spanned!(span=> (#list).into_iter()),
    };
    Some(parse_quote_spanned!(span=> for (fx_position, #pat) in #over.enumerate() {
        #increment;
        let #name = #start + fx_position;
        #(#before)*
        #next
        #(#after)*
    }))
}

/// The variable that the statement adds one to.
fn counted(stmt: &Stmt) -> Option<&Ident> {
    let target = match stmt {
        Stmt::Expr(Expr::Binary(sum), _) => &sum.left,
        Stmt::Expr(Expr::Assign(assign), _) => &assign.left,
        _ => return None,
    };
    let Expr::Path(path) = &**target else { return None };
    path.path.get_ident().filter(|name| is_increment(stmt, name))
}
