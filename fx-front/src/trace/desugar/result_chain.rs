//! What stands around a `Result` on the way to its `?`, with the `?` where the `Result` is made.

use syn::{Expr, Stmt, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{
    enclosed::{at_end, in_head},
    is_call_of, mentions, panics,
};
use crate::trace::desugar::closure_form::{is_plain_closure, plain};

/// `match x { A => call, _ => return Err(e) }?` as `match x { A => call?, _ => return Err(e) }`, the same of an `if` and a
/// block, and `call.map(|y| a)?` as `{ let y = call?; a }`; `None` for any other expression.
pub(in crate::trace) fn with_question_inside(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Paren(inner) => with_question_inside(&inner.expr),
        Expr::Match(_) | Expr::If(_) | Expr::Block(_) => asked(expr),
        Expr::MethodCall(call) => mapped(call).or_else(|| transposed(call)),
        _ => None,
    }
}

/// `option.map(|x| call).transpose()` as `match option { Some(x) => Some(call?), None => None }`.
fn transposed(call: &syn::ExprMethodCall) -> Option<Expr> {
    let Expr::MethodCall(map) = &*call.receiver else { return None };
    let is_one = call.method == "transpose" && call.args.is_empty() && map.method == "map" && map.args.len() == 1;
    let (option, span) = (in_head(&map.receiver), call.span());
    let (pat, value) = match map.args.first().filter(|_| is_one)? {
        Expr::Closure(closure) if is_plain_closure(closure, 1) => {
            (plain(closure.inputs.first()?), asked(&closure.body)?)
        }
        Expr::Path(function) => {
            return Some(parse_quote_spanned!(span=> match #option {
                Some(fx_held) => Some(#function(fx_held)?),
                None => None,
            }));
        }
        _ => return None,
    };
    Some(parse_quote_spanned!(span=> match #option { Some(#pat) => Some(#value), None => None }))
}

/// `call.map(|y| a)` as `{ let y = call?; a }`, and `call.and_then(|y| a)` as `{ let y = call?; a? }`.
pub(in crate::trace) fn mapped(call: &syn::ExprMethodCall) -> Option<Expr> {
    let [Expr::Closure(closure)] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
    let is_made = matches!(&*call.receiver, Expr::Call(_) | Expr::MethodCall(_));
    if !is_made || !is_plain_closure(closure, 1) {
        return None;
    }
    let (pat, body, made, span) = (closure.inputs.first()?, &*closure.body, &call.receiver, call.span());
    let value = match call.method.to_string().as_str() {
        "map" => body.clone(),
        "and_then" => asked(body)?,
        _ => return None,
    };
    let value = at_end(&value);
    Some(parse_quote_spanned!(span=> { let #pat = #made?; #value }))
}

/// `expr?`, with the `?` at each value that the expression may come from; `None` where that is none that is known.
fn asked(expr: &Expr) -> Option<Expr> {
    let span = expr.span();
    Some(match expr {
        Expr::Paren(inner) => return asked(&inner.expr),
        Expr::Match(choice) => {
            let mut choice = choice.clone();
            for arm in &mut choice.arms {
                *arm.body = asked(&arm.body)?;
            }
            choice.into()
        }
        Expr::If(branch) => {
            let mut branch = branch.clone();
            branch.then_branch = asked_block(&branch.then_branch)?;
            let (_, other) = branch.else_branch.as_mut()?;
            **other = asked(other)?;
            branch.into()
        }
        Expr::Block(block) if block.label.is_none() => {
            let block = asked_block(&block.block)?;
            syn::ExprBlock { attrs: Vec::new(), label: None, block }.into()
        }
        Expr::Return(_) => expr.clone(),
        Expr::Macro(call) if panics(&call.mac) => expr.clone(),
        Expr::Call(call) if is_call_of(expr, "Ok") => call.args.first()?.clone(),
        Expr::Call(call) if is_call_of(expr, "Err") => {
            let error = call.args.first()?;
            parse_quote_spanned!(span=> return Err(::std::convert::From::from(#error)))
        }
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Path(_) => parse_quote_spanned!(span=> #expr?),
        _ => return None,
    })
}

fn asked_block(block: &syn::Block) -> Option<syn::Block> {
    let mut block = block.clone();
    match block.stmts.last_mut()? {
        Stmt::Expr(value, None) => *value = asked(value)?,
        Stmt::Expr(Expr::Return(_), Some(_)) => {}
        _ => return None,
    }
    Some(block)
}

/// The statements behind `let r = call;`, with the call in place of the name, where the next one does nothing before it
/// looks at `r` as at a `Result`, and nothing else mentions it.
pub(in crate::trace) fn without_result_name(local: &syn::Local, rest: &[Stmt]) -> Option<Vec<Stmt>> {
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    // A type that is written may say what the call yields.
    let syn::Pat::Ident(name) = &local.pat else { return None };
    if !matches!(&*init.expr, Expr::Call(_) | Expr::MethodCall(_)) || name.by_ref.is_some() {
        return None;
    }
    // Every call that has a name comes here: what is behind the next statement is copied where there is a `Result` alone.
    let (mut next, behind) = rest.split_first().map(|(next, behind)| (next.clone(), behind))?;
    let first = match &mut next {
        Stmt::Expr(expr, _) => expr,
        Stmt::Local(syn::Local { init: Some(init), .. }) if init.diverge.is_none() => &mut init.expr,
        _ => return None,
    };
    let is_put = put_first(first, &name.ident, &init.expr);
    let is_elsewhere = || std::iter::once(&next).chain(behind).any(|stmt| mentions(stmt, &name.ident));
    (is_put && !is_elsewhere()).then(|| std::iter::once(next.clone()).chain(behind.iter().cloned()).collect())
}

/// Puts the value where the expression looks at the `Result` of that name, if it is the first that it evaluates.
fn put_first(expr: &mut Expr, name: &syn::Ident, value: &Expr) -> bool {
    let (first, is_result) = match expr {
        Expr::Try(question) => (&mut *question.expr, true),
        Expr::Match(choice) => {
            let is_result = choice.arms.iter().any(|arm| is_of_result(&arm.pat));
            (&mut *choice.expr, is_result)
        }
        Expr::If(branch) => return put_first(&mut branch.cond, name, value),
        Expr::Let(condition) => {
            let is_result = is_of_result(&condition.pat);
            (&mut *condition.expr, is_result)
        }
        Expr::MethodCall(call) => {
            let is_result = call.method == "map_err";
            (&mut *call.receiver, is_result)
        }
        Expr::Call(call) if matches!(&*call.func, Expr::Path(_)) => match call.args.first_mut() {
            Some(first) => (first, false),
            None => return false,
        },
        Expr::Paren(inner) => (&mut *inner.expr, false),
        Expr::Reference(inner) => (&mut *inner.expr, false),
        _ => return false,
    };
    if matches!(first, Expr::Path(path) if path.path.is_ident(name)) {
        if is_result {
            *first = value.clone();
        }
        return is_result;
    }
    put_first(first, name, value)
}

/// Whether the pattern is `Ok(..)` or `Err(..)`.
fn is_of_result(pat: &syn::Pat) -> bool {
    matches!(pat, syn::Pat::TupleStruct(of) if of.path.is_ident("Ok") || of.path.is_ident("Err"))
}
