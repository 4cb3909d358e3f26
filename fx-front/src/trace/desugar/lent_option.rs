//! Options of parts of what an option borrows: `cache.as_deref_mut().map(|c| c.layer(0))`, which no variable of generated code
//! holds. What is done with such a one is done where the option is asked.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{Expr, Ident, Pat, parse_quote_spanned, spanned::Spanned};

use crate::syntax::enclosed::{in_head, operand};
use crate::syntax::substitute::{Substitution, substituted};
use crate::trace::desugar::closure_form::{is_plain_closure, plain};

/// `option.map(|held| part)`, or `option.map(|held| part).transpose()?`.
pub(in crate::trace) struct MappedOption<'e> {
    /// The option that borrows.
    pub(in crate::trace) option: &'e Expr,
    held: &'e Ident,
    part: &'e Expr,
    is_asked: bool,
}

impl<'e> MappedOption<'e> {
    /// The expression as such a one; `None` for any other.
    pub(in crate::trace) fn of(expr: &'e Expr) -> Option<Self> {
        match expr {
            Expr::Paren(inner) => Self::of(&inner.expr),
            Expr::Try(question) => match &*question.expr {
                Expr::MethodCall(call) if call.method == "transpose" => {
                    let mapped = Self::of(&call.receiver).filter(|mapped| !mapped.is_asked)?;
                    Some(MappedOption { is_asked: true, ..mapped })
                }
                _ => None,
            },
            Expr::MethodCall(call) if call.method == "map" && call.args.len() == 1 => {
                let Some(Expr::Closure(closure)) = call.args.first() else { return None };
                let Pat::Ident(held) = plain(closure.inputs.first()?) else { return None };
                let is_one = is_plain_closure(closure, 1) && held.subpat.is_none() && held.by_ref.is_none();
                let (option, part) = (&*call.receiver, &*closure.body);
                is_one.then_some(MappedOption { option, held: &held.ident, part, is_asked: false })
            }
            _ => None,
        }
    }

    /// The part of what the variable of that name holds.
    pub(in crate::trace) fn part_of(&self, name: &Ident) -> Option<Expr> {
        let held = Substitution::from([(self.held.to_string(), name.to_token_stream())]);
        let part: Expr = syn::parse2(substituted(self.part.to_token_stream(), &held)).ok()?;
        if !self.is_asked {
            return Some(part);
        }
        let part = operand(&part);
        Some(parse_quote_spanned!(self.part.span()=> #part?))
    }

    /// The part as it is written.
    pub(in crate::trace) fn part(&self) -> &Expr {
        self.part
    }
}

/// The arguments of a call, without what a method is called on.
pub(in crate::trace) fn arguments(call: &Expr) -> Vec<&Expr> {
    match call {
        Expr::Call(call) => call.args.iter().collect(),
        Expr::MethodCall(call) => call.args.iter().collect(),
        Expr::Try(question) => arguments(&question.expr),
        _ => Vec::new(),
    }
}

/// The call with another argument at that position.
fn with_argument(call: &Expr, at: usize, argument: Expr) -> Expr {
    let mut call = call.clone();
    match &mut call {
        Expr::Call(call) => call.args[at] = argument,
        Expr::MethodCall(call) => call.args[at] = argument,
        Expr::Try(question) => *question.expr = with_argument(&question.expr, at, argument),
        _ => {}
    }
    call
}

/// `f(option.map(|held| part))` as `match option { Some(name) => f(Some(part)), None => f(None) }`.
pub(in crate::trace) fn split(
    call: &Expr,
    (at, mapped): (usize, &MappedOption<'_>),
    name: &Ident,
    span: Span,
) -> Option<syn::ExprMatch> {
    let (option, part) = (in_head(mapped.option), mapped.part_of(name)?);
    let there = with_argument(call, at, parse_quote_spanned!(part.span()=> Some(#part)));
    let missing = with_argument(call, at, parse_quote_spanned!(part.span()=> None));
    Some(parse_quote_spanned!(span=> match #option { Some(#name) => #there, None => #missing }))
}
