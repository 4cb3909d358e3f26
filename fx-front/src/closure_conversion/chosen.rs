//! A function that chooses among closures: `match act { Act::Relu => nn::func(|xs| xs.relu()), .. }` is one closure that
//! chooses, `nn::func(move |xs| match act { Act::Relu => xs.relu(), .. })`.

use syn::{Expr, parse_quote};

use crate::syntax::{only_expr, path_text};

/// The names of the parameters of the one closure.
const INPUTS: [&str; 2] = ["fx_xs", "fx_train"];

/// The expression as one closure that chooses; `None` where it does not choose among closures that are made by one
/// function, by what can be looked at again as often as one likes.
pub(super) fn chosen(expr: &Expr) -> Option<Expr> {
    let mut made = Vec::new();
    let choice = inside(expr, &mut made)?;
    let (first, others) = made.split_first()?;
    if others.iter().any(|other| other != first) {
        return None;
    }
    let (function, count) = first;
    let inputs = INPUTS.iter().take(*count).map(|name| quote::format_ident!("{name}"));
    Some(parse_quote!(#function(move |#(#inputs),*| #choice)))
}

/// What each arm's closure computes in place of the closure. Notes by which function each is made, and of how many inputs.
fn inside(expr: &Expr, made: &mut Vec<(syn::Path, usize)>) -> Option<Expr> {
    match expr {
        Expr::Match(choice) if is_plain(&choice.expr) && choice.arms.iter().all(|arm| arm.guard.is_none()) => {
            let mut choice = choice.clone();
            for arm in &mut choice.arms {
                *arm.body = body(&arm.body, made)?;
            }
            Some(choice.into())
        }
        Expr::If(branch) if is_plain(&branch.cond) => {
            let (cond, then) = (&branch.cond, only_expr(&branch.then_branch)?);
            let (then, other) = (body(then, made)?, body(&branch.else_branch.as_ref()?.1, made)?);
            Some(parse_quote!(if #cond { #then } else { #other }))
        }
        _ => None,
    }
}

/// What the closure of an arm computes.
fn body(arm: &Expr, made: &mut Vec<(syn::Path, usize)>) -> Option<Expr> {
    if let Expr::Block(block) = arm {
        return body(only_expr(&block.block)?, made);
    }
    let Expr::Call(call) = arm else { return inside(arm, made) };
    let (Expr::Path(function), Some(Expr::Closure(closure)), 1) = (&*call.func, call.args.first(), call.args.len())
    else {
        return None;
    };
    let is_maker = ["func", "func_t"].contains(&path_text(&function.path).rsplit("::").next()?);
    if !is_maker || closure.inputs.len() > INPUTS.len() {
        return None;
    }
    made.push((function.path.clone(), closure.inputs.len()));
    let names = INPUTS.iter().map(|name| quote::format_ident!("{name}"));
    let lets = closure.inputs.iter().zip(names).map(|(input, name)| -> syn::Stmt { parse_quote!(let #input = #name;) });
    let value = &closure.body;
    Some(parse_quote!({ #(#lets)* #value }))
}

/// Whether it only looks at variables and their fields.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(field) => is_plain(&field.base),
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::Reference(inner) => is_plain(&inner.expr),
        Expr::Unary(inner) => is_plain(&inner.expr),
        Expr::Binary(binary) => is_plain(&binary.left) && is_plain(&binary.right),
        _ => false,
    }
}
