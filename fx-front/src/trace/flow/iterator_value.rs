//! Iterators that variables hold: `let mut layers = self.layers.iter();`.
//!
//! Such a variable stands for the chain of adaptors that it was made by, on the lists as they were there, and for the
//! number of elements that were taken since. A loop over it is a loop over the chain behind those; `next` asks the list
//! for the element of that number. The number is a value like any other: branches and loops hand it over.

use std::rc::Rc;

use fx_ir::Arg;
use proc_macro2::Span;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::integer_literal;
use crate::trace::{
    Result, Tracer, Ty, Val,
    desugar::{
        closure_form::is_plain_closure,
        held_iterator::{NTH, iterator_root, root},
    },
    place::local_place::LocalPlace,
};

/// How an iterator was made.
#[derive(Debug)]
pub(in crate::trace) struct IteratorValue {
    /// The adaptors, with a name for each list.
    pub(in crate::trace) expr: Expr,
    /// The lists.
    pub(in crate::trace) sources: Sources,
}

/// The lists of a chain by the names that they have in it.
pub(in crate::trace) type Sources = Vec<(String, Val)>;

pub(in crate::trace) fn usize_ty() -> Ty {
    Ty::Rust("usize".to_owned())
}

impl Tracer<'_> {
    /// The iterator that a `let` binds; `None` if the expression is none that is known here.
    pub(in crate::trace) fn iterator_of(&mut self, expr: &Expr) -> Result<Option<Val>> {
        if !matches!(expr, Expr::MethodCall(_)) || self.borrows_iterator(expr) {
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

    /// The same; `None` as well where something in it is not understood.
    pub(in crate::trace) fn known_iterator(&mut self, expr: &Expr) -> Option<Val> {
        let mark = self.checkpoint();
        let iterator = self.iterator_of(expr).ok().flatten();
        if iterator.is_none() {
            self.rollback(mark);
        }
        iterator
    }

    /// Whether the chain takes elements out of an iterator that a variable goes on to hold: `it.by_ref().skip(1)`.
    fn borrows_iterator(&self, chain: &Expr) -> bool {
        iterator_root(chain).is_some_and(|root| self.iterator_at(&root).is_some())
    }

    /// The chain with a name for each list in it; `None` for an expression of another form.
    pub(in crate::trace) fn chain_of(&mut self, expr: &Expr, sources: &mut Sources) -> Result<Option<Expr>> {
        let call = match expr {
            Expr::Paren(inner) => return self.chain_of(&inner.expr, sources),
            Expr::Range(range) => return self.range_with_names(range, sources),
            Expr::MethodCall(call) => call,
            place => return Ok(self.chain_at(place, sources)),
        };
        let (name, args) = (call.method.to_string(), call.args.iter().collect::<Vec<&Expr>>());
        let inner = match (name.as_str(), args.as_slice()) {
            // What was looked at is asked for again, as nothing but its number says which it is.
            ("by_ref" | "peekable", []) => return self.chain_of(&call.receiver, sources),
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
            if self.borrows_iterator(other) {
                return Ok(None);
            }
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

    /// A range with a name for each of its ends; `None` where one is left open.
    pub(in crate::trace) fn range_with_names(
        &mut self,
        range: &syn::ExprRange,
        sources: &mut Sources,
    ) -> Result<Option<Expr>> {
        let (Some(start), Some(end), limits) = (&range.start, &range.end, &range.limits) else { return Ok(None) };
        let span = range.span();
        let mut named = |end: &Expr| {
            let value = self.expr(end)?;
            let name = self.fresh_name("end", span);
            sources.push((name.to_string(), value));
            Ok(name)
        };
        let (start, end) = (named(start)?, named(end)?);
        Ok(Some(parse_quote_spanned!(span=> (#start #limits #end))))
    }

    /// A closure that calls this one by a name: it sees the variables of the place where it is written, wherever the
    /// iterator is asked.
    fn named_closure(&mut self, closure: &syn::ExprClosure, sources: &mut Sources) -> syn::ExprClosure {
        let span = closure.span();
        let name = self.fresh_name("closure", span);
        sources.push((name.to_string(), self.closure(closure).handed_on()));
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
        let (name, span) = (call.method.to_string(), call.span());
        let Some((place, chain, at)) = self.iterator_at(&call.receiver) else {
            return Ok((name == "next" && call.args.is_empty())
                .then(|| self.first_in_chain(&call.receiver, span))
                .flatten());
        };
        match (name.as_str(), call.args.first()) {
            ("next", None) => {
                let value = self.element_after(&chain, &chain.expr, at.clone(), span)?;
                let next = self.plus(at, &Val::Lit(Arg::Int(1), usize_ty()), span)?;
                self.set_local(&place, Val::Iter(chain, Box::new(next)), span)?;
                Ok(Some(value))
            }
            ("peek", None) if !computes(&chain.expr) => {
                let value = self.element_after(&chain, &chain.expr, at, span)?;
                Ok(Some(match value {
                    Val::Some(inner) => Val::Some(Box::new(inner.borrowed())),
                    value => value.borrowed(),
                }))
            }
            (NTH, Some(turn)) => {
                let turn = self.expr(turn)?;
                let at = self.plus(at, &turn, span)?;
                self.element_after(&chain, &chain.expr, at, span).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The first element of a chain that no variable holds; `None` where it is no chain with adaptors that are known here.
    fn first_in_chain(&mut self, chain: &Expr, span: Span) -> Option<Val> {
        if !matches!(chain, Expr::MethodCall(last) if last.method != "iter" && last.method != "into_iter") {
            return None;
        }
        let mark = self.checkpoint();
        if let Some(Val::Iter(chain, at)) = self.known_iterator(chain)
            && let Ok(first) = self.element_after(&chain, &chain.expr, *at, span)
        {
            return Some(first);
        }
        self.rollback(mark);
        None
    }

    pub(in crate::trace) fn plus(&mut self, at: Val, by: &Val, span: Span) -> Result<Val> {
        match (&at, by) {
            (_, Val::Lit(Arg::Int(0), _)) => Ok(at),
            (Val::Lit(Arg::Int(0), _), by) => Ok(by.clone()),
            _ => self.arithmetic(&syn::BinOp::Add(syn::token::Plus::default()), at, by.clone(), span),
        }
    }
}

/// Whether an element of the chain is computed each time that it is asked for.
fn computes(chain: &Expr) -> bool {
    matches!(chain, Expr::MethodCall(call) if call.method == "map" || computes(&call.receiver)
        || call.args.first().is_some_and(computes))
}
