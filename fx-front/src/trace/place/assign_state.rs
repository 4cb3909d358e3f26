//! Writes to state: assignments, operators, methods and exchanges, each a node that writes to the cell.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{
    effects::is_mutator,
    guard::{behind, is_borrow},
    is_chain, peeled,
};
use crate::trace::types::ty::{is_copy, is_settled_within};
use crate::trace::{
    Result, Tracer, Ty, Val,
    place::{Place, is_plain},
    unsupported,
};

impl Tracer<'_> {
    /// `self.cache = value`.
    pub(in crate::trace) fn write(&mut self, place: &Place, value: &Val, span: Span) -> Result<Val> {
        let stored = self.stored_operand(place, value, span)?;
        let (op, target) = match place.whole_cell() {
            Some(cell) => (HostOp::CellSet, cell),
            None => (HostOp::Assign, place.target()),
        };
        Ok(self.on_place(place, op, vec![target, stored], "kept", Ty::Tuple(Vec::new()), span))
    }

    /// The value as the place stores it.
    pub(in crate::trace) fn stored_operand(&mut self, place: &Place, value: &Val, span: Span) -> Result<Arg> {
        match value {
            Val::Lit(Arg::None, _) => Ok(Arg::None),
            Val::Lit(arg, _) if is_copy(&place.ty) && *arg != Arg::None => self.operand(value, span),
            Val::List(items) => {
                let operands = self.exact_elements(items, span)?;
                Ok(if place.is_vec { self.vec_of(operands, &place.ty.element()) } else { HostOp::Array.of(operands) })
            }
            _ => {
                let value = self.of_used_type(value.clone(), &place.ty);
                let value = self.tensor_as_written(value, &place.ty);
                self.exact_operand(&value, span)
            }
        }
    }

    /// A method that changes a written field; `None` if it is none, or if what it changes is a tensor's content.
    pub(in crate::trace) fn field_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let name = call.method.to_string();
        let (is_in_place, span) = (name.ends_with('_'), call.span());
        if !is_mutator(&name) && !is_in_place {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let Some(place) = self.place_of_values(&call.receiver)? else { return Ok(None) };
        if is_in_place || self.index.method(&place.ty, &name).is_some() {
            // The field is a handle on what the op writes to; what a method of the crate's own does is to be seen in it.
            self.rollback(mark);
            return Ok(None);
        }
        let Some(ty) = place.changed_by(&name) else {
            return unsupported(call.method.span(), format!("the method `{name}` of what the forward writes to"));
        };
        let mut args = vec![place.object()];
        for arg in &call.args {
            let value = self.expr(arg)?;
            args.push(self.stored_operand(&place, &value, arg.span())?);
        }
        Ok(Some(self.on_place(&place, HostOp::Mutate(name.clone()), args, &name, ty, span)))
    }

    /// The place that code is about to change, unless it is a layer or holds one: those are changed field by field.
    pub(in crate::trace) fn place_of_values(&mut self, expr: &syn::Expr) -> Result<Option<Place>> {
        if let Some(borrowed) = self.behind_mut(expr)? {
            return Ok(Some(borrowed));
        }
        if let syn::Expr::MethodCall(call) = behind(expr)
            && is_borrow(call)
        {
            return self.interior(&call.receiver);
        }
        if let syn::Expr::Path(_) = peeled(expr)
            && matches!(self.chain_ty(expr), Ty::List(element) if !is_plain(&element) && is_settled_within(&element))
        {
            return self.own_list(expr, true);
        }
        let is_field = matches!(peeled(expr), syn::Expr::Field(_) | syn::Expr::Index(_));
        if !is_field || !self.is_stateful() || !is_chain(expr) || self.is_module(&self.chain_ty(expr)) {
            return Ok(None);
        }
        self.place(expr, true)
    }
}

impl Place {
    /// What a method that changes the value yields; `None` if it is none that is known.
    fn changed_by(&self, method: &str) -> Option<Ty> {
        match (&self.ty, method) {
            (Ty::Option(_), "take" | "replace") => Some(self.ty.clone()),
            (Ty::List(_), "push" | "push_back" | "push_front" | "clear" | "truncate" | "reverse" | "insert") => {
                Some(Ty::Tuple(Vec::new()))
            }
            (Ty::List(element), "pop" | "pop_back" | "pop_front") => Some(Ty::Option(element.clone())),
            (Ty::List(element), "remove" | "swap_remove") if self.is_vec => Some((**element).clone()),
            (Ty::Rust(name), "push" | "push_str" | "clear") if name == "String" => Some(Ty::Tuple(Vec::new())),
            _ => None,
        }
    }
}
