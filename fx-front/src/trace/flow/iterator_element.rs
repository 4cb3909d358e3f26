//! The elements that iterators are asked for by their numbers.

use fx_ir::Arg;
use proc_macro2::Span;
use quote::ToTokens;
use syn::{Expr, parse_quote_spanned};

use crate::syntax::integer_literal;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    flow::iterator_value::{IteratorValue, Sources, usize_ty},
    unsupported,
};

impl Tracer<'_> {
    /// The element of that number, if there is one.
    pub(in crate::trace) fn element_after(
        &mut self,
        chain: &IteratorValue,
        expr: &Expr,
        at: Val,
        span: Span,
    ) -> Result<Val> {
        let Expr::MethodCall(call) = expr else { return self.element(chain, expr, &at, span) };
        let count = call.args.first().and_then(integer_literal);
        match (call.method.to_string().as_str(), count, &at) {
            ("iter" | "into_iter", ..) => self.element(chain, &call.receiver, &at, span).map(|value| match value {
                Val::Some(inner) if call.method == "iter" => Val::Some(Box::new(inner.borrowed())),
                value if call.method == "iter" && value.ref_kind() == Some(RefKind::Value) => value.borrowed(),
                value => value,
            }),
            ("skip", Some(count), _) => {
                let at = self.plus(at, &Val::Lit(Arg::Int(count), usize_ty()), span)?;
                self.element_after(chain, &call.receiver, at, span)
            }
            ("take", Some(count), Val::Lit(Arg::Int(number), _)) => {
                if *number < count {
                    self.element_after(chain, &call.receiver, at, span)
                } else {
                    Ok(nothing())
                }
            }
            ("enumerate", ..) => {
                let inner = self.element_after(chain, &call.receiver, at.clone(), span)?;
                paired(at, inner, span)
            }
            ("zip", ..) => {
                let Some(other) = call.args.first() else { return unsupported(span, "an iterator of this form") };
                let one = self.element_after(chain, &call.receiver, at.clone(), span)?;
                let other = self.element_after(chain, other, at, span)?;
                self.both(one, other, span)
            }
            ("copied" | "cloned", ..) => {
                let inner = self.element_after(chain, &call.receiver, at, span)?;
                copied(inner).map_or_else(|| unsupported(span, "`next` of an iterator that clones"), Ok)
            }
            ("map", ..) => {
                let (inner, option) =
                    (self.element_after(chain, &call.receiver, at, span)?, self.fresh_name("next", span));
                let (map, args) = (&call.method, &call.args);
                let mapped: Expr = parse_quote_spanned!(span=> #option.#map(#args));
                let option = (option.to_string(), inner);
                let variables: Sources = chain.sources.iter().cloned().chain([option]).collect();
                self.with_variables(&variables, |tracer| tracer.expr(&mapped))
            }
            ("rev", ..) => {
                let at = self.number_from_behind(chain, &call.receiver, at, span)?;
                self.element_after(chain, &call.receiver, at, span)
            }
            (name, ..) => unsupported(span, format!("`next` of an iterator by `{name}`")),
        }
    }

    /// The pair of what two options hold, where both hold something.
    fn both(&mut self, one: Val, other: Val, span: Span) -> Result<Val> {
        match (one, other) {
            (Val::Some(one), Val::Some(other)) => Ok(Val::Some(Box::new(Val::Tuple(vec![*one, *other])))),
            (Val::Lit(Arg::None, _), _) | (_, Val::Lit(Arg::None, _)) => Ok(nothing()),
            (one, other) => {
                let names = [self.fresh_name("one", span), self.fresh_name("other", span)];
                let [first, second] = &names;
                let (pair, one, other): (Expr, Val, Val) = match (one, other) {
                    (Val::Some(one), other) => {
                        (parse_quote_spanned!(span=> #second.map(|fx_item| (#first, fx_item))), *one, other)
                    }
                    (one, Val::Some(other)) => {
                        (parse_quote_spanned!(span=> #first.map(|fx_item| (fx_item, #second))), one, *other)
                    }
                    (one, other) => (parse_quote_spanned!(span=> #first.zip(#second)), one, other),
                };
                let variables = [(first.to_string(), one), (second.to_string(), other)];
                self.with_variables(&variables, |tracer| tracer.expr(&pair))
            }
        }
    }

    /// The number of the element that is `at` from behind in a list: one that no list has where there is none.
    fn number_from_behind(&mut self, chain: &IteratorValue, over: &Expr, at: Val, span: Span) -> Result<Val> {
        let Expr::MethodCall(syn::ExprMethodCall { receiver: list, method, .. }) = over else {
            return unsupported(span, "`next` of an iterator by `rev`");
        };
        if method != "iter" && method != "into_iter" {
            return unsupported(span, format!("`next` of an iterator by `rev` of `{method}`"));
        }
        let name = list.to_token_stream().to_string();
        if let (Val::Lit(Arg::Int(at), _), Some((_, Val::List(items)))) =
            (&at, chain.sources.iter().find(|(known, _)| *known == name))
        {
            let number = i64::try_from(items.len()).unwrap_or(0) - 1 - at;
            return Ok(Val::Lit(Arg::Int(number), usize_ty()));
        }
        let behind = self.plus(at, &Val::Lit(Arg::Int(1), usize_ty()), span)?;
        let mut variables = chain.sources.clone();
        variables.push(("fx_behind".to_owned(), behind));
        let number: Expr = parse_quote_spanned!(span=> #list.len().wrapping_sub(fx_behind));
        self.with_variables(&variables, |tracer| tracer.expr(&number))
    }

    /// The element of a list.
    fn element(&mut self, chain: &IteratorValue, list: &Expr, at: &Val, span: Span) -> Result<Val> {
        let name = list.to_token_stream().to_string();
        let Some((_, list)) = chain.sources.iter().find(|(known, _)| *known == name) else {
            return unsupported(span, "an iterator of this form");
        };
        self.element_taken(list, at, span)
    }
}

/// `(number, element)`, if there is one.
fn paired(at: Val, option: Val, span: Span) -> Result<Val> {
    match option {
        Val::Some(inner) => Ok(Val::Some(Box::new(Val::Tuple(vec![at, *inner])))),
        Val::Lit(Arg::None, _) => Ok(nothing()),
        _ => unsupported(span, "`next` of an iterator that counts"),
    }
}

/// The option of an element with what it refers to in the element's place; `None` where that is not copied.
fn copied(option: Val) -> Option<Val> {
    let is_copied = |ty: &Ty| *ty == Ty::Tensor || is_copy(ty);
    match option {
        Val::Some(inner) if is_copied(&inner.ty()) => {
            let kind = inner.ref_kind().map(RefKind::behind);
            Some(Val::Some(Box::new(match kind {
                Some(kind) => inner.with_ref_kind(kind),
                None => *inner,
            })))
        }
        Val::Node(_, Ty::Option(ref held), kind) if is_copied(held) => Some(option.with_ref_kind(kind.behind())),
        Val::Lit(Arg::None, _) => Some(option),
        _ => None,
    }
}

fn nothing() -> Val {
    Val::Lit(Arg::None, Ty::Option(Box::new(Ty::Unknown)))
}
