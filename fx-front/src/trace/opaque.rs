//! Code that is kept as opaque code: the user's tokens, with the variables they mention as arguments.

pub(in crate::trace) mod borrowed;
pub(in crate::trace) mod capture;
pub(in crate::trace) mod capture_place;
pub(in crate::trace) mod captured;
pub(in crate::trace) mod captured_receiver;
pub(in crate::trace) mod failing;
pub(in crate::trace) mod kept;
pub(in crate::trace) mod moved;
pub(in crate::trace) mod operands;
pub(in crate::trace) mod option;
mod reference_variables;
pub(in crate::trace) mod requalified;
mod sliced;
pub(in crate::trace) mod state_copies;
pub(in crate::trace) mod statement;
pub(in crate::trace) mod template;
pub(in crate::trace) mod weight;

use fx_ir::{Arg, Code, Effect, HostOp, NodeId, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::frozen::Left;
use crate::syntax::targets::each_assigned;
use crate::syntax::{effects::computes_gradients, is_compound, is_err, path_text};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    Result, Tracer, Ty, Unsupported, Val,
    entry::signature::Signature,
    opaque::{
        captured::OpaqueCode,
        template::{WritingCode, called_with},
    },
    place::may_borrow::is_kept,
    types::operand::typed_literal,
    unsupported,
};

