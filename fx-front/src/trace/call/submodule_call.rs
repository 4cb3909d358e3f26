//! Submodules that cannot be inlined: with parts that are private to another module, of which generated code may hold no
//! values, or with code that only means the same in its own module. Such a submodule is frozen by itself, where it is
//! declared, and its frozen type is called.

use fx_ir::{Arg, Effect, Host, HostOp, Op};
use proc_macro2::Span;
use quote::ToTokens;

use crate::frozen;
use crate::syntax::written_types::typed_params;
use crate::trace::entry::signature::{Param, Signature, holds_reference};
use crate::trace::types::label::identifier;
use crate::trace::types::ty::is_copy;
use crate::trace::{OnError, PartCall, RefKind, Tracer, Ty, Val};

impl Tracer<'_> {
    /// The call of a part that is outlined; `None` where it is not, or where this call tells more of its arguments than
    /// the part's frozen type knows, which was traced for any.
    pub(in crate::trace) fn outlined_call(
        &mut self,
        function: usize,
        receiver: Option<&Val>,
        args: &[Val],
        errors: OnError,
        span: Span,
    ) -> Option<Val> {
        let PartCall { effect, takes_any_option } = *self.outlined?.get(&function)?;
        let signature = Signature::of(self.index, &self.index.fns[function], self.training);
        let fits = |(param, value): (&Param, &Val)| match &param.fixed {
            Some(known) => matches!(value, Val::Lit(given, _) if given == known),
            None => is_unknown(value) || takes_any_option && is_option(value),
        };
        let all_fit = signature.params.len() == args.len() && signature.params.iter().zip(args).all(fits);
        let result = self.part_call_with(function, receiver.filter(|_| all_fit)?, args, (errors, effect), span)?;
        Some(self.in_parts(result, span))
    }

    /// A tuple as what it consists of, as the body of the function would have yielded it.
    pub(super) fn in_parts(&mut self, value: Val, span: Span) -> Val {
        let Val::Node(_, Ty::Tuple(parts), _) = &value else { return value };
        let parts: Option<Vec<Val>> = (0..parts.len())
            .map(|position| {
                let part = self.tuple_part(&value, position, span).ok()?;
                Some(self.in_parts(part, span))
            })
            .collect();
        parts.map_or(value, Val::Tuple)
    }

    /// The call of a submodule by its own frozen type; `None` where it may be inlined, or has no frozen type to call.
    pub(in crate::trace) fn part_call(
        &mut self,
        function: usize,
        receiver: Option<&Val>,
        args: &[Val],
        errors: OnError,
        span: Span,
    ) -> Option<Val> {
        // What it does besides computing is not looked into.
        let value = self.part_call_with(function, receiver?, args, (errors, Effect::Io), span)?;
        self.parts.push(function);
        Some(value)
    }

    fn part_call_with(
        &mut self,
        function: usize,
        receiver: &Val,
        args: &[Val],
        (errors, effect): (OnError, Effect),
        span: Span,
    ) -> Option<Val> {
        let frozen = self.frozen_type(function, receiver, errors)?;
        let callee = &self.index.fns[function];
        let syn::ReturnType::Type(_, result) = &callee.sig.output else { return None };
        let label = self.label_of(receiver, "");
        let Ty::Struct(owner) = receiver.ty() else { return None };
        let path = self.index.structs[owner].path();
        let mark = self.checkpoint();
        let ty = Ty::Rust(format!("::fx_runtime::frozen::Part<{frozen}>"));
        let name = identifier(&label);
        let made = Op::Host(Host::pure(HostOp::FreezePart(path)));
        let part = self.push_labelled(made, vec![receiver.arg()?], &name, &label, ty, span);
        let mut operands = vec![part.arg()?];
        for (param, value) in typed_params(&callee.sig).zip(args) {
            let Some(operand) = self.handed(value, &param.ty, span) else {
                self.rollback(mark);
                return None;
            };
            operands.push(operand);
        }
        let ty = self.index.ty(&callee.module, callee.owner.as_ref(), result);
        let call = Op::Host(Host::with_effect(HostOp::CallPart(callee.sig.ident.to_string()), effect));
        Some(self.push_labelled(call, operands, &name, &label, ty, span))
    }

    /// The path of the frozen type that computes the function for this part of the model.
    fn frozen_type(&self, function: usize, receiver: &Val, errors: OnError) -> Option<String> {
        let Val::Node(_, Ty::Struct(owner), _) = receiver else { return None };
        self.path_of(receiver)?;
        let (callee, item) = (&self.index.fns[function], &self.index.structs[*owner]);
        let home = self.home();
        let is_plain = callee.is_visible_from(home) && callee.sig.generics.params.is_empty() && item.instance.is_none();
        let returns = callee.sig.output.to_token_stream().to_string();
        let is_named = self.index.sees(home, &item.module, &item.name);
        let is_frozen = frozen::is_entry(callee)
            && frozen::entry(self.index, function).is_ok_and(|found| found == function)
            && !callee.writes_self();
        (is_plain && is_named && is_frozen && (errors == OnError::Propagate || !returns.contains("Result")))
            .then(|| format!("{}::{}Frozen", item.module, fx_ir::camel(&item.name)))
    }

    /// An argument as the frozen type takes it; `None` for one of which it is not sure that it fits.
    pub(super) fn handed(&mut self, value: &Val, ty: &syn::Type, span: Span) -> Option<Arg> {
        if let (Val::Tuple(parts), syn::Type::Tuple(types)) = (value, ty) {
            let parts = parts.iter().zip(&types.elems).map(|(part, ty)| self.handed(part, ty, span));
            return Some(HostOp::Tuple.of(parts.collect::<Option<Vec<Arg>>>()?));
        }
        match value {
            Val::Lit(Arg::None, _) => Some(Arg::None),
            Val::Some(inner) if inner.ty() == Ty::Tensor && holds_reference(ty) => {
                let tensor = self.operand(inner, span).ok()?;
                Some(HostOp::Some.on(HostOp::BorrowTensor.on(tensor)))
            }
            Val::Node(id, Ty::Option(_), _) if self.holds_references(*id) => self.operand(value, span).ok(),
            Val::Node(_, Ty::Option(inner), _) if **inner == Ty::Tensor && self.is_own_option(value) => {
                let option = self.operand(value, span).ok()?;
                if holds_reference(ty) {
                    // Generated code may hold the tensor itself or a reference to it.
                    return Some(HostOp::BorrowOption.on(option));
                }
                self.copy_of(&value.ty(), &option)
            }
            value if is_tensors(&value.ty()) && matches!(ty, syn::Type::Reference(_)) => {
                Some(HostOp::Ref.on(self.operand(value, span).ok()?))
            }
            Val::Some(inner) if inner.ty() == Ty::Tensor => {
                Some(HostOp::Some.on(HostOp::Handle.on(self.operand(inner, span).ok()?)))
            }
            value if is_numbers(&value.ty()) => self.operand(value, span).ok(),
            Val::Node(..) if self.is_module(&value.ty()) && matches!(ty, syn::Type::Reference(_)) => {
                Some(HostOp::Ref.on(self.operand(value, span).ok()?))
            }
            // What the user's code moves into the call, generated code moves too.
            Val::Node(_, _, RefKind::Value)
                if self.is_exact(value) && self.path_of(value).is_none() && !holds_reference(ty) =>
            {
                self.operand(value, span).ok()
            }
            _ => None,
        }
    }
}

/// Whether nothing is known of the value but its type.
fn is_unknown(value: &Val) -> bool {
    match value {
        Val::Node(..) => true,
        Val::Tuple(parts) => parts.iter().all(is_unknown),
        _ => false,
    }
}

/// Whether it is an option of which it is known whether it is there.
fn is_option(value: &Val) -> bool {
    match value {
        Val::Lit(Arg::None, _) => true,
        Val::Some(inner) => is_unknown(inner),
        _ => false,
    }
}

/// Whether it is a tensor, or a list of them.
fn is_tensors(ty: &Ty) -> bool {
    match ty {
        Ty::List(inner) => **inner == Ty::Tensor,
        other => *other == Ty::Tensor,
    }
}

/// Whether it is a number, a tuple of numbers, or an option of these, which is copied when it is handed over.
fn is_numbers(ty: &Ty) -> bool {
    match ty {
        Ty::Option(inner) => is_numbers(inner),
        Ty::Tuple(parts) => parts.iter().all(is_numbers),
        other => is_copy(other),
    }
}
