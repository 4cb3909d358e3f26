//! Chains of iterator adaptors as the loops that they stand for: `map` and `collect`, `fold`, `for_each`, `zip`.

use proc_macro2::Ident;
use quote::{ToTokens, format_ident};
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::iterator_method::{Form, IteratorMethod, Role};
use crate::syntax::{
    any,
    enclosed::{at_end, operand},
    mentions,
    written_types::segment_args,
};
use crate::trace::desugar::closure_form::{is_plain_closure, plain};
use crate::trace::types::{expectation::gathers_vec, ty::is_copy};
use crate::trace::{
    Ty,
    desugar::{
        Surroundings,
        iterator_adaptors::{is_adapted, only_element},
        iterator_consumers::consumed,
    },
};

/// What a chain of adaptors stands for.
pub(in crate::trace) enum Chain {
    /// The numbers of a range, or elements that are picked out of a list, as a list.
    Picked(Expr),
    /// The elements of a list, or references to them: the list as it is, where it can be shared.
    Whole(Expr),
    /// What a loop leaves in variables.
    Loop(Accumulation),
    /// The sum of the elements, their number, and the like.
    Reduction(Reduction),
}

/// One value of all elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Reduction {
    Sum,
    Product,
    Extremum,
    Count,
}

/// A loop with the variables that are declared before it and whose values behind it are the value of the whole; the
/// loop's own value where there are none.
pub(in crate::trace) struct Accumulation {
    pub(in crate::trace) variables: Vec<(Ident, Start)>,
    pub(in crate::trace) each: syn::ExprForLoop,
}

/// What a variable holds before the loop.
pub(in crate::trace) enum Start {
    EmptyList,
    Bool(bool),
    Value(Box<Expr>),
}

/// `xs.iter().map(|x| ..)`, taken apart.
struct Mapped<'e> {
    over: &'e Expr,
    pat: &'e syn::Pat,
    body: &'e Expr,
}

