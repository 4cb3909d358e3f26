//! What asks a whole chain of adaptors for one value: `sum`, `any`, `try_fold`, `unzip`.

use fx_ir::HostOp;
use quote::format_ident;
use syn::{Expr, ExprMethodCall, parse_quote_spanned, spanned::Spanned};

use crate::trace::{
    Result, Tracer, Ty, Val,
    desugar::{
        iterator_chain::{is_chain, is_plain_closure, plain},
        match_tuple::mentions,
    },
    expr::is_copy,
    opaque::effects::each_target,
    types::operand::is_untyped,
};

impl Tracer<'_> {
    /// The value of such a call; `None` if it is none.
    pub(in crate::trace) fn ended(&mut self, call: &ExprMethodCall) -> Option<Result<Val>> {
        if !is_chain(&call.receiver) {
            return None;
        }
        let (span, over) = (call.method.span(), &call.receiver);
        let args: Vec<&Expr> = call.args.iter().collect();
        match (call.method.to_string().as_str(), args.as_slice()) {
            ("sum" | "product" | "max" | "min" | "count", []) => self.reduced(call),
            (name @ ("any" | "all"), [Expr::Closure(closure)]) if is_plain_closure(closure, 1) => {
                let (item, body, is_any) = (plain(&closure.inputs[0]), &closure.body, name == "any");
                let test: Expr =
                    if is_any { parse_quote_spanned!(span=> #body) } else { parse_quote_spanned!(span=> !(#body)) };
                // What comes behind the one that decides is not asked.
                let open: Expr =
                    if is_any { parse_quote_spanned!(span=> !fx_found) } else { parse_quote_spanned!(span=> fx_found) };
                let each = if self.changes(over) {
                    parse_quote_spanned!(span=> for #item in #over { if #test { fx_found = #is_any; break; } })
                } else {
                    parse_quote_spanned!(span=> for #item in #over { if #open { if #test { fx_found = #is_any; } } })
                };
                let first = Val::Lit(fx_ir::Arg::Bool(!is_any), Ty::Rust("bool".to_owned()));
                Some(self.looped(&format_ident!("fx_found", span = span), first, &each))
            }
            ("try_fold", [init, Expr::Closure(closure)]) if is_plain_closure(closure, 2) && self.errors_propagate() => {
                let syn::Pat::Ident(acc) = plain(&closure.inputs[0]) else { return None };
                let (acc, item, body) = (&acc.ident, plain(&closure.inputs[1]), &closure.body);
                if mentions(over, acc) {
                    return None;
                }
                let each = parse_quote_spanned!(span=> for #item in #over { #acc = (#body)?; });
                Some(self.expr(init).and_then(|first| self.looped(acc, first, &each)))
            }
            ("unzip", []) => self.unzipped(call),
            _ => None,
        }
    }

    /// May the chain itself change something, beside what it hands over?
    fn changes(&self, chain: &Expr) -> bool {
        let Expr::MethodCall(call) = chain else { return false };
        let mut found = false;
        for closure in call.args.iter().filter(|arg| matches!(arg, Expr::Closure(_))) {
            each_target(closure, &|call| self.mutates(call), &mut |_| found = true);
        }
        found || self.changes(&call.receiver)
    }

    /// The sum of numbers or tensors, and the like, of the list that they are gathered in.
    fn reduced(&mut self, call: &ExprMethodCall) -> Option<Result<Val>> {
        let mark = self.checkpoint();
        let list = self.items_of(&call.receiver);
        let element = match list.as_ref().map(Val::ty) {
            Ok(Ty::List(element)) => *element,
            _ => Ty::Unknown,
        };
        let name = call.method.to_string();
        let known = match name.as_str() {
            "sum" | "product" => {
                (is_copy(&element) && !is_untyped(&element)) || (element == Ty::Tensor && name == "sum")
            }
            "count" => element != Ty::Unknown,
            _ => matches!(&element, Ty::Rust(ty) if ty == "i64" || ty == "usize"),
        };
        let spelled = self.spelling(&element).filter(|_| known);
        let (Some(spelled), Ok(list)) = (spelled, list) else {
            self.rollback(mark);
            return None;
        };
        let (op, ty) = match name.as_str() {
            "sum" => (HostOp::Sum(spelled), element),
            "product" => (HostOp::Product(spelled), element),
            "count" => (HostOp::Method("len".to_owned()), Ty::Rust("usize".to_owned())),
            _ => (HostOp::Extremum(name.clone()), Ty::Option(Box::new(element))),
        };
        let list = self.operand(&list, call.span());
        Some(list.map(|list| self.host(op, vec![list], &name, ty, call.method.span())))
    }

    /// The list itself that a chain begins with and does nothing to, or what the chain yields as a list of its own.
    fn items_of(&mut self, chain: &Expr) -> Result<Val> {
        match chain {
            Expr::MethodCall(call) if call.args.is_empty() && (call.method == "iter" || call.method == "into_iter") => {
                self.expr(&call.receiver)
            }
            chain => self.gathered(chain),
        }
    }

    /// What the chain yields as a list.
    pub(in crate::trace) fn gathered(&mut self, chain: &Expr) -> Result<Val> {
        let span = chain.span();
        let items = format_ident!("fx_items", span = span);
        let each = parse_quote_spanned!(span=> for fx_gathered in #chain { #items.push(fx_gathered); });
        self.looped(&items, Val::List(Vec::new()), &each)
    }

    /// `let (a, b): (Vec<_>, Vec<_>) = xs.iter().map(..).unzip()`: two lists that one loop fills.
    fn unzipped(&mut self, call: &ExprMethodCall) -> Option<Result<Val>> {
        let Expr::MethodCall(map) = &*call.receiver else { return None };
        let (Some(Expr::Closure(closure)), true) = (map.args.first(), map.method == "map") else { return None };
        if !is_plain_closure(closure, 1) {
            return None;
        }
        let (span, over, item, body) = (call.method.span(), &map.receiver, plain(&closure.inputs[0]), &closure.body);
        let each = parse_quote_spanned!(span=> for #item in #over {
            let (fx_one, fx_other) = #body;
            fx_left.push(fx_one);
            fx_right.push(fx_other);
        });
        self.env.open();
        for name in ["fx_left", "fx_right"] {
            self.env.declare(name, Val::List(Vec::new()));
        }
        let done = self.for_loop(&each);
        let lists = ["fx_left", "fx_right"].map(|name| self.env.read(name).cloned().unwrap_or(Val::Unit));
        self.env.close();
        Some(done.map(|_| Val::Tuple(lists.to_vec())))
    }
}
