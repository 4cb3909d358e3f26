//! `match (a, b) { (Some(a), Some(b)) => .., _ => .. }`: a tuple that is written only to be taken apart is a decision about
//! one part after the other, so that each can be known when the model is frozen.

use std::collections::BTreeSet;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::pattern;
use crate::syntax::{add_words, matches_all, may_both, mentions, peeled};

/// Decisions end in so many copies of each arm, on the average, at the most.
const COPIES: usize = 2;

/// An arm, and what it still asks of each part.
#[derive(Clone)]
struct Row {
    asks: Vec<syn::Pat>,
    body: syn::Expr,
}

/// The decision that a `match` on a tuple of so many parts is, and what the parts are called in it; `None` where its arms
/// are not that simple.
pub(in crate::trace) fn decision(choice: &syn::ExprMatch, parts: usize) -> Option<(Vec<syn::Ident>, syn::Expr)> {
    let names: Vec<syn::Ident> = (0..parts).map(|at| part_name(at, choice.match_token.span)).collect();
    let rows = choice.arms.iter().map(|arm| {
        let asks = asks(&arm.pat, parts).filter(|_| arm.guard.is_none())?;
        Some(Row { asks, body: (*arm.body).clone() })
    });
    let rows: Vec<Row> = rows.collect::<Option<_>>()?;
    let mut leaves = rows.len() * COPIES;
    let decision = decide(&names, rows, 0, &mut leaves)?;
    Some((names, decision))
}

