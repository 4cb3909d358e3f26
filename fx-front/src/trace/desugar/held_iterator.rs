//! Loops whose iterations ask an iterator that a variable holds: which it is, and by what number each asks.

use proc_macro2::Ident;
use quote::{ToTokens, format_ident};
use syn::{Expr, parse_quote_spanned, visit::Visit, visit_mut::VisitMut};

use crate::syntax::count_of;

/// What asks for the element of a iteration, instead of `next`.
pub(in crate::trace) const NTH: &str = "fx_nth";

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
pub(in crate::trace) fn is_one_by_one(expr: &Expr) -> bool {
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
pub(in crate::trace) fn is_plain(over: &Expr) -> bool {
    match over {
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::MethodCall(call) => call.method != "enumerate" && call.method != "zip" && is_plain(&call.receiver),
        _ => true,
    }
}

/// The places whose `next` every iteration of a loop with this body asks for once, and that it does not mention elsewhere.
pub(in crate::trace) fn asked_once(body: &syn::Block) -> Vec<Expr> {
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

/// The code with `place.next()` as a question for the element of the iteration's number.
pub(in crate::trace) fn by_number(code: &mut syn::Block, place: &Expr, turn: &Ident) {
    Turned { place, turn }.visit_block_mut(code);
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
