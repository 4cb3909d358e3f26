//! Iterators that variables hold: `let mut layers = self.layers.iter();`.
//!
//! Such a variable stands for the chain of adaptors that it was made by, on the lists as they were there, and for the
//! number of elements that were taken since. A loop over it is a loop over the chain behind those; `next` asks the list
//! for the element of that number. The number is a value like any other: branches and loops hand it over.

use std::rc::Rc;

use fx_ir::Arg;
use proc_macro2::Span;
use quote::ToTokens;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::integer_literal;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    call::closure_call::handed_on,
    desugar::{
        closure_form::is_plain_closure,
        held_iterator::{NTH, iterator_root, root},
    },
    place::local_place::LocalPlace,
    unsupported,
};

/// How an iterator was made.
#[derive(Debug)]
pub(in crate::trace) struct IteratorValue {
    /// The adaptors, with a name for each list.
    expr: Expr,
    /// The lists.
    sources: Sources,
}

/// The lists of a chain by the names that they have in it.
pub(in crate::trace) type Sources = Vec<(String, Val)>;

pub(in crate::trace) fn usize_ty() -> Ty {
    Ty::Rust("usize".to_owned())
}

impl Tracer<'_> {
    /// The iterator that a `let` binds; `None` if the expression is none that is known here.
    pub(in crate::trace) fn iterator_of(&mut self, expr: &Expr) -> Result<Option<Val>> {
        if !matches!(expr, Expr::MethodCall(_)) {
            return Ok(None);
        }
        let (mark, mut sources) = (self.checkpoint(), Sources::new());
        let Some(expr) = self.chain_of(expr, &mut sources)? else {
            self.rollback(mark);
            return Ok(None);
        };
        let start = Val::Lit(Arg::Int(0), usize_ty());
        Ok(Some(Val::Iter(Rc::new(IteratorValue { expr, sources }), Box::new(start))))
    }

    /// The chain with a name for each list in it; `None` for an expression of another form.
    pub(in crate::trace) fn chain_of(&mut self, expr: &Expr, sources: &mut Sources) -> Result<Option<Expr>> {
        let call = match expr {
            Expr::Paren(inner) => return self.chain_of(&inner.expr, sources),
            Expr::MethodCall(call) => call,
            place => return Ok(self.chain_at(place, sources)),
        };
        let (name, args) = (call.method.to_string(), call.args.iter().collect::<Vec<&Expr>>());
        let inner = match (name.as_str(), args.as_slice()) {
            ("by_ref", []) => return self.chain_of(&call.receiver, sources),
            ("iter" | "into_iter", []) => match self.chain_of(&call.receiver, sources)? {
                Some(chain) => return Ok(Some(chain)),
                None => self.source(&call.receiver, sources)?,
            },
            ("skip" | "take", [count]) if integer_literal(count).is_none() => None,
            ("enumerate" | "rev" | "copied" | "cloned", []) | ("skip" | "take" | "zip", [_]) => {
                self.chain_of(&call.receiver, sources)?
            }
            ("map", [Expr::Closure(closure)])
                if is_plain_closure(closure, 1) && self.writes(&closure.body).is_empty() =>
            {
                self.chain_of(&call.receiver, sources)?
            }
            _ => None,
        };
        let Some(receiver) = inner else { return Ok(None) };
        let mut call = syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() };
        if name == "zip"
            && let Some(other) = call.args.first_mut()
        {
            let known = self.chain_of(other, sources)?;
            let Some(list) = known.map_or_else(|| self.source(other, sources), |known| Ok(Some(known)))? else {
                return Ok(None);
            };
            *other = list;
        }
        if let Some(Expr::Closure(closure)) = call.args.first_mut() {
            *closure = self.named_closure(closure, sources);
        }
        Ok(Some(Expr::MethodCall(call)))
    }

    /// A closure that calls this one by a name: it sees the variables of the place where it is written, wherever the
    /// iterator is asked.
    fn named_closure(&mut self, closure: &syn::ExprClosure, sources: &mut Sources) -> syn::ExprClosure {
        let span = closure.span();
        let name = self.fresh_name("closure", span);
        sources.push((name.to_string(), handed_on(self.closure(closure))));
        parse_quote_spanned!(span=> |fx_item| #name(fx_item))
    }

    /// What is left of the iterator that is held there.
    fn chain_at(&mut self, place: &Expr, sources: &mut Sources) -> Option<Expr> {
        let (_, chain, at) = self.iterator_at(place)?;
        sources.extend(chain.sources.iter().cloned());
        let (inner, span) = (&chain.expr, place.span());
        if matches!(at, Val::Lit(Arg::Int(0), _)) {
            return Some(inner.clone());
        }
        if let Val::Lit(Arg::Int(count), _) = at {
            let count = syn::LitInt::new(&count.to_string(), span);
            return Some(parse_quote_spanned!(span=> #inner.skip(#count)));
        }
        let count = self.fresh_name("at", span);
        sources.push((count.to_string(), at));
        Some(parse_quote_spanned!(span=> #inner.skip(#count)))
    }

    /// The place of an iterator, how it was made, and how far it has come.
    pub(in crate::trace) fn iterator_at(&self, place: &Expr) -> Option<(LocalPlace, Rc<IteratorValue>, Val)> {
        let place = match place {
            Expr::Reference(borrowed) if borrowed.mutability.is_some() => &borrowed.expr,
            place => place,
        };
        let place = self.local_place(place)?;
        match self.held(&place)?.clone().behind() {
            Val::Iter(chain, at) => Some((place, chain, *at)),
            _ => None,
        }
    }

    /// A list under a name of its own.
    pub(in crate::trace) fn source(&mut self, list: &Expr, sources: &mut Sources) -> Result<Option<Expr>> {
        let value = self.expr(list)?;
        let is_known = matches!((&value, value.ty()), (Val::Node(..) | Val::List(_), Ty::List(element)) if *element != Ty::Unknown);
        if !is_known {
            return Ok(None);
        }
        let name = self.fresh_name("list", list.span());
        sources.push((name.to_string(), value));
        Ok(Some(parse_quote_spanned!(list.span()=> #name)))
    }

    /// A call at the end of adaptors on an iterator that a variable holds: `collect`, `fold`: the same
    /// call on the chain of adaptors, and the lists of that; `None` for any other.
    pub(in crate::trace) fn on_held(
        &mut self,
        call: &syn::ExprMethodCall,
    ) -> Result<Option<(Sources, syn::ExprMethodCall)>> {
        let is_end = ["collect", "collect_vec", "fold", "for_each"].iter().any(|name| call.method == name);
        let held = root(&call.receiver).filter(|root| is_end && self.iterator_at(root).is_some());
        if held.is_none() || iterator_root(&call.receiver).is_some() {
            return Ok(None);
        }
        let mut sources = Sources::new();
        let mut call = call.clone();
        let under = match &mut *call.receiver {
            Expr::MethodCall(map) if map.method == "map" => &mut *map.receiver,
            receiver => receiver,
        };
        let Some(chain) = self.chain_of(&under.clone(), &mut sources)? else { return Ok(None) };
        *under = chain;
        Ok(Some((sources, call)))
    }

    /// `it.next()`, and the like; `None` if the receiver is no iterator that is held, or the method another.
    pub(in crate::trace) fn iterator_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let Some((place, chain, at)) = self.iterator_at(&call.receiver) else { return Ok(None) };
        let (name, span) = (call.method.to_string(), call.span());
        match (name.as_str(), call.args.first()) {
            ("next", None) => {
                let value = self.element_after(&chain, &chain.expr, at.clone(), span)?;
                let next = self.plus(at, &Val::Lit(Arg::Int(1), usize_ty()), span)?;
                self.set_local(&place, Val::Iter(chain, Box::new(next)), span)?;
                Ok(Some(value))
            }
            (NTH, Some(turn)) => {
                let turn = self.expr(turn)?;
                let at = self.plus(at, &turn, span)?;
                self.element_after(&chain, &chain.expr, at, span).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(in crate::trace) fn plus(&mut self, at: Val, by: &Val, span: Span) -> Result<Val> {
        match (&at, by) {
            (_, Val::Lit(Arg::Int(0), _)) => Ok(at),
            (Val::Lit(Arg::Int(0), _), by) => Ok(by.clone()),
            _ => self.arithmetic(&syn::BinOp::Add(syn::token::Plus::default()), at, by.clone(), span),
        }
    }

    /// The element of that number, if there is one.
    fn element_after(&mut self, chain: &IteratorValue, expr: &Expr, at: Val, span: Span) -> Result<Val> {
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

    /// The number of the element that is `at` from behind in a list: one that no list has where there is none.
    fn number_from_behind(&mut self, chain: &IteratorValue, over: &Expr, at: Val, span: Span) -> Result<Val> {
        let Expr::MethodCall(syn::ExprMethodCall { receiver: list, method, .. }) = over else {
            return unsupported(span, "`next` of an iterator by `rev`");
        };
        if method != "iter" && method != "into_iter" {
            return unsupported(span, format!("`next` of an iterator by `rev` of `{method}`"));
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
