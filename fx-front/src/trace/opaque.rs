//! Code that is kept as opaque code: the user's tokens, with the variables they mention as arguments.

pub(in crate::trace) mod capture;
pub(in crate::trace) mod capture_place;
pub(in crate::trace) mod failing;
pub(in crate::trace) mod state_copies;
pub(in crate::trace) mod statement;
pub(in crate::trace) mod template;
pub(in crate::trace) mod weight;

use fx_ir::{Arg, Code, CodeForm, CodeScope, CodeVariable, Effect, HostOp, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::syntax::{bound_names, effects, is_err};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Unsupported, Val,
    entry::signature::Signature,
    opaque::{
        capture::{Capture, Mention, moved_parts, with_handles},
        capture_place::looks_behind,
        failing::FailingCode,
        template::{WritingCode, called_with, hole},
    },
    place::may_borrow::is_kept,
    types::operand::typed_literal,
    unsupported,
};

/// Code that is kept as opaque code.
struct OpaqueCode {
    /// The expression.
    template: String,
    form: CodeForm,
    args: Vec<Arg>,
    /// With the variables that it writes to, which the template hands over in a tuple after the value.
    writing: Option<WritingCode>,
    /// Whether it holds state of the model, into which its value could be a reference.
    holds: bool,
}

impl Tracer<'_> {
    /// Carries an expression along as it is, because of `fault`; the fault itself where that cannot be done.
    pub(in crate::trace) fn opaque_expr(&mut self, expr: &syn::Expr, fault: Unsupported) -> Result<Val> {
        let expected = self.expects.next.take();
        let fault = located(fault, expr.span());
        let is_mut_borrow = matches!(expr, syn::Expr::Reference(borrowed) if borrowed.mutability.is_some());
        if is_mut_borrow || is_kept(expr) || is_err(expr) {
            // What is written through it would be written to a copy, a container would keep it for longer than the variables
            // of the opaque code live, and an `Err` is a `Result` where `Ok` is what it holds.
            return Err(fault);
        }
        let failing = self.failing(expr, &fault)?;
        let ty = match (self.infer_ty(expr), self.expected_number(expected.as_ref())) {
            (Ty::Unknown, Some(expected)) => expected,
            (known, _) => known,
        };
        // Why the first thing was not understood is worth more than why the code around it cannot be carried.
        let borrows = ty == Ty::Tensor && may_borrow(expr);
        let fallible = failing.is_some();
        let Ok(carried) = self.captured_with_writes(expr, expr.span(), (borrows, failing)) else { return Err(fault) };
        let OpaqueCode { template, form, args, writing, holds } = carried;
        let is_its_own = ty == Ty::Tensor || is_copy(&ty) || ty == Ty::Tuple(Vec::new());
        if holds && !is_its_own {
            // It may be, or hold, a reference into what is only borrowed to the code.
            return Err(fault);
        }
        let mark = self.checkpoint();
        let code = Code { fallible, ..Code::opaque(template, fault.reason.clone()).of_form(form) };
        let operations = self.operations(expr, &code.text());
        let whole = if writing.is_none() { ty.clone() } else { Ty::Unknown };
        let is_result = matches!(whole, Ty::Result(_));
        let value = self.push(Op::Rust(code), args, "opaque", whole, expr.span());
        if let Some(id) = value.node().filter(|_| is_result) {
            self.facts.set_result(id);
        }
        let Some(writing) = writing else {
            self.report_opaque(fault.span, &fault.reason, operations);
            return Ok(value);
        };
        let Some(id) = value.node() else {
            self.rollback(mark);
            return Err(fault);
        };
        let part = |tracer: &mut Self, position: usize, name: &str, ty: Ty| {
            tracer.push(Op::TupleGet(position), vec![id.into()], name, ty, expr.span())
        };
        for (position, name) in writing.written.iter().enumerate() {
            let ty = self.env.read(name).map_or(Ty::Unknown, Val::ty);
            let next = part(self, position + 1, name, ty);
            self.env.assign(name, next);
        }
        self.facts.set_writing(id, writing);
        self.report_opaque(fault.span, &fault.reason, operations);
        let ty = if matches!(ty, Ty::Result(_)) { Ty::Unknown } else { ty };
        Ok(part(self, 0, "opaque_value", ty))
    }

    /// The whole function as one call of the user's own, when not even a piece of it can be understood.
    pub(in crate::trace) fn whole(&mut self, signature: &Signature, fault: &Unsupported) -> Arg {
        let params = self.graph.region(self.graph.body()).params.clone();
        let mut args: Vec<Arg> = Vec::new();
        let mut inputs = params.iter().skip(usize::from(signature.has_receiver));
        for param in &signature.params {
            if let Some(known) = &param.fixed {
                args.push(typed_literal(known, &param.ty));
            } else {
                let is_lent = (param.is_ref && !param.is_mut()) || param.borrows;
                let input = inputs.next().map(|&id| Arg::Node(id));
                args.extend(input.map(|input| if is_lent { HostOp::Ref.on(input) } else { input }));
            }
        }
        let receiver = if signature.has_receiver { "$0." } else { "" };
        args.splice(0..0, params.iter().take(usize::from(signature.has_receiver)).map(|&id| Arg::Node(id)));
        let handle = if signature.output.is_ref { ".shallow_clone()" } else { "" };
        let head = format!("{receiver}{}{}", signature.name, self.turbofish());
        let call = format!("{}{handle}", called_with(&head, usize::from(signature.has_receiver), args.len()));
        let code = Code { fallible: signature.output.is_result, ..Code::opaque(call, fault.reason.clone()) };
        let span = fault.span;
        let operations = self.operations_of(self.frames.last().map_or(0, |frame| frame.function));
        self.report_opaque(span, &fault.reason, operations);
        let value = self.push(Op::Rust(code), args, "forward", signature.output.ty.clone(), span);
        value.arg().unwrap_or(Arg::None)
    }

    /// The function's own parameters as a call of it names them. A type that borrows a tensor is another one by now.
    fn turbofish(&self) -> String {
        let generics = &self.function().sig.generics;
        if generics.const_params().next().is_none() {
            return String::new();
        }
        let names: Vec<String> = generics
            .params
            .iter()
            .filter_map(|param| match param {
                syn::GenericParam::Type(_) => Some("_".to_owned()),
                syn::GenericParam::Const(param) => Some(param.ident.to_string()),
                syn::GenericParam::Lifetime(_) => None,
            })
            .collect();
        format!("::<{}>", names.join(", "))
    }

    /// Code that writes to no variable of its surroundings, run for its effect.
    pub(in crate::trace) fn captured(&mut self, expr: &syn::Expr, span: Span) -> Result<(Code, Vec<Arg>)> {
        let OpaqueCode { template, form, args, writing, .. } = self.captured_with_writes(expr, span, (false, None))?;
        match writing.as_ref().and_then(|writing| writing.written.first()) {
            Some(name) => unsupported(span, format!("code that writes to `{name}`")),
            None => Ok((Code { effect: Effect::Io, ..Code::pure(template).of_form(form) }, args)),
        }
    }

    /// The template, its arguments, and the variables that the code writes to, which the template hands over in a
    /// tuple after the value.
    fn captured_with_writes(
        &mut self,
        expr: &syn::Expr,
        span: Span,
        (is_shared, failing): (bool, Option<FailingCode>),
    ) -> Result<OpaqueCode> {
        if !self.is_home() {
            return unsupported(span, "code of another module");
        }
        let writes = self.writes(expr);
        self.spill_variables(&writes, span)?;
        let inner = bound_names(expr);
        let handed_back = writes.iter().flat_map(|name| self.tensors_of(name)).collect();
        let expr = &with_handles(expr, handed_back);
        self.keeps_parts(expr, &writes, span)?;
        let mut capture = Capture::default();
        let owner = self.function().owner.as_ref().map(ToTokens::to_token_stream);
        let tokens = capture.rewrite(expr, owner, &|name| match self.env.read(name) {
            Some(value) if is_place(value) && !self.is_converted(value) => Mention::Place,
            Some(_) => Mention::Variable,
            None if self.is_generic(name) => Mention::Place,
            None => Mention::None,
        });
        let mut args = Vec::new();
        let mut holds = false;
        let mut scope = CodeScope { uses: self.function().uses(), variables: Vec::new() };
        for name in &capture.variables {
            let Some(value) = self.env.read(name).cloned() else { continue };
            let spelled = hole(&mut args, self.exact_operand(&value, span)?);
            let borrow = if !writes.contains(name) && looks_behind(expr, name, &value) { "&" } else { "" };
            scope.variables.push(CodeVariable::mutable(name, format!("{borrow}{spelled}")));
        }
        let mut code = tokens.to_string();
        for (position, name) in capture.places.iter().enumerate() {
            let value = self.env.read(name).cloned().unwrap_or(Val::Never);
            if let Val::Place(place) = &value {
                let mentioned = (expr, &capture, position);
                self.capture_place(place, mentioned, (&mut code, &mut scope), &mut args)?;
                holds = true;
                continue;
            }
            let is_written = writes.contains(name);
            if inner.contains(name) || (is_written && !self.is_spilled(&value)) || !self.is_exact(&value) {
                return unsupported(span, format!("code that mentions `{name}`"));
            }
            let spelled = hole(&mut args, self.operand(&value, span)?);
            let is_ref = matches!(value, Val::Node(_, _, RefKind::Ref));
            let place = if is_ref { format!("(&{spelled})") } else { spelled };
            let placeholder = Capture::placeholder(position);
            // A function in a field is called through brackets.
            code = code.replace(&format!("{placeholder} ("), &format!("({place}) (")).replace(&placeholder, &place);
            if capture.formatted.contains(name) {
                let borrow = if is_ref { "" } else { "&" };
                scope.variables.push(CodeVariable::new(name, format!("{borrow}{place}")));
            }
        }
        holds |= self.capture_receiver(expr, &capture, &mut scope, &mut args)?;
        let written: Vec<String> = writes.into_iter().filter(|name| capture.variables.contains(name)).collect();
        let is_handed_on = is_shared && written.is_empty();
        let code = if is_handed_on { format!("({code}).shallow_clone()") } else { code };
        let form = form_of(expr, scope, is_handed_on || failing.is_some());
        if let (Some(failing), []) = (&failing, written.as_slice()) {
            return Ok(OpaqueCode { template: failing.closure(&code), form, args, writing: None, holds });
        }
        let writing = (!written.is_empty()).then(|| WritingCode { code: code.clone(), written, failing });
        let template = writing.as_ref().map_or(code, |writing| writing.template(None));
        Ok(OpaqueCode { template, form, args, writing, holds })
    }

    /// Whether the code gets a variable of its own that holds what the user's does.
    fn is_converted(&self, value: &Val) -> bool {
        value.node().is_some_and(|id| self.holds_handles(id))
    }

    /// Refuses code that moves a part of a tuple that it hands back, unless a second handle takes the part's place.
    fn keeps_parts(&self, expr: &syn::Expr, writes: &[String], span: Span) -> Result<()> {
        for (name, position) in moved_parts(expr, writes) {
            let Some(value) = self.env.read(&name) else { continue };
            let stays = match value.ty() {
                Ty::Tuple(parts) => parts.get(position).is_some_and(is_copy),
                _ => false,
            };
            let is_shared = self.tensors_of(&name).contains(&format!("{name}.{position}"));
            if !stays && !is_shared && !bound_names(expr).contains(&name) {
                return unsupported(span, format!("code that moves a part of `{name}`, which it changes"));
            }
        }
        Ok(())
    }

    /// The variable if it is a tensor, and the parts of a tuple that are: `x.0`.
    fn tensors_of(&self, name: &str) -> Vec<String> {
        match self.env.read(name) {
            Some(Val::Node(_, Ty::Tensor, RefKind::Value)) => vec![name.to_owned()],
            Some(Val::Node(_, Ty::Tuple(parts), RefKind::Value)) => {
                let tensors = parts.iter().enumerate().filter(|(_, ty)| **ty == Ty::Tensor);
                tensors.map(|(position, _)| format!("{name}.{position}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// `let self_fc = &$0;` for every field that is mentioned, and `this` for the model itself; says whether one of them is
    /// held for as long as the code runs, because it may be written to.
    fn capture_receiver(
        &mut self,
        expr: &syn::Expr,
        capture: &Capture,
        scope: &mut CodeScope,
        args: &mut Vec<Arg>,
    ) -> Result<bool> {
        let span = expr.span();
        let receiver = self.frames.last().and_then(|frame| frame.receiver.clone());
        if self.env.has("self") && (capture.whole_self || !capture.fields.is_empty()) {
            return unsupported(span, "code that mentions what a method writes to");
        }
        let Some(receiver) = receiver else {
            let mentioned = capture.whole_self || !capture.fields.is_empty();
            return if mentioned { unsupported(span, "`self` without a receiver") } else { Ok(false) };
        };
        let written = effects::fields(expr, &|call| self.writes_by(call));
        // `mut self` is a variable of the method's own.
        let is_mutable = self.frames.last().is_some_and(|frame| {
            let function = &self.index.fns[frame.function];
            function.writes_self() || function.sig.receiver().is_some_and(|own| own.mutability.is_some())
        });
        let mut holds = false;
        for name in &capture.fields {
            if let Some(cell) = self.mentioned(&receiver, name, written.contains(name), span)? {
                let spelled = hole(args, self.operand(&cell, span)?);
                let name = name.trim_start_matches("r#");
                scope.variables.push(CodeVariable::mutable(format!("held_{name}"), format!("{spelled}.lock()")));
                scope.variables.push(CodeVariable::new(format!("self_{name}"), format!("&mut *held_{name}")));
                holds = true;
                continue;
            }
            if is_mutable && written.contains(name) {
                return unsupported(span, format!("code that writes to the field `{name}` of a value"));
            }
            let value = self.field(&receiver, name, span)?;
            let mut operand = self.operand(&value, span)?;
            if value.ty() == Ty::Option(Box::new(Ty::Tensor)) {
                // Generated code may hold the tensor itself or a reference to it.
                operand = self.copy_of(&value.ty(), &operand).unwrap_or(operand);
            }
            let spelled = hole(args, operand);
            let name = format!("self_{}", name.trim_start_matches("r#"));
            scope.variables.push(CodeVariable::new(name, format!("&{spelled}")));
        }
        if capture.whole_self && self.is_stateful() {
            return unsupported(span, "code that takes the whole model, of whose state it would have a copy");
        }
        if capture.whole_self {
            let spelled = hole(args, self.operand(&receiver, span)?);
            scope.variables.push(CodeVariable::new("this", format!("&{spelled}")));
        }
        Ok(holds)
    }
}

/// The fault at a place of the source: one of code that was written for the user's has the place of what that stands for.
fn located(fault: Unsupported, span: Span) -> Unsupported {
    let is_nowhere = fault.span.start() == fault.span.end();
    if is_nowhere { Unsupported { span, ..fault } } else { fault }
}

/// What opaque code is: a second handle of it is a value.
fn form_of(expr: &syn::Expr, scope: CodeScope, is_handed_on: bool) -> CodeForm {
    let is_open = !scope.uses.is_empty() || !scope.variables.is_empty();
    match expr {
        _ if is_open => CodeForm::Block(scope),
        syn::Expr::Block(_) if !is_handed_on => CodeForm::Block(scope),
        syn::Expr::Reference(_) if !is_handed_on => CodeForm::Reference,
        _ => CodeForm::Value,
    }
}

/// A value that opaque code reaches where it is, rather than through a variable of its own: what can neither be copied
/// nor shared.
fn is_place(value: &Val) -> bool {
    match value {
        Val::Node(_, ty, _) => *ty != Ty::Tensor && !is_copy(ty),
        Val::Place(_) => true,
        _ => false,
    }
}

/// Whether the expression, though it is of a tensor's type as far as is known here, may be a reference in the user's
/// code.
fn may_borrow(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Binary(_) => false,
        syn::Expr::MethodCall(call) => fx_ir::OpId::of_method(&call.method.to_string()).is_none(),
        _ => true,
    }
}
