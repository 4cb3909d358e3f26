//! `x.size2()` and the like, whose `Result` says whether the tensor has so many dimensions.

use proc_macro2::Literal;
use syn::{Expr, ExprMethodCall, Pat, parse_quote, parse_quote_spanned, spanned::Spanned};

use crate::trace::desugar::{
    option::matched,
    results::{is_plain, uses},
};

/// A query of the sizes of a tensor that has to have so many dimensions.
pub(in crate::trace) struct SizeQuery<'e> {
    call: &'e ExprMethodCall,
    rank: usize,
}

impl<'e> SizeQuery<'e> {
    /// The query that the expression is; `None` for anything else.
    pub(in crate::trace) fn of(expr: &'e Expr) -> Option<Self> {
        match expr {
            Expr::Paren(inner) => Self::of(&inner.expr),
            Expr::MethodCall(call) if call.args.is_empty() => {
                let rank = call.method.to_string().strip_prefix("size")?.parse().ok()?;
                (1..=6).contains(&rank).then_some(SizeQuery { call, rank })
            }
            _ => None,
        }
    }

    /// The tensor.
    pub(in crate::trace) fn tensor(&self) -> &'e Expr {
        &self.call.receiver
    }

    /// Whether a tensor of that name has so many dimensions, and its sizes.
    pub(in crate::trace) fn on(&self, tensor: &syn::Ident) -> (Expr, Expr) {
        let (method, span) = (&self.call.method, self.call.span());
        let rank = Literal::usize_unsuffixed(self.rank);
        let test = parse_quote_spanned!(span=> #tensor.dim() == #rank);
        (test, parse_quote_spanned!(span=> #tensor.#method().unwrap()))
    }

    /// Whether a method asks whether the query yields the error; `None` for any other method.
    pub(in crate::trace) fn asks_error(method: &ExprMethodCall) -> Option<bool> {
        match method.method.to_string().as_str() {
            "is_ok" => Some(false),
            "is_err" => Some(true),
            _ => None,
        }
    }

    /// What a method of the query yields, by the pattern that takes its sizes: a value of these, and another where the
    /// tensor has other dimensions; `None` for a method that asks for the error.
    pub(in crate::trace) fn answer(&self, method: &ExprMethodCall) -> Option<(Pat, Expr, Expr)> {
        let held = || parse_quote!(held_value);
        match (method.method.to_string().as_str(), method.args.len()) {
            ("ok", 0) => Some((held(), parse_quote!(Some(held_value)), parse_quote!(None))),
            ("unwrap_or_default", 0) => {
                let zeros = vec![quote::quote!(0); self.rank];
                let zeros = if self.rank == 1 { parse_quote!(0) } else { parse_quote!((#(#zeros),*)) };
                Some((held(), parse_quote!(held_value), zeros))
            }
            ("is_ok_and", 1) => of_option("is_some_and", method),
            (name @ ("unwrap_or" | "map_or"), _) => of_option(name, method),
            (name @ ("unwrap_or_else" | "map_or_else"), _) => of_option(name, &without_error(method)?),
            _ => None,
        }
    }
}

/// `query.map(f).unwrap_or(x)` and the like as `query.ok().map(f).unwrap_or(x)`; `None` for any other call.
pub(in crate::trace) fn with_mapped_option(call: &ExprMethodCall) -> Option<ExprMethodCall> {
    let Expr::MethodCall(map) = &*call.receiver else { return None };
    SizeQuery::of(&map.receiver).filter(|_| map.method == "map")?;
    let mut mapped = map.clone();
    let sizes = &map.receiver;
    *mapped.receiver = parse_quote_spanned!(sizes.span()=> #sizes.ok());
    let mut outer = match call.method.to_string().as_str() {
        "ok" => return Some(mapped),
        "unwrap_or" | "unwrap_or_default" | "map_or" => call.clone(),
        "unwrap_or_else" | "map_or_else" => without_error(call)?,
        _ => return None,
    };
    *outer.receiver = mapped.into();
    Some(outer)
}

/// What the method of an option yields, of what is there and where nothing is.
fn of_option(name: &str, method: &ExprMethodCall) -> Option<(Pat, Expr, Expr)> {
    let choice = matched(name, method).ok()?;
    let [some, none] = choice.arms.try_into().ok()?;
    match some.pat {
        Pat::TupleStruct(held) => Some((held.elems.into_iter().next()?, *some.body, *none.body)),
        _ => None,
    }
}

/// The method with a closure of nothing in place of the first, which does not look at the error that it is handed.
fn without_error(method: &ExprMethodCall) -> Option<ExprMethodCall> {
    let mut method = method.clone();
    let Some(Expr::Closure(closure)) = method.args.first_mut() else { return None };
    let error = closure.inputs.first().filter(|_| closure.inputs.len() == 1)?;
    if !is_plain(error) || uses(&closure.body, error) {
        return None;
    }
    closure.inputs.clear();
    Some(method)
}
