//! Whether opaque code only borrows a variable, so that it can reach it where it is.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

use crate::trace::opaque::capture::{is_colon, is_dot, is_member, is_punct};

/// Returns whether the code mentions the variable behind a `&` or as the receiver of methods alone; `takes` knows the
/// methods that take what they are called on, or change it.
pub(in crate::trace) fn only_borrows(expr: &syn::Expr, name: &str, takes: &dyn Fn(&str) -> bool) -> bool {
    every_token(expr.to_token_stream(), &|all, at| match &all[at] {
        // A closure that takes its surroundings with it.
        TokenTree::Ident(ident) if ident == "move" => false,
        TokenTree::Ident(ident) if ident == name && is_variable(all, at) => is_borrow(all, at, takes),
        _ => true,
    })
}

/// Returns whether the code takes a reference to the variable, or to a part of it.
pub(in crate::trace) fn lends(expr: &syn::Expr, name: &str) -> bool {
    !every_token(expr.to_token_stream(), &|all, at| match &all[at] {
        TokenTree::Ident(ident) if ident == name && is_variable(all, at) => {
            at == 0 || !is_punct(&all[at - 1], '&') || at > 1 && ends_operand(&all[at - 2])
        }
        _ => true,
    })
}

/// Returns whether the code mentions the variable in front of a `.` or an index alone: its parts, and its methods.
pub(in crate::trace) fn only_looks_into(expr: &syn::Expr, name: &str) -> bool {
    every_token(expr.to_token_stream(), &|all, at| match &all[at] {
        TokenTree::Ident(ident) if ident == name && is_variable(all, at) => {
            let is_lent = at > 0 && matches!(&all[at - 1], TokenTree::Ident(before) if before == "mut");
            let is_item =
                |token: &TokenTree| matches!(token, TokenTree::Group(index) if index.delimiter() == Delimiter::Bracket);
            !is_lent && all.get(at + 1).is_some_and(|after| is_dot(after) || is_item(after))
        }
        _ => true,
    })
}

/// What a variable that stands for an option of a tensor is in the user's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum HeldOption {
    /// `&Option<Tensor>`.
    BehindReference,
    /// `Option<&Tensor>`.
    OfReference,
}

/// What the variable is, an option that the code does not own, as the methods that the code calls on it tell: `as_ref` has a use
/// behind a reference alone, and nothing is moved out there. Where the code only asks whether there is something in it, and
/// what, both are the same.
pub(in crate::trace) fn held_option(expr: &syn::Expr, name: &str) -> Option<HeldOption> {
    let all_are = |is_one: &dyn Fn(&[TokenTree], usize) -> bool| {
        every_token(expr.to_token_stream(), &|all, at| match &all[at] {
            TokenTree::Ident(ident) if ident == name && is_variable(all, at) => is_one(all, at),
            _ => true,
        })
    };
    let calls = |all: &[TokenTree], at: usize, methods: &[&str]| match (all.get(at + 1), all.get(at + 2)) {
        (Some(dot), Some(TokenTree::Ident(method))) => is_dot(dot) && methods.iter().any(|one| method == one),
        _ => false,
    };
    let is_matched = |all: &[TokenTree], at: usize| {
        let is_behind = at > 0
            && (is_punct(&all[at - 1], '=') || matches!(&all[at - 1], TokenTree::Ident(word) if word == "match"));
        is_behind && matches!(all.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
    };
    let is_called = |methods: &[&str]| !all_are(&|all, at| !calls(all, at, methods));
    let is_asked = |all: &[TokenTree], at: usize| is_matched(all, at) || calls(all, at, &["is_some", "is_none"]);
    match (is_called(&["as_ref"]), is_called(&TAKING)) {
        (true, false) => Some(HeldOption::BehindReference),
        (false, true) => Some(HeldOption::OfReference),
        (false, false) if all_are(&is_asked) => Some(HeldOption::BehindReference),
        _ => None,
    }
}

/// Methods of an option that take it.
const TAKING: [&str; 9] =
    ["unwrap", "expect", "map", "map_or", "map_or_else", "and_then", "unwrap_or", "unwrap_or_else", "is_some_and"];

/// Returns whether `holds` is so of every token, which it gets as a position among those beside it.
fn every_token(tokens: TokenStream, holds: &dyn Fn(&[TokenTree], usize) -> bool) -> bool {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    (0..all.len()).all(|at| match &all[at] {
        TokenTree::Group(group) => every_token(group.stream(), holds),
        _ => holds(&all, at),
    })
}

/// Whether it is no field, method, label or beginning of a path.
fn is_variable(all: &[TokenTree], at: usize) -> bool {
    !is_member(all, at) && !all.get(at + 1).is_some_and(is_colon)
}

fn is_borrow(all: &[TokenTree], at: usize, takes: &dyn Fn(&str) -> bool) -> bool {
    match (all.get(at + 1), all.get(at + 2), all.get(at + 3)) {
        (Some(dot), Some(TokenTree::Ident(method)), Some(after)) if is_dot(dot) => {
            let is_call = matches!(after, TokenTree::Group(_)) || is_colon(after);
            is_call && !takes(&method.to_string())
        }
        (Some(dot), ..) if is_dot(dot) || is_punct(dot, '?') => false,
        _ => at > 0 && is_punct(&all[at - 1], '&') && !(at > 1 && ends_operand(&all[at - 2])),
    }
}

/// Whether a `&` behind it is an operator between two values.
fn ends_operand(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Literal(_) => true,
        TokenTree::Punct(punct) => matches!(punct.as_char(), '?' | '&'),
        TokenTree::Ident(ident) => syn::parse_str::<syn::Ident>(&ident.to_string()).is_ok() || ident == "self",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_by_what_the_code_calls_on_them() {
        let held = |text: &str| held_option(&syn::parse_str(text).unwrap(), "w");
        let behind = [
            "f(w.as_ref().unwrap())",
            "w.as_ref().map(|v| v.abs())",
            "if let Some(v) = w { f(v) }",
            "match w { Some(v) => f(v), None => g() }",
            "println!(\"{}\", w.is_some())",
        ];
        assert!(behind.iter().all(|text| held(text) == Some(HeldOption::BehindReference)));
        assert_eq!(held("f(w.unwrap(), w.is_some())"), Some(HeldOption::OfReference));
        let unknown = ["f(w)", "if let Some(v) = w { f(w) }", "x.w.as_ref() + w", "f(w.as_ref(), w.map(g))"];
        assert!(unknown.iter().all(|text| held(text).is_none()));
    }

    #[test]
    fn what_is_behind_a_borrow_or_before_a_method_is_borrowed() {
        let borrows = |text: &str| only_borrows(&syn::parse_str(text).unwrap(), "z", &|name| name == "into");
        let yes = ["kept.push(if a { &z } else { &y })", "vec![&z]", "f(x.z, &z)", "z.relu().max()", "|t| t + &z"];
        assert!(yes.iter().all(|text| borrows(text)));
        let no = ["z + 1", "Some(z)", "a & z", "z.into()", "move || z.relu()", "&mut z", "f(&z, z)", "&&z", "P { z }"];
        assert!(!no.iter().any(|text| borrows(text)));
    }
}
