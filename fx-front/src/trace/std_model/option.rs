//! Options of which the live call decides: `mask.map(|mask| ..)` is a `match`, and a branch may end in `Some(..)`.

use fx_ir::{Arg, Effect, Host, HostOp, NodeId, Op, RegionId};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::contains_return;
use crate::trace::types::ty::never;
use crate::trace::{
    Env, OnError, RefKind, Result, Tracer, Ty, Val, application,
    types::{expectation::Expectation, node_facts::is_carried_param},
    unsupported,
};

impl Tracer<'_> {
    /// `option.map(|pattern| body)` as `match option { Some(pattern) => Some(body), None => None }`.
    pub(in crate::trace) fn map_option(&mut self, option: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let Some(syn::Expr::Closure(closure)) = call.args.first() else {
            return unsupported(call.span(), "`map` with something other than a closure");
        };
        let (Some(pattern), 1) = (closure.inputs.first(), closure.inputs.len()) else {
            return unsupported(call.span(), "a closure of this form");
        };
        let pattern = match pattern {
            syn::Pat::Type(typed) => &*typed.pat,
            other => other,
        };
        let body = &closure.body;
        if let Val::Some(inner) = option {
            return Ok(Val::Some(Box::new(self.call_closure(closure, vec![*inner])?)));
        }
        let choice: syn::ExprMatch = syn::parse_quote_spanned!(call.span()=> match mapped_option { Some(#pattern) => Some(#body), None => None });
        self.env.open();
        self.env.declare("mapped_option", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value
    }

    /// `self.part.as_ref().unwrap().forward(xs)` in a branch or a loop, as the `match` that it is: whether the part is there
    /// may be asked by the branch, so that a model without it must not fail when it is frozen.
    pub(in crate::trace) fn on_unwrapped(
        &mut self,
        call: &syn::ExprMethodCall,
        errors: OnError,
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
            &mut |tracer| tracer.method_call(&on_held, errors),
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

    /// `flag.then(|| x)` as `if flag { Some(x) } else { None }`.
    pub(in crate::trace) fn bool_then(&mut self, flag: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let value = match call.args.first() {
            Some(closure @ syn::Expr::Closure(_)) if call.method == "then" => body_of(closure, 0)?.1,
            Some(value) if call.method == "then_some" && is_plain(value) => value.clone(),
            _ => return unsupported(call.method.span(), format!("the method `{}`", call.method)),
        };
        let branch: syn::ExprIf = syn::parse_quote_spanned!(call.span()=> if asked_flag { Some(#value) } else { None });
        self.env.open();
        self.env.declare("asked_flag", flag);
        let value = self.branch(&branch, false);
        self.env.close();
        value
    }

    /// `option.unwrap_or(xs)`, `option.map_or_else(|| xs, |ys| ys + xs)` and the like as the `match` that they stand for.
    pub(in crate::trace) fn option_as_match(
        &mut self,
        option: Val,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let is_moved = name.starts_with("unwrap_or")
            && matches!(&option, Val::Node(_, Ty::Option(held), RefKind::Value) if matches!(**held, Ty::Struct(_)) && !self.is_module(held));
        if is_moved {
            return unsupported(call.method.span(), format!("the method `{name}` of an option of a struct"));
        }
        let held: syn::Pat = syn::parse_quote!(held_value);
        let (some, none): ((syn::Pat, syn::Expr), syn::Expr) = match (name, args.as_slice()) {
            ("unwrap_or", [other]) if is_plain(other) => ((held, syn::parse_quote!(held_value)), (*other).clone()),
            ("unwrap_or_else", [other]) => ((held, syn::parse_quote!(held_value)), body_of(other, 0)?.1),
            ("map_or", [other, some]) if is_plain(other) => (body_of(some, 1)?, (*other).clone()),
            ("map_or_else", [other, some]) => (body_of(some, 1)?, body_of(other, 0)?.1),
            ("and_then", [some]) => (body_of(some, 1)?, syn::parse_quote!(None)),
            _ => return unsupported(call.method.span(), format!("the method `{name}`")),
        };
        let (pattern, some) = some;
        let choice: syn::ExprMatch =
            syn::parse_quote_spanned!(call.span()=> match matched_option { Some(#pattern) => #some, None => #none });
        self.env.open();
        self.env.declare("matched_option", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value
    }

    /// Whether it is an option that owns what it holds: `None`, a `Some(..)` that [`Self::some_as_value`] made, or a
    /// variable of the generated code's, and not one that may lend it.
    pub(in crate::trace) fn is_own_option(&self, value: &Val) -> bool {
        match value {
            Val::Lit(arg, _) => *arg == Arg::None,
            Val::Node(id, ..) => match &self.graph.node(*id).op {
                Op::Host(host) if host.op == HostOp::Some => true,
                Op::Placeholder => is_carried_param(&self.graph, *id),
                _ => self.is_spilled(&value.clone().with_ref_kind(RefKind::Value)),
            },
            _ => false,
        }
    }

    /// Whether it is an option of a tensor, owned or borrowed, of which there can be a copy that owns a second handle.
    pub(in crate::trace) fn may_borrow_tensor(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Option(inner), _) = value else { return false };
        let is_known = matches!(self.graph.node(*id).op, Op::Placeholder | Op::Host(_) | Op::Rust(_) | Op::TupleGet(_));
        (**inner == Ty::Tensor && is_known) || self.is_made_field(*id) || self.is_given(*id)
    }

    /// What a branch hands over, with a copy that owns its tensor for each option that may only lend it: another branch
    /// may hand over one that owns.
    pub(in crate::trace) fn with_own_options(
        &mut self,
        region: RegionId,
        mut args: Vec<Arg>,
        leaves: &[Val],
        span: Span,
    ) -> Vec<Arg> {
        for (arg, leaf) in args.iter_mut().zip(leaves) {
            // What is only borrowed stays where it is.
            let is_lent = leaf.ref_kind() == Some(RefKind::Ref);
            if (self.is_own_option(leaf) && !is_lent) || !matches!(leaf, Val::Node(_, Ty::Option(_), _)) {
                continue;
            }
            let Some(copy) = self.copy_of(&leaf.ty(), arg) else { continue };
            let (op, operands) = application(copy);
            let (ir, origin) = (self.index.ir_type(&leaf.ty()), self.origin(span, "option"));
            *arg = Arg::Node(self.graph.push(region, Op::Host(Host::pure(op)), operands, "option", ir, origin));
        }
        args
    }

    /// Every variable that a region sets to `Some(..)`, where it was an option of which only the call knows, as one value.
    pub(in crate::trace) fn options_as_values(&mut self, before: &Env, owner: NodeId) -> Result<()> {
        for name in self.env.changed_since(before) {
            let was_open = matches!(before.read(&name), Some(Val::Node(..) | Val::Lit(Arg::None, _)));
            match self.env.read(&name).cloned() {
                Some(Val::Some(_)) if !was_open => {}
                Some(value @ (Val::Some(_) | Val::Tuple(_) | Val::Fields(..) | Val::MutRef(..))) => {
                    let whole = self.some_as_value(value, None, owner)?;
                    self.env.assign(&name, whole);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Each `Some(..)` that a region hands over, as one value, of the type that is asked for.
    pub(in crate::trace) fn some_as_value(
        &mut self,
        value: Val,
        expected: Option<&Expectation>,
        owner: NodeId,
    ) -> Result<Val> {
        let inner = match value {
            Val::Some(inner) => inner,
            Val::Tuple(parts) => {
                let parts = parts.into_iter().enumerate().map(|(at, part)| {
                    let expected = expected.and_then(|expected| expected.part(at));
                    self.some_as_value(part, expected.as_ref(), owner)
                });
                return parts.collect::<Result<_>>().map(Val::Tuple);
            }
            Val::Fields(shape, parts) => {
                let parts = parts.into_iter().map(|part| self.some_as_value(part, None, owner));
                return Ok(Val::Fields(shape, parts.collect::<Result<_>>()?));
            }
            Val::MutRef(place, inner) => {
                return Ok(Val::MutRef(place, Box::new(self.some_as_value(*inner, None, owner)?)));
            }
            other => return Ok(other),
        };
        let form = if inner.ref_kind() == Some(RefKind::Value) { RefKind::Value } else { RefKind::Ref };
        let some = Val::Some(Box::new(inner.with_ref_kind(RefKind::Value)));
        let (operand, ty, effect) = match self.expected_vec(&some, expected)? {
            // Each call has a list of its own.
            Some((operand, ty)) => (operand, ty, Effect::Io),
            None => (self.operand(&some, Span::call_site())?, some.ty(), Effect::Pure),
        };
        let origin = self.graph.node(owner).origin.clone();
        let ir = self.index.ir_type(&ty);
        let (op, args) = application(operand);
        let id = self.graph.push(self.region, Op::Host(Host::with_effect(op, effect)), args, "some", ir, origin);
        Ok(Val::Node(id, ty, form))
    }
}

/// Whether it is there already, so that it does not matter whether it is asked for.
fn is_plain(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(_) | syn::Expr::Lit(_) => true,
        syn::Expr::Reference(inner) => is_plain(&inner.expr),
        syn::Expr::Field(inner) => is_plain(&inner.base),
        syn::Expr::MethodCall(call) => call.method == "shallow_clone" && is_plain(&call.receiver),
        _ => false,
    }
}

/// The parameter and the body of a closure with so many parameters.
fn body_of(closure: &syn::Expr, count: usize) -> Result<(syn::Pat, syn::Expr)> {
    match closure {
        syn::Expr::Closure(closure) if closure.inputs.len() == count && !contains_return(&closure.body) => {
            let pattern = match closure.inputs.first() {
                Some(syn::Pat::Type(typed)) => (*typed.pat).clone(),
                Some(pattern) => pattern.clone(),
                None => syn::parse_quote!(_),
            };
            Ok((pattern, (*closure.body).clone()))
        }
        other => unsupported(other.span(), "a function in place of a closure"),
    }
}
