//! Options: what is one, what `unwrap` yields, and parts of the model that may not be there and whose methods are called
//! all the same.

use fx_ir::{Arg, Effect, HostOp, NodeId, Op};
use syn::spanned::Spanned;

use crate::trace::types::ty::{is_copy, never};
use crate::trace::{RefKind, Result, Tracer, Ty, Val};

impl<'a> Tracer<'a> {
    /// Returns whether the expression is an option as far as its form or its type says.
    pub(in crate::trace) fn is_option(&self, expr: &syn::Expr) -> bool {
        let is_some = match expr {
            syn::Expr::Call(call) => matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Some")),
            _ => false,
        };
        is_some || matches!(self.chain_ty(expr), Ty::Option(_))
    }

    /// `self.part.as_ref().unwrap().forward(xs)` in a branch or a loop, as the `match` that it is: whether the part is there
    /// may be asked by the branch, so that a model without it must not fail when it is frozen.
    pub(in crate::trace) fn on_unwrapped(
        &mut self,
        call: &syn::ExprMethodCall,
        trace_call: &mut dyn FnMut(&mut Tracer<'a>, &syn::ExprMethodCall) -> Result<Val>,
    ) -> Result<Option<Val>> {
        let syn::Expr::MethodCall(unwrap) = &*call.receiver else { return Ok(None) };
        let is_asked = (unwrap.method == "unwrap" && unwrap.args.is_empty()) || unwrap.method == "expect";
        if !is_asked || self.region == self.graph.body() {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let option = self.expr(&unwrap.receiver)?;
        let is_part = matches!((&option, option.ty()), (Val::Node(..), Ty::Option(inner)) if self.is_module(&inner));
        if !is_part || self.path_of(&option).is_none() {
            self.rollback(mark);
            return Ok(None);
        }
        let (span, held) = (call.span(), syn::Ident::new("unwrapped_part", call.span()));
        let on_held = syn::ExprMethodCall { receiver: syn::parse_quote_spanned!(span=> #held), ..call.clone() };
        let pattern = syn::parse_quote_spanned!(span=> Some(#held));
        let value = self.if_matches(
            option.with_ref_kind(RefKind::Ref),
            &pattern,
            span,
            &mut |tracer| trace_call(tracer, &on_held),
            &mut |tracer| Ok(tracer.nothing_there(unwrap)),
        )?;
        Ok(Some(value))
    }

    /// `unwrap` of what is not there.
    pub(in crate::trace) fn nothing_there(&mut self, unwrap: &syn::ExprMethodCall) -> Val {
        let message = match unwrap.args.first() {
            Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) => text.value(),
            _ => "called `Option::unwrap()` on a `None` value".to_owned(),
        };
        self.host_node_with(Effect::Io, HostOp::Panic(message), Vec::new(), "unwrap", never(), unwrap.span());
        Val::Never
    }

    /// What `unwrap` yields; `None` where that is not known.
    pub(in crate::trace) fn taken_out(&mut self, receiver: &Val, ty: Ty, call: &syn::ExprMethodCall) -> Option<Val> {
        match (receiver, ty) {
            (_, Ty::Result(inner)) if self.is_understood(receiver) => Some(receiver.clone().with_ty(*inner)),
            (Val::Tuple(_) | Val::List(_), _) => Some(receiver.clone()),
            (Val::Some(inner), Ty::Option(_)) => Some((**inner).clone()),
            // In a branch that the model may never take.
            (Val::Lit(Arg::None, _), _) if self.region != self.graph.body() => Some(self.nothing_there(call)),
            (Val::Node(id, ..), Ty::Option(inner)) if *inner != Ty::Unknown => {
                Some(self.option_unwrapped(*id, *inner, call, receiver))
            }
            _ => None,
        }
    }

    /// Whether it is the result of something that is understood, whose `Result` generated code takes off by itself.
    fn is_understood(&self, value: &Val) -> bool {
        let Val::Node(id, ..) = value else { return false };
        match &self.graph.node(*id).op {
            _ if self.facts.unwrapped.contains(id) => true,
            Op::Call(_) => true,
            op => op.is_fallible(),
        }
    }

    fn option_unwrapped(&mut self, id: NodeId, inner: Ty, call: &syn::ExprMethodCall, receiver: &Val) -> Val {
        let message = match call.args.first() {
            Some(syn::Expr::Lit(lit)) => Some(quote::ToTokens::to_token_stream(lit).to_string()),
            _ => None,
        };
        if is_copy(&inner) {
            return self.host_node(HostOp::Unwrap(message), vec![id.into()], "inner", inner, call.span());
        }
        let path = self.path_of(receiver);
        // What is behind the reference: generated code sees that it owns nothing here.
        let borrows = self.graph.node(id).op.host().is_some_and(HostOp::yields_loan);
        let op = if borrows { HostOp::UnwrapLoan(message) } else { HostOp::UnwrapRef(message) };
        let value = self.host_node(op, vec![id.into()], "inner", inner, call.span());
        if let (Some(node), Some(path)) = (value.node(), path) {
            self.facts.set_path(node, path);
        }
        value.with_ref_kind(match receiver.ref_kind() {
            Some(RefKind::Value) if !self.holds_references(id) => RefKind::Value,
            Some(RefKind::RefRef) => RefKind::RefRef,
            _ => RefKind::Ref,
        })
    }
}

/// Whether an option holds something, where the code says it.
pub(in crate::trace) fn known_to_be_there(option: &Val, method: &str) -> Option<Val> {
    let is_asked = matches!(method, "is_some" | "is_none");
    let is_known = is_asked && matches!(option, Val::Some(_) | Val::Lit(Arg::None, _));
    let answer = matches!(option, Val::Some(_)) == (method == "is_some");
    is_known.then(|| Val::Lit(Arg::Bool(answer), Ty::Rust("bool".to_owned())))
}
