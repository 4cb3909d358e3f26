//! Calls of functions of the crate that cannot be inlined: the call alone is opaque code, and what is handed to it is traced.

use fx_ir::{Arg, Code, CodeForm, CodeScope, HostOp, Op};
use proc_macro2::Span;
use quote::ToTokens;

use crate::index::Function;
use crate::syntax::{count_of, written_types::typed_params};
use crate::trace::entry::signature::holds_reference;
use crate::trace::types::label::identifier;
use crate::trace::{OnError, Tracer, Ty, Unsupported, Val, opaque::template::called_with};

impl Tracer<'_> {
    /// The call as opaque code; `None` where generated code cannot name the function, or where it is not sure that what is
    /// handed over has the types that the function takes.
    pub(in crate::trace) fn opaque_call(
        &mut self,
        function: usize,
        (receiver, args): (Option<&Val>, &[Val]),
        fault: &Unsupported,
        (errors, span): (OnError, Span),
    ) -> Option<Val> {
        let callee = &self.index.fns[function];
        let syn::ReturnType::Type(_, output) = &callee.sig.output else { return None };
        let ty = self.index.ty(&callee.module, callee.owner.as_ref(), output);
        let is_kept = is_plain(callee) && !callee.fx.inline.is_present() && is_owned(&ty, errors);
        // A method of a trait is hidden by one of the type's own.
        let name = callee.sig.ident.to_string();
        let is_part = |own: &Val| {
            self.is_module(&own.ty())
                && self.path_of(own).is_some()
                && self.index.method(&own.ty(), &name) == Some(function)
        };
        if !is_kept || self.is_stateful() || !receiver.is_none_or(is_part) {
            return None;
        }
        let mark = self.checkpoint();
        let value = self.call_node(function, (receiver, args), ty, fault, span);
        if value.is_none() {
            self.rollback(mark);
        }
        value
    }

    fn call_node(
        &mut self,
        function: usize,
        (receiver, args): (Option<&Val>, &[Val]),
        ty: Ty,
        fault: &Unsupported,
        span: Span,
    ) -> Option<Val> {
        let callee = &self.index.fns[function];
        let (op, mut operands) = self.callee(function, receiver, span).ok()?;
        let head = match op {
            HostOp::CallMethod(name) => format!("$0.{name}"),
            HostOp::Call(path) => path,
            _ => return None,
        };
        let first = operands.len();
        for (param, value) in typed_params(&callee.sig).zip(args) {
            operands.push(self.argument_of_call(value, &param.ty, span)?);
        }
        let import = match &callee.of_trait {
            Some(of) => Some(self.trait_import(&callee.module, of, span).ok().flatten()?),
            None => None,
        };
        let form = match import {
            Some(line) => CodeForm::Block(CodeScope { uses: vec![line], variables: Vec::new() }),
            None => CodeForm::Value,
        };
        let template = called_with(&head, first, operands.len());
        let label = receiver.map_or(String::new(), |receiver| self.label_of(receiver, ""));
        let name = if label.is_empty() { callee.sig.ident.to_string() } else { identifier(&label) };
        let is_result = matches!(ty, Ty::Result(_));
        self.report_opaque(span, &fault.reason, self.operations_of(function));
        let op = Op::Rust(Code::opaque(template, fault.reason.clone()).of_form(form));
        let value = self.push(op, operands, &name, ty, span);
        if let Some(id) = value.node().filter(|_| is_result) {
            self.facts.set_result(id);
        }
        Some(self.in_parts(value, span))
    }

    /// An argument as the function takes it; `None` where it is not sure that it fits.
    fn argument_of_call(&mut self, value: &Val, ty: &syn::Type, span: Span) -> Option<Arg> {
        match value.ty() {
            Ty::Mode => self.operand(value, span).ok(),
            Ty::Tensor if !holds_reference(ty) && value.node().is_some() => {
                Some(HostOp::Handle.on(self.operand(value, span).ok()?))
            }
            _ => self.handed(value, ty, span),
        }
    }
}

/// Whether its parameters are of types that are written out, none of which it writes to.
fn is_plain(function: &Function) -> bool {
    let sig = &function.sig;
    let is_simple = sig.generics.type_params().next().is_none()
        && sig.generics.const_params().next().is_none()
        && function.generics.params.is_empty()
        && sig.asyncness.is_none()
        && sig.unsafety.is_none();
    let is_written_out = |param: &syn::PatType| {
        ["impl", "dyn", "fn", "mut"].iter().all(|word| count_of(param.ty.to_token_stream(), word) == 0)
    };
    is_simple && !function.writes_self() && typed_params(sig).all(is_written_out)
}

/// Whether a value of the type holds no reference, and a `Result` is one whose error leaves the model.
fn is_owned(ty: &Ty, errors: OnError) -> bool {
    match ty {
        Ty::Tensor => true,
        Ty::Tuple(parts) => parts.iter().all(|part| is_owned(part, OnError::Return)),
        Ty::Result(inner) => errors == OnError::Propagate && is_owned(inner, OnError::Return),
        Ty::Rust(name) => fx_ir::scalar::is_scalar(name),
        _ => false,
    }
}
