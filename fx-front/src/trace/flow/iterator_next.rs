//! Loops over iterators that variables hold, and loops whose iterations ask one for its elements.
//!
//! A iteration that asks once, whatever happens in it, asks for the element of its own number, which is known when the model is
//! frozen where the loop is over layers; any other loop carries the number of elements that were taken.

use fx_ir::{Arg, HostOp};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::{Expr, parse_quote_spanned, spanned::Spanned, visit::Visit, visit_mut::VisitMut};

use crate::syntax::contains_return;
use crate::syntax::count_of;
use crate::trace::{
    Result, Tracer, Val,
    desugar::jumps,
    flow::iterator_value::{NTH, Sources, usize_ty},
    unsupported,
};

impl Tracer<'_> {
    /// A loop over an iterator that a variable holds, or that takes its elements iteration by iteration; `None` for any other.
    pub(in crate::trace) fn over_iterator(&mut self, each: &syn::ExprForLoop) -> Option<Result<Val>> {
        if let Some(turns) = self.asked_in_turns(each) {
            return Some(self.for_loop(&turns));
        }
        let (is_held, borrowed) = (self.mentions_iterator(&each.expr), iterator_root(&each.expr));
        if !is_held {
            return self.stepped(each);
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
                Some(self.with_sources(&sources, |tracer| tracer.for_loop(&each)))
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
    fn stepped(&mut self, each: &syn::ExprForLoop) -> Option<Result<Val>> {
        if jumps::jumps(&each.body) || contains_return(&Expr::ForLoop(each.clone())) {
            return None;
        }
        let test = asked_once(&each.body);
        let held = test.into_iter().find(|place| self.iterator_at(place).is_some())?;
        let (mark, mut sources) = (self.checkpoint(), Sources::new());
        let done = match self.counted_source(&each.expr, &mut sources) {
            Ok(Some(over)) => self.with_sources(&sources, |tracer| tracer.by_number(each, &over, &held)),
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
            Expr::Range(syn::ExprRange { start: Some(start), end: Some(end), limits, .. }) => {
                let mut ends = Vec::new();
                for end in [start, end] {
                    let value = self.expr(end)?;
                    let name = self.fresh_name("end", over.span());
                    sources.push((name.to_string(), value));
                    ends.push(name);
                }
                let [start, end] = ends.as_slice() else { return Ok(None) };
                Ok(Some(parse_quote_spanned!(over.span()=> (#start #limits #end))))
            }
            list => Ok(self.source(list, sources)?.map(|list| parse_quote_spanned!(over.span()=> #list.into_iter()))),
        }
    }

    fn by_number(&mut self, each: &syn::ExprForLoop, over: &Expr, held: &Expr) -> Result<Val> {
        let span = each.for_token.span;
        if !is_plain(over) {
            return unsupported(span, "a loop of this form");
        }
        let turn = self.fresh_name("turn", span);
        let (pat, mut body) = (&each.pat, each.body.clone());
        Turned { place: held, turn: &turn }.visit_block_mut(&mut body);
        let turns: syn::ExprForLoop = parse_quote_spanned!(span=> for (#turn, #pat) in #over.enumerate() #body);
        let value = self.for_loop(&turns)?;
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

/// What a chain of adaptors begins with.
pub(in crate::trace) fn root(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Paren(inner) => root(&inner.expr),
        Expr::MethodCall(call) => root(&call.receiver),
        Expr::Path(_) | Expr::Field(_) => Some(expr),
        Expr::Reference(borrowed) if borrowed.mutability.is_some() => Some(expr),
        _ => None,
    }
}

/// The place of `place.by_ref()` or `&mut place` that the chain begins with.
pub(in crate::trace) fn iterator_root(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Paren(inner) => iterator_root(&inner.expr),
        Expr::MethodCall(call) if call.method == "by_ref" => Some((*call.receiver).clone()),
        Expr::MethodCall(call) => iterator_root(&call.receiver),
        Expr::Reference(borrowed) if borrowed.mutability.is_some() => Some((*borrowed.expr).clone()),
        _ => None,
    }
}

/// Whether each iteration takes one element, and nothing else takes any.
fn is_one_by_one(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_one_by_one(&inner.expr),
        Expr::MethodCall(call) if ["by_ref", "take", "enumerate"].iter().any(|name| call.method == name) => {
            is_one_by_one(&call.receiver)
        }
        Expr::MethodCall(_) => false,
        _ => true,
    }
}

/// Whether it is a list or a range, forwards or backwards, whose elements have no numbers yet.
fn is_plain(over: &Expr) -> bool {
    match over {
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::MethodCall(call) => call.method != "enumerate" && call.method != "zip" && is_plain(&call.receiver),
        _ => true,
    }
}

/// The places whose `next` every iteration of a loop with this body asks for once, and that it does not mention elsewhere.
fn asked_once(body: &syn::Block) -> Vec<Expr> {
    struct Find(Vec<Expr>);
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            if call.method == "next" && call.args.is_empty() && matches!(&*call.receiver, Expr::Path(_)) {
                self.0.push((*call.receiver).clone());
            }
            syn::visit::visit_expr_method_call(self, call);
        }
        fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
            self.visit_expr(&branch.cond);
        }
        fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
            self.visit_expr(&choice.expr);
        }
        fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
            self.visit_expr(&each.expr);
        }
        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            self.visit_expr(&binary.left);
            if !matches!(binary.op, syn::BinOp::And(_) | syn::BinOp::Or(_)) {
                self.visit_expr(&binary.right);
            }
        }
        fn visit_local_init(&mut self, init: &'ast syn::LocalInit) {
            self.visit_expr(&init.expr);
        }
        fn visit_expr_while(&mut self, _: &'ast syn::ExprWhile) {}
        fn visit_expr_loop(&mut self, _: &'ast syn::ExprLoop) {}
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut find = Find(Vec::new());
    find.visit_block(body);
    let text = body.to_token_stream();
    find.0.into_iter().filter(|place| count_of(text.clone(), &place.to_token_stream().to_string()) == 1).collect()
}

/// `place.next()` as a question for the element of an iteration.
struct Turned<'t> {
    place: &'t Expr,
    turn: &'t Ident,
}

impl VisitMut for Turned<'_> {
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        if call.method == "next" && *call.receiver == *self.place {
            let (turn, span) = (self.turn, call.method.span());
            call.method = format_ident!("{NTH}", span = span);
            call.args = parse_quote_spanned!(span=> #turn);
        }
        syn::visit_mut::visit_expr_method_call_mut(self, call);
    }
}
