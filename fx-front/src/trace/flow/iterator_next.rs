//! Loops over iterators that variables hold, and loops whose iterations ask one for its elements.
//!
//! A iteration that asks once, whatever happens in it, asks for the element of its own number, which is known when the model is
//! frozen where the loop is over layers; any other loop carries the number of elements that were taken.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{contains_return, enclosed::operand};
use crate::trace::{
    Result, Tracer, Val,
    desugar::{
        held_iterator::{asked_once, by_number, is_one_by_one, is_plain, iterator_root},
        jumps,
    },
    flow::iterator_value::{Sources, usize_ty},
    unsupported,
};

/// Traces a loop that has been rewritten.
pub(in crate::trace) type ForLoops<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>, &syn::ExprForLoop) -> Result<Val>;

impl<'a> Tracer<'a> {
    /// A loop over an iterator that a variable holds, or that takes its elements iteration by iteration; `None` for any other.
    pub(in crate::trace) fn over_iterator(
        &mut self,
        each: &syn::ExprForLoop,
        trace_for: ForLoops<'_, 'a>,
    ) -> Option<Result<Val>> {
        if let Some(turns) = self.asked_in_turns(each) {
            return Some(trace_for(self, &turns));
        }
        let (is_held, borrowed) = (self.mentions_iterator(&each.expr), iterator_root(&each.expr));
        if !is_held {
            return self.stepped(each, trace_for);
        }
        let mut each = each.clone();
        if let Some(borrowed) = borrowed {
            if !is_one_by_one(&each.expr) {
                return Some(unsupported(each.expr.span(), "adaptors on an iterator that is used again"));
            }
            let (span, stmts) = (borrowed.span(), &each.body.stmts);
            each.body = parse_quote_spanned!(span=> { #borrowed.next(); #(#stmts)* });
        }
        let mut sources = Sources::new();
        match self.chain_of(&each.expr, &mut sources) {
            Ok(Some(chain)) => {
                *each.expr = chain;
                Some(self.with_variables(&sources, |tracer| trace_for(tracer, &each)))
            }
            Ok(None) => Some(unsupported(each.expr.span(), "an iterator of this form")),
            Err(fault) => Some(Err(fault)),
        }
    }

    /// Whether the chain begins with an iterator that is held, or is zipped with one.
    fn mentions_iterator(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Paren(inner) => self.mentions_iterator(&inner.expr),
            Expr::MethodCall(call) => {
                let zipped = call.method == "zip" && call.args.first().is_some_and(|arg| self.mentions_iterator(arg));
                zipped || self.mentions_iterator(&call.receiver)
            }
            place => self.iterator_at(place).is_some(),
        }
    }

    /// `for (a, b) in list.iter().zip(it.by_ref())`, whose iterations ask `it` for the second element.
    fn asked_in_turns(&self, each: &syn::ExprForLoop) -> Option<syn::ExprForLoop> {
        let Expr::MethodCall(zip) = &*each.expr else { return None };
        let other = zip.args.first().filter(|_| zip.method == "zip")?;
        let held = iterator_root(other)?;
        self.iterator_at(&held)?;
        let syn::Pat::Tuple(pair) = &*each.pat else { return None };
        let (a, b, over, body) = (pair.elems.first()?, pair.elems.get(1)?, &zip.receiver, &each.body);
        Some(parse_quote_spanned!(each.for_token.span=> for #a in #over {
            match #held.next() { Some(#b) => #body, None => break }
        }))
    }

    /// A loop each of whose iterations asks an iterator once: for the element of the iteration's number.
    fn stepped(&mut self, each: &syn::ExprForLoop, trace_for: ForLoops<'_, 'a>) -> Option<Result<Val>> {
        if jumps::jumps(&each.body) || contains_return(&Expr::ForLoop(each.clone())) {
            return None;
        }
        let test = asked_once(&each.body);
        let held = test.into_iter().find(|place| self.iterator_at(place).is_some())?;
        let (mark, mut sources) = (self.checkpoint(), Sources::new());
        let done = match self.counted_source(&each.expr, &mut sources) {
            Ok(Some(over)) => {
                self.with_variables(&sources, |tracer| tracer.stepped_over(each, &over, &held, trace_for))
            }
            Ok(None) => unsupported(each.expr.span(), "a loop of this form"),
            Err(fault) => Err(fault),
        };
        // As a loop that carries the number it may be understood as well.
        done.map_or_else(
            |_| {
                self.rollback(mark);
                None
            },
            |value| Some(Ok(value)),
        )
    }

    /// What a loop runs over, whose lists have names, so that it can be asked for its length too.
    fn counted_source(&mut self, over: &Expr, sources: &mut Sources) -> Result<Option<Expr>> {
        match over {
            Expr::Paren(inner) => self.counted_source(&inner.expr, sources),
            Expr::MethodCall(_) => self.chain_of(over, sources),
            Expr::Range(range) if range.start.is_some() && range.end.is_some() => self.range_with_names(range, sources),
            list => {
                let list = self.source(list, sources)?.map(|list| operand(&list));
                Ok(list.map(|list| parse_quote_spanned!(over.span()=> #list.into_iter())))
            }
        }
    }

    fn stepped_over(
        &mut self,
        each: &syn::ExprForLoop,
        over: &Expr,
        held: &Expr,
        trace_for: ForLoops<'_, 'a>,
    ) -> Result<Val> {
        let span = each.for_token.span;
        if !is_plain(over) {
            return unsupported(span, "a loop of this form");
        }
        let turn = self.fresh_name("turn", span);
        let (pat, mut body) = (&each.pat, each.body.clone());
        by_number(&mut body, held, &turn);
        let turns: syn::ExprForLoop = parse_quote_spanned!(span=> for (#turn, #pat) in #over.enumerate() #body);
        let value = trace_for(self, &turns)?;
        let count = self.count_of(over)?;
        let Some((place, chain, at)) = self.iterator_at(held) else {
            return unsupported(span, "an iterator of this form");
        };
        let at = self.plus(at, &count, span)?;
        self.set_local(&place, Val::Iter(chain, Box::new(at)), span)?;
        Ok(value)
    }

    /// How many iterations a loop over this takes.
    fn count_of(&mut self, over: &Expr) -> Result<Val> {
        let (over, items) = self.iterable(over)?;
        if let Some(items) = items {
            return Ok(Val::Lit(Arg::Int(i64::try_from(items.len()).unwrap_or(0)), usize_ty()));
        }
        let op = HostOp::Count(over.adaptors);
        Ok(self.host_node(op, vec![over.source.into()], "count", usize_ty(), Span::call_site()))
    }
}
