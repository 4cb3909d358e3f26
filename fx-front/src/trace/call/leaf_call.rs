//! Calls that stay calls: of a function or a submodule under `#[fx(leaf)]`, or `#[fx(pure)]` where it cannot be inlined.

use fx_ir::{Arg, Effect, Host, HostOp, Op};
use proc_macro2::Span;
use quote::ToTokens;

use crate::attrs::FnOptions;
use crate::syntax::written_types::typed_params;
use crate::trace::{Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// One node that calls the function of the crate, which is not looked into.
    pub(in crate::trace) fn leaf_call(
        &mut self,
        function: usize,
        fx: FnOptions,
        receiver: Option<&Val>,
        args: &[Val],
        span: Span,
    ) -> Result<Val> {
        let callee = &self.index.fns[function];
        let (op, mut operands) = self.callee(function, receiver, span)?;
        for (param, value) in typed_params(&callee.sig).zip(args) {
            operands.push(self.argument(value, &param.ty, span)?);
        }
        let ty = match &callee.sig.output {
            syn::ReturnType::Type(_, ty) => self.index.ty(&callee.module, callee.owner.as_ref(), ty),
            syn::ReturnType::Default => Ty::Tuple(Vec::new()),
        };
        let effect = if fx.pure.is_present() { Effect::Pure } else { Effect::Io };
        let is_result = matches!(ty, Ty::Result(_));
        let label = receiver.map_or(String::new(), |receiver| self.label_of(receiver, ""));
        let name = callee.sig.ident.to_string();
        let label = if label.is_empty() { name.clone() } else { label };
        let op = Op::Host(Host::with_effect(op, effect));
        let value = self.push_labelled(op, operands, &name, &label, ty, span);
        if let Some(id) = value.node().filter(|_| is_result) {
            self.facts.set_result(id);
        }
        Ok(value)
    }

    /// The function as generated code names it.
    pub(super) fn callee(&mut self, function: usize, receiver: Option<&Val>, span: Span) -> Result<(HostOp, Vec<Arg>)> {
        let callee = &self.index.fns[function];
        let name = &callee.sig.ident;
        let home = self.home();
        if !callee.is_visible_from(home) {
            return unsupported(span, format!("`{name}` is private to its module"));
        }
        if let Some(receiver) = receiver {
            return Ok((HostOp::CallMethod(name.to_string()), vec![self.operand(receiver, span)?]));
        }
        let owner = callee.owner.as_ref().map(|owner| self.index.ty(&callee.module, None, owner));
        let path = match owner {
            Some(owner) => match self.spelling(&owner) {
                Some(owner) => format!("<{owner}>::{name}"),
                None => return unsupported(span, format!("the type of `{name}` cannot be named")),
            },
            // A variable of the generated code may have the function's name.
            None if home == callee.module => format!("self::{name}"),
            None => match self.index.path_from(home, &callee.module, &name.to_string()) {
                Some(path) => path,
                None => return unsupported(span, format!("`{name}` is private to its module")),
            },
        };
        Ok((HostOp::Call(path), Vec::new()))
    }

    /// An argument for a parameter of that type.
    pub(in crate::trace) fn argument(&mut self, value: &Val, ty: &syn::Type, span: Span) -> Result<Arg> {
        let borrows = ty.to_token_stream().into_iter().any(|token| token.to_string() == "&");
        match value {
            Val::Some(inner) => {
                let held = if borrows { self.reference_to(inner, span)? } else { self.owned_operand(inner, span)? };
                Ok(HostOp::Some.on(held))
            }
            value if matches!(ty, syn::Type::Reference(_)) => self.reference_to(value, span),
            value => self.owned_operand(value, span).map(without_reference),
        }
    }

    /// A text is a reference by itself.
    fn reference_to(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let operand = self.operand(value, span)?;
        Ok(if matches!(operand, Arg::Str(_)) { operand } else { HostOp::Ref.on(operand) })
    }
}

/// What the operand refers to.
pub(in crate::trace) fn without_reference(operand: Arg) -> Arg {
    match operand {
        Arg::Expr(mut expr) if expr.op == HostOp::Ref => expr.args.pop().unwrap_or(Arg::None),
        other => other,
    }
}