impl Tracer<'_> {
    /// Carries an expression along as it is, because of `fault`; the fault itself where that cannot be done.
    pub(in crate::trace) fn opaque_expr(&mut self, expr: &syn::Expr, fault: Unsupported) -> Result<Val> {
        let expected = self.expects.next.take();
        let fault = located(fault, expr.span());
        self.refuse_gradients(expr, expr.span());
        let is_mut_borrow = matches!(expr, syn::Expr::Reference(borrowed) if borrowed.mutability.is_some());
        if is_mut_borrow || is_kept(expr) || is_err(expr) || self.writes_behind(expr) || self.keeps_part(expr) {
            // What is written through it would be written to a copy, a container would keep it for longer than the variables
            // of the opaque code live, and an `Err` is a `Result` where `Ok` is what it holds.
            return Err(fault);
        }
        let failing = self.failing(expr, &fault)?;
        let (ty, is_asked) = match (self.infer_ty(expr), self.expected_number(expected.as_ref())) {
            (Ty::Unknown, Some(expected)) => (expected, true),
            (known, _) => (known, false),
        };
        let has_no_type = ty == Ty::Unknown && expected.is_none() && is_said_by_reader(expr);
        if has_no_type || self.borrows_own(&ty) {
            // A variable of its own would have no type, or borrow what the opaque code has variables of its own for.
            return Err(fault);
        }
        // Why the first thing was not understood is worth more than why the code around it cannot be carried.
        let borrows = ty == Ty::Tensor && may_borrow(expr);
        let fallible = failing.is_some();
        let Ok(carried) = self.captured_with_writes(expr, expr.span(), (borrows, failing)) else { return Err(fault) };
        let OpaqueCode { template, form, args, writing, holds } = carried;
        if holds && !self.owns_results(&ty, writing.as_ref()) {
            // It may be, or hold, a reference into what is only borrowed to the code.
            return Err(fault);
        }
        let mark = self.checkpoint();
        let code = Code { fallible, ..Code::opaque(template, fault.reason.clone()).of_form(form) };
        let operations = self.operations(expr, &code.text());
        let whole = if writing.is_none() { ty.clone() } else { Ty::Unknown };
        let is_result = matches!(whole, Ty::Result(_));
        let value = self.push(Op::Rust(code), args, "opaque", whole, expr.span());
        if let Some(id) = value.node() {
            self.note_of_value(id, is_result, is_asked);
        }
        let Some(writing) = writing else {
            self.report_opaque(fault.span, &fault.reason, operations);
            return Ok(value);
        };
        let Some(id) = value.node() else {
            self.rollback(mark);
            return Err(fault);
        };
        let value = self.handed_over(id, ty, &writing, expr.span());
        self.facts.set_writing(id, writing);
        self.report_opaque(fault.span, &fault.reason, operations);
        Ok(value)
    }

    /// The value of code that hands over, behind it, the variables that it writes to; these are given what it wrote.
    fn handed_over(&mut self, code: NodeId, ty: Ty, writing: &WritingCode, span: Span) -> Val {
        let part = |tracer: &mut Self, position: usize, name: &str, ty: Ty| {
            tracer.push(Op::TupleGet(position), vec![code.into()], name, ty, span)
        };
        for (position, name) in writing.written.iter().enumerate() {
            let ty = self.env.read(name).map_or(Ty::Unknown, Val::ty);
            let next = part(self, position + 1, name, ty);
            self.env.assign(name, next);
        }
        let ty = if matches!(ty, Ty::Result(_)) { Ty::Unknown } else { ty };
        part(self, 0, "opaque_value", ty)
    }

    /// Notes that there is to be no frozen type where the code computes gradients, of which a frozen model has none.
    pub(in crate::trace) fn refuse_gradients(&mut self, code: &impl ToTokens, span: Span) {
        let Some(entry) = self.frames.first().filter(|_| computes_gradients(code)) else { return };
        let place = self.function().place(span);
        self.left.get_or_insert_with(|| Left::gradients(&self.index.fns[entry.function], &place));
    }

    /// Notes that the value is still a `Result`, and that only what is asked of it says its type.
    fn note_of_value(&mut self, id: NodeId, is_result: bool, is_asked: bool) {
        if is_result {
            self.facts.set_result(id);
        }
        if is_asked {
            self.facts.set_asked(id);
        }
    }

    /// Whether it is an assignment to what is behind a reference, of which the opaque code would have a value of its own.
    fn writes_behind(&self, expr: &syn::Expr) -> bool {
        let target = match expr {
            syn::Expr::Assign(assign) => &assign.left,
            syn::Expr::Binary(binary) if is_compound(&binary.op) => &binary.left,
            _ => return false,
        };
        let mut found = false;
        each_assigned(target, &mut |target| {
            let syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: held, .. }) = target else { return };
            let syn::Expr::Path(path) = &**held else { return };
            found |= matches!(self.env.read(&path_text(&path.path)), Some(Val::Node(..)));
        });
        found
    }

    /// Whether opaque code of a value of that type yields, and writes to variables, what cannot hold a reference.
    fn owns_results(&self, ty: &Ty, writing: Option<&WritingCode>) -> bool {
        let is_its_own = *ty == Ty::Tensor || is_copy(ty) || *ty == Ty::Tuple(Vec::new());
        is_its_own && writing.is_none_or(|writing| self.hold_no_reference(&writing.written))
    }

    /// Whether it puts a reference to a part of the model into a container, of which the opaque code would have a copy.
    fn keeps_part(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::MethodCall(call) = expr else { return false };
        let keeps = ["push", "push_back", "push_front", "insert"].iter().any(|name| call.method == name);
        let is_part = |arg: &syn::Expr| match arg {
            syn::Expr::Path(path) => {
                self.env.read(&path_text(&path.path)).is_some_and(|value| self.is_module(&value.ty()))
            }
            _ => false,
        };
        keeps && call.args.iter().any(is_part)
    }

    /// Whether it is a struct of the crate that borrows what it holds.
    fn borrows_own(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Struct(id) if self.index.structs[*id].generics.lifetimes().next().is_some())
    }

    /// The whole function as one call of the user's own, when not even a piece of it can be understood.
    pub(in crate::trace) fn whole(&mut self, signature: &Signature, fault: &Unsupported) -> Arg {
        self.is_whole = true;
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
}

/// The fault at a place of the source: one of code that was written for the user's has the place of what that stands for.
fn located(fault: Unsupported, span: Span) -> Unsupported {
    let is_nowhere = fault.span.start() == fault.span.end();
    if is_nowhere { Unsupported { span, ..fault } } else { fault }
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

/// Whether nothing but what reads the value says of which type it is: `Default::default()` and `x.as_ref()`.
fn is_said_by_reader(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Call(call) => {
            matches!(&*call.func, syn::Expr::Path(path) if path.qself.is_none() && path_text(&path.path) == "Default::default")
        }
        syn::Expr::MethodCall(call) => call.method == "as_ref" && call.args.is_empty(),
        _ => false,
    }
}