/// `if let (Some(a), Some(b)) = (x.as_mut(), y)` as `if let Some(a) = x.as_mut() && let Some(b) = y`; `None` where a part is
/// more than a variable that is borrowed, where none is borrowed to be written to, and where a pattern binds a name that a later
/// part means otherwise.
pub(in crate::trace) fn one_by_one(condition: &syn::ExprLet) -> Option<syn::Expr> {
    let syn::Expr::Tuple(parts) = peeled(&condition.expr) else { return None };
    let asks = asks(&condition.pat, parts.elems.len())?;
    let forms: Option<Vec<bool>> = parts.elems.iter().map(is_mut_borrow).collect();
    let hides = asks.iter().enumerate().any(|(at, ask)| {
        let mut later = BTreeSet::new();
        parts.elems.iter().skip(at + 1).for_each(|part| add_words(part.to_token_stream(), &mut later));
        pattern::bound(ask).iter().any(|name| later.contains(name))
    });
    if hides || !forms?.into_iter().any(|is_mut| is_mut) {
        return None;
    }
    let tests = parts
        .elems
        .iter()
        .zip(asks)
        .map(|(part, ask)| -> syn::Expr { syn::parse_quote_spanned!(part.span()=> let #ask = #part) });
    tests.reduce(|all, next| syn::parse_quote_spanned!(condition.span()=> #all && #next))
}

/// Whether a variable, or a field of one, is borrowed to be written to; `None` for any other expression than one that is borrowed
/// or named.
fn is_mut_borrow(part: &syn::Expr) -> Option<bool> {
    fn is_chain(expr: &syn::Expr) -> bool {
        match expr {
            syn::Expr::Path(path) => path.path.get_ident().is_some(),
            syn::Expr::Field(field) => is_chain(&field.base),
            _ => false,
        }
    }
    match part {
        syn::Expr::Reference(borrowed) if is_chain(&borrowed.expr) => Some(borrowed.mutability.is_some()),
        syn::Expr::MethodCall(call) if call.args.is_empty() && is_chain(&call.receiver) => {
            match call.method.to_string().as_str() {
                "as_mut" | "as_deref_mut" => Some(true),
                "as_ref" | "as_deref" => Some(false),
                _ => None,
            }
        }
        named => is_chain(named).then_some(false),
    }
}

/// The patterns of a tuple's parts; `None` for a pattern of another form.
pub(in crate::trace) fn asks(pat: &syn::Pat, count: usize) -> Option<Vec<syn::Pat>> {
    match pat {
        syn::Pat::Paren(inner) => asks(&inner.pat, count),
        syn::Pat::Wild(_) => Some(vec![pat.clone(); count]),
        syn::Pat::Tuple(tuple) if tuple.elems.len() == count => {
            let parts: Vec<syn::Pat> = tuple.elems.iter().cloned().collect();
            (!parts.iter().any(|part| matches!(part, syn::Pat::Rest(_)))).then_some(parts)
        }
        _ => None,
    }
}

/// A decision about the first part that the first row asks something of, and so on; `None` where it would be too long, or
/// where a part is asked for more than whether it is there, or is equal to something.
fn decide(names: &[syn::Ident], rows: Vec<Row>, depth: usize, leaves: &mut usize) -> Option<syn::Expr> {
    let Some(first) = rows.first() else { return Some(syn::parse_quote!(::std::unreachable!())) };
    let Some(at) = first.asks.iter().position(|ask| !matches_all(ask)) else {
        *leaves = leaves.checked_sub(1)?;
        return Some(bound(names, first));
    };
    let ask = bare(&first.asks[at]);
    match ask {
        syn::Pat::Lit(_) | syn::Pat::Path(_) => by_value(names, &rows, at, depth, leaves),
        _ if is_none(ask) || held(ask).is_some() => by_presence(names, rows, at, depth, leaves),
        _ => None,
    }
}

/// The body of an arm that asks nothing more, with the parts that it names.
fn bound(names: &[syn::Ident], row: &Row) -> syn::Expr {
    let test = row.asks.iter().zip(names).filter(|(ask, _)| !matches!(ask, syn::Pat::Wild(_)));
    let (asks, names): (Vec<_>, Vec<_>) = test.unzip();
    let body = &row.body;
    syn::parse_quote_spanned!(body.span()=> { #(let #asks = #names;)* #body })
}

/// Is the option at this place there? Rows that ask nothing of it go either way.
fn by_presence(names: &[syn::Ident], rows: Vec<Row>, at: usize, depth: usize, leaves: &mut usize) -> Option<syn::Expr> {
    let span = rows[0].body.span();
    let (name, inner) = (&names[at], users_name(&rows, at).unwrap_or(part_name(names.len() * (depth + 1) + at, span)));
    let (mut inside, mut without) = (Vec::new(), Vec::new());
    for mut row in rows {
        let ask = std::mem::replace(&mut row.asks[at], syn::parse_quote_spanned!(span=> _));
        if matches_all(&ask) {
            // What names the whole part reads it before it is taken apart.
            let body = &row.body;
            if !matches!(ask, syn::Pat::Wild(_)) {
                row.body = syn::parse_quote_spanned!(span=> { let #ask = #name; #body });
            }
            inside.push(row.clone());
            without.push(row);
        } else if is_none(bare(&ask)) {
            without.push(row);
        } else {
            row.asks[at] = held(bare(&ask))?.clone();
            inside.push(row);
        }
    }
    let mut names_inside = names.to_vec();
    names_inside[at] = inner.clone();
    let inside = decide(&names_inside, inside, depth + 1, leaves)?;
    let without = decide(names, without, depth + 1, leaves)?;
    Some(syn::parse_quote_spanned!(span=> match #name { Some(#inner) => #inside, None => #without }))
}

/// What the user calls the thing in the option, where no arm means something else by that name.
fn users_name(rows: &[Row], at: usize) -> Option<syn::Ident> {
    let name_in = |row: &Row| match held(bare(&row.asks[at])) {
        Some(syn::Pat::Ident(name)) if matches_all(&syn::Pat::Ident(name.clone())) => Some(name.ident.clone()),
        _ => None,
    };
    let name = rows.iter().find_map(name_in)?;
    let is_free = rows.iter().all(|row| name_in(row).as_ref() == Some(&name) || !mentions(&row.body, &name));
    is_free.then_some(name)
}

/// Whether the part at this place is equal to what the first row asks for.
fn by_value(names: &[syn::Ident], rows: &[Row], at: usize, depth: usize, leaves: &mut usize) -> Option<syn::Expr> {
    let (name, ask, span) = (&names[at], bare(&rows[0].asks[at]), rows[0].body.span());
    let text = |pat: &syn::Pat| bare(pat).to_token_stream().to_string();
    let (mut equal, mut other) = (Vec::new(), Vec::new());
    for row in rows {
        let asks_for_it = text(&row.asks[at]) == text(ask);
        if asks_for_it || matches_all(&row.asks[at]) {
            let mut row = row.clone();
            if asks_for_it {
                row.asks[at] = syn::parse_quote_spanned!(span=> _);
            }
            equal.push(row);
        } else if may_both(&row.asks[at], ask) {
            return None;
        }
        if !asks_for_it {
            other.push(row.clone());
        }
    }
    let (equal, other) = (decide(names, equal, depth + 1, leaves)?, decide(names, other, depth + 1, leaves)?);
    Some(syn::parse_quote_spanned!(span=> match #name { #ask => #equal, _ => #other }))
}

/// The pattern without parentheses, and without the `&` that a tuple of references has.
fn bare(pat: &syn::Pat) -> &syn::Pat {
    match pat {
        syn::Pat::Paren(inner) => bare(&inner.pat),
        syn::Pat::Reference(inner) => bare(&inner.pat),
        other => other,
    }
}

fn is_none(pat: &syn::Pat) -> bool {
    matches!(pat, syn::Pat::Ident(name) if name.ident == "None")
}

/// What `Some(pat)` asks of what is there.
fn held(pat: &syn::Pat) -> Option<&syn::Pat> {
    match pat {
        syn::Pat::TupleStruct(some) if some.path.is_ident("Some") && some.elems.len() == 1 => some.elems.first(),
        _ => None,
    }
}

/// What stands for a part, or for what is in it.
fn part_name(number: usize, span: Span) -> syn::Ident {
    syn::Ident::new(&format!("matched_part_{number}"), span)
}