/// What a call that ends a chain of adaptors stands for; `None` if it is none.
pub(in crate::trace) fn ended_chain(call: &syn::ExprMethodCall, around: &dyn Surroundings) -> Option<Chain> {
    let span = call.span();
    let args: Vec<&Expr> = call.args.iter().collect();
    match (call.method.to_string().as_str(), args.as_slice()) {
        ("collect" | "collect_vec", []) if gathers(call, around) && picks(&call.receiver) => {
            Some(Chain::Picked((*call.receiver).clone()))
        }
        ("collect" | "collect_vec", []) if gathers(call, around) && whole_list(&call.receiver).is_some() => {
            whole_list(&call.receiver).cloned().map(Chain::Whole)
        }
        ("collect" | "collect_vec", []) if gathers(call, around) && begun(&call.receiver, around).is_some() => {
            let (first, rest) = begun(&call.receiver, around)?;
            let rest = operand(rest);
            let rest = parse_quote_spanned!(span=> #rest.collect::<Vec<_>>());
            let Chain::Loop(Accumulation { mut variables, each }) = ended_chain(&rest, around)? else { return None };
            let [(_, start)] = variables.as_mut_slice() else { return None };
            *start = Start::Value(Box::new(parse_quote_spanned!(span=> vec![#first])));
            Some(Chain::Loop(Accumulation { variables, each }))
        }
        ("collect" | "collect_vec", []) if gathers(call, around) => {
            if let Some(each) = cloned_items(&call.receiver) {
                return Some(Chain::Loop(each));
            }
            let Some(Mapped { over, pat, body }) = mapped(&call.receiver) else {
                return is_adapted(&call.receiver).then(|| Chain::Loop(gathered(&call.receiver)));
            };
            let items = format_ident!("fx_items", span = span);
            let push = pushed_item(call, body);
            let each = parse_quote_spanned!(span=> for #pat in #over { #items.push(#push); });
            Some(Chain::Loop(Accumulation { variables: vec![(items, Start::EmptyList)], each }))
        }
        ("fold", [init, Expr::Closure(closure)]) if is_plain_closure(closure, 2) && is_chain(&call.receiver) => {
            let (acc, item) = (plain(&closure.inputs[0]), plain(&closure.inputs[1]));
            let variables = folded(acc, init)?;
            if variables.iter().any(|(name, _)| mentions(&call.receiver, name)) {
                return None;
            }
            let (over, body) = (&call.receiver, &closure.body);
            let names: Vec<&Ident> = variables.iter().map(|(name, _)| name).collect();
            let each = match names.as_slice() {
                [acc] => parse_quote_spanned!(span=> for #item in #over { #acc = #body; }),
                names => parse_quote_spanned!(span=> for #item in #over { (#(#names),*) = #body; }),
            };
            Some(Chain::Loop(Accumulation { variables, each }))
        }
        ("fold", [init, Expr::Path(function)]) if is_chain(&call.receiver) => {
            let (acc, over) = (format_ident!("fx_folded", span = span), &call.receiver);
            let each = parse_quote_spanned!(span=> for fx_item in #over { #acc = #function(#acc, fx_item); });
            let variables = vec![(acc, Start::Value(Box::new((*init).clone())))];
            Some(Chain::Loop(Accumulation { variables, each }))
        }
        ("for_each", [Expr::Closure(closure)]) if is_plain_closure(closure, 1) && is_chain(&call.receiver) => {
            let (item, over, body) = (plain(&closure.inputs[0]), &call.receiver, at_end(&closure.body));
            let each = parse_quote_spanned!(span=> for #item in #over { #body; });
            Some(Chain::Loop(Accumulation { variables: Vec::new(), each }))
        }
        _ => consumed(call, around),
    }
}

/// The first element and the rest of `once(first).chain(rest)`.
fn begun<'e>(chain: &'e Expr, around: &dyn Surroundings) -> Option<(&'e Expr, &'e Expr)> {
    let Expr::MethodCall(call) = chain else { return None };
    let first = only_element(&call.receiver, around).filter(|_| call.method == "chain")?;
    let [rest] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
    Some((first, rest))
}

/// The variables that `fold` carries, with what they begin with: one, or the parts of a tuple.
fn folded(acc: &syn::Pat, init: &Expr) -> Option<Vec<(Ident, Start)>> {
    match (acc, init) {
        (syn::Pat::Ident(acc), init) => Some(vec![(acc.ident.clone(), Start::Value(Box::new(init.clone())))]),
        (syn::Pat::Tuple(parts), Expr::Tuple(inits)) if parts.elems.len() == inits.elems.len() => {
            let part = |(part, init): (&syn::Pat, &Expr)| match part {
                syn::Pat::Ident(_) => folded(part, init)?.pop(),
                _ => None,
            };
            parts.elems.iter().zip(&inits.elems).map(part).collect()
        }
        _ => None,
    }
}

/// The loop that gathers what the chain yields as a list.
pub(in crate::trace) fn gathered(chain: &Expr) -> Accumulation {
    gathered_as(chain, &parse_quote_spanned!(chain.span()=> fx_gathered))
}

/// The loop that gathers `item` for each element of the chain, which is `fx_gathered` in it.
fn gathered_as(chain: &Expr, item: &Expr) -> Accumulation {
    let span = chain.span();
    let items = format_ident!("fx_items", span = span);
    let each = parse_quote_spanned!(span=> for fx_gathered in #chain { #items.push(#item); });
    Accumulation { variables: vec![(items, Start::EmptyList)], each }
}

/// `sizes.iter().take(2).cloned()`: the loop that gathers copies of some of the elements.
fn cloned_items(chain: &Expr) -> Option<Accumulation> {
    let Expr::MethodCall(call) = chain else { return None };
    let is_copy = ["cloned", "copied"].iter().any(|name| call.method == name);
    if is_copy { gathered_copies(&call.receiver) } else { None }
}

/// The loop that gathers copies of what the chain yields, if that is some of a list's elements.
pub(in crate::trace) fn gathered_copies(over: &Expr) -> Option<Accumulation> {
    let Expr::MethodCall(picked) = over else { return None };
    let is_picked = ["take", "skip", "rev", "step_by"].iter().any(|name| picked.method == name);
    let copies = || gathered_as(over, &parse_quote_spanned!(over.span()=> fx_gathered.clone()));
    (is_picked && is_chain(over)).then(copies)
}

/// Whether a `Vec` is gathered, of values or, as a `Result`, of what is in them.
fn gathers(call: &syn::ExprMethodCall, around: &dyn Surroundings) -> bool {
    match &call.turbofish {
        None if call.method == "collect_vec" => true,
        Some(fish) => {
            let is_vec = |arg: &syn::GenericArgument| matches!(arg, syn::GenericArgument::Type(ty) if gathers_vec(ty).unwrap_or(true));
            fish.args.iter().any(is_vec) || fish.args.iter().any(is_left_open) && around.collects_vec()
        }
        None => around.collects_vec(),
    }
}

/// Whether the code around the call says what is gathered: `_`, and `Result<_, E>`.
fn is_left_open(arg: &syn::GenericArgument) -> bool {
    match arg {
        syn::GenericArgument::Type(syn::Type::Infer(_)) => true,
        syn::GenericArgument::Type(syn::Type::Path(path)) => match path.path.segments.last() {
            Some(last) if last.ident == "Result" => {
                segment_args(last).next().is_some_and(|held| matches!(held, syn::Type::Infer(_)))
            }
            _ => false,
        },
        _ => false,
    }
}

fn mapped(expr: &Expr) -> Option<Mapped<'_>> {
    let Expr::MethodCall(call) = expr else { return None };
    match call.args.first() {
        Some(Expr::Closure(closure))
            if call.method == "map"
                && is_plain_closure(closure, 1)
                && !takes_number(closure)
                && is_chain(&call.receiver) =>
        {
            Some(Mapped { over: &call.receiver, pat: plain(&closure.inputs[0]), body: &closure.body })
        }
        _ => None,
    }
}

/// Whether the closure says itself which numbers it takes.
fn takes_number(closure: &syn::ExprClosure) -> bool {
    let is_number = |ty: &syn::Type| is_copy(&Ty::Rust(ty.to_token_stream().to_string()));
    matches!(closure.inputs.first(), Some(syn::Pat::Type(typed)) if is_number(&typed.ty))
}

/// Whether it is a range, or a list with adaptors, and not an option.
pub(in crate::trace) fn is_chain(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_chain(&inner.expr),
        Expr::Range(_) => true,
        Expr::MethodCall(call) => match IteratorMethod::of(&call.method).map(IteratorMethod::form) {
            Some(Form::Head) => true,
            Some(Form::Body) => is_chain(&call.receiver),
            Some(Form::Other) | None => false,
        },
        _ => false,
    }
}

/// The list of `list.iter()`, which is a variable.
fn whole_list(chain: &Expr) -> Option<&Expr> {
    match chain {
        Expr::MethodCall(call) if call.method == "iter" && call.args.is_empty() => match &*call.receiver {
            list @ Expr::Path(path) if path.path.get_ident().is_some() => Some(list),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is a range or the elements of a list themselves, all of them or those of some numbers.
fn picks(chain: &Expr) -> bool {
    match chain {
        Expr::Paren(inner) => picks(&inner.expr),
        Expr::Range(_) => true,
        Expr::MethodCall(call) => match IteratorMethod::of(&call.method) {
            Some(IteratorMethod::IntoIter) => true,
            Some(IteratorMethod::Rev | IteratorMethod::Skip | IteratorMethod::Take | IteratorMethod::StepBy) => {
                picks(&call.receiver)
            }
            _ => false,
        },
        _ => false,
    }
}

/// What `collect` gathers: the value itself, or what is in it where a `Result` is gathered.
fn pushed_item(call: &syn::ExprMethodCall, body: &Expr) -> Expr {
    let result = call.turbofish.as_ref().is_some_and(|fish| {
        let first = fish.args.first();
        matches!(first, Some(syn::GenericArgument::Type(syn::Type::Path(path)))
            if path.path.segments.last().is_some_and(|last| last.ident == "Result"))
    });
    if !result {
        return body.clone();
    }
    let body = operand(body);
    parse_quote_spanned!(body.span()=> #body?)
}

/// Whether it is a chain of adaptors that nothing asks for its elements yet, and that holds on to variables: by a
/// closure, or by elements that it borrows.
pub(in crate::trace) fn is_lazy(expr: &Expr) -> bool {
    let Expr::MethodCall(call) = expr else { return false };
    let Some(method) = IteratorMethod::of(&call.method) else { return false };
    let has_closure = call.args.iter().any(|arg| matches!(arg, Expr::Closure(_)));
    match method.role() {
        Role::Adapt if method.takes_closure() => has_closure && is_iterator(&call.receiver),
        Role::Adapt => is_lazy(&call.receiver),
        Role::Borrow => true,
        Role::Own => any(&call.receiver, |part| matches!(part, Expr::Reference(_))),
        Role::Consume => false,
    }
}

/// Whether the expression makes an iterator, as far as its form tells.
fn is_iterator(expr: &Expr) -> bool {
    match expr {
        Expr::Range(_) => true,
        Expr::Paren(inner) => is_iterator(&inner.expr),
        Expr::MethodCall(call) => {
            let role = IteratorMethod::of(&call.method).map(IteratorMethod::role);
            matches!(role, Some(Role::Borrow | Role::Own)) || is_iterator(&call.receiver)
        }
        _ => false,
    }
}
