//! Variables of the generated code's own, for what the user's code changes where it lies.

use fx_ir::{Arg, Effect, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{element_access::asked_lists, names_of, path_text, peeled, targets::each_target_in_scope};
use crate::trace::types::ty::{is_copy, is_settled_within, is_untyped};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, application,
    entry::signature::{holds_reference, is_vec},
    unsupported,
};

impl Tracer<'_> {
    /// Gives every list among the variables that code is about to write to a variable of its own in generated code.
    pub(in crate::trace) fn spill_variables(&mut self, names: &[String], span: Span) -> Result<()> {
        for name in names {
            let Some(value) = self.env.read(name).cloned() else { continue };
            let own = self.spill_parts(&value, name, span)?;
            if !own.same(&value) {
                self.env.assign(name, own);
            }
        }
        Ok(())
    }

    /// Refuses code that gives another array to a variable that is one: a list that code may write to is a `Vec`.
    pub(in crate::trace) fn refuse_assigned_arrays(&self, expr: &syn::Expr) -> Result<()> {
        let mut found = None;
        each_target_in_scope(expr, &|_| false, &mut |target, bound| {
            let syn::Expr::Path(path) = target else { return };
            let name = path_text(&path.path);
            let is_list = !bound.contains(&name) && matches!(self.env.read(&name), Some(Val::List(_)));
            if is_list && !self.is_vec_variable(&name) {
                found.get_or_insert(name);
            }
        });
        found.map_or(Ok(()), |name| unsupported(expr.span(), format!("code that writes to the array `{name}`")))
    }

    /// Gives the lists of tensors that are written out, and whose elements a loop with this body asks for by number, variables
    /// of their own before it.
    pub(in crate::trace) fn spill_asked(&mut self, body: &syn::Block, span: Span) -> Result<()> {
        let names: Vec<String> = asked_lists(body).into_iter().filter(|name| self.is_written_out_list(name)).collect();
        self.spill_variables(&names, span)
    }

    /// The same of those that the expression reads; whether there are any.
    pub(in crate::trace) fn spill_read(&mut self, expr: &syn::Expr) -> Result<bool> {
        let read = std::cell::RefCell::new(Vec::new());
        crate::syntax::any(expr, |part| {
            if let syn::Expr::Path(path) = part {
                read.borrow_mut().extend(path.path.get_ident().map(ToString::to_string));
            }
            false
        });
        let mut names: Vec<String> = read.into_inner();
        names.retain(|name| self.is_written_out_list(name));
        self.spill_variables(&names, expr.span())?;
        Ok(!names.is_empty())
    }

    /// Whether the variable holds a list of tensors that is written out.
    fn is_written_out_list(&self, name: &str) -> bool {
        match self.env.read(name) {
            Some(Val::List(items)) => !items.is_empty() && items.iter().all(|item| item.ty() == Ty::Tensor),
            _ => false,
        }
    }

    /// The same of the lists in a value.
    fn spill_parts(&mut self, value: &Val, name: &str, span: Span) -> Result<Val> {
        match value {
            Val::Tuple(_) | Val::Fields(..) | Val::MutRef(..) => {
                let mut whole = value.clone();
                for part in whole.parts_mut() {
                    *part = match &*part {
                        // A variable of a known type, which a loop may carry.
                        Val::Lit(Arg::None, ty) => self.none_of(ty, span).unwrap_or_else(|| part.clone()),
                        part => self.spill_parts(part, name, span)?,
                    };
                }
                Ok(whole)
            }
            list => self.spill(list, name, span),
        }
    }

    /// Of an empty list it is the `let` that says what it will hold, by its type, by the constructor's or by the elements that
    /// the list had before it was emptied, those of `listed`: that is known as long as the variable is.
    pub(in crate::trace) fn remember_type(&mut self, pat: &syn::Pat, init: &syn::Expr, listed: Option<Ty>) {
        let Some(listed) = listed else { return self.forget_types(pat) };
        let (pat, written) = match pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let ty = match written.map(|written| self.held_type(written)) {
            Some(ty) if ty.element() != Ty::Unknown || written.is_some_and(holds_reference) => ty,
            _ if listed.element() != Ty::Unknown => listed,
            _ => self.constructed(init),
        };
        if let syn::Pat::Ident(name) = pat {
            self.env.declare(&type_of(&name.ident.to_string()), Val::Lit(Arg::None, ty));
        }
    }

    /// Nothing is known any more of the lists that variables of these names held before.
    fn forget_types(&mut self, pat: &syn::Pat) {
        for name in names_of(pat).iter().map(|name| type_of(name)) {
            if self.env.has(&name) {
                self.env.declare(&name, Val::Lit(Arg::None, Ty::Unknown));
            }
        }
    }

    /// The type of what `Vec::<i64>::new()` makes.
    fn constructed(&self, init: &syn::Expr) -> Ty {
        let syn::Expr::Call(call) = init else { return Ty::Unknown };
        let syn::Expr::Path(path) = &*call.func else { return Ty::Unknown };
        let mut path = path.path.clone();
        path.segments.pop();
        path.segments.pop_punct();
        self.held_type(&syn::TypePath { qself: None, path }.into())
    }

    /// The type as it is written, where it is one of values and not of references.
    fn held_type(&self, written: &syn::Type) -> Ty {
        if holds_reference(written) {
            Ty::Unknown
        } else {
            self.index.ty(self.module(), self.function().owner.as_ref(), written)
        }
    }

    /// Of a list that is written out the `let` says, too, whether it is a `Vec` or an array.
    pub(in crate::trace) fn remember_vec(&mut self, pat: &syn::Pat, init: &syn::Expr) {
        let (pat, is_said) = match pat {
            syn::Pat::Type(typed) => (&*typed.pat, is_vec(&typed.ty)),
            pat => (pat, false),
        };
        if let (syn::Pat::Tuple(pats), syn::Expr::Tuple(inits)) = (pat, peeled(init))
            && pats.elems.len() == inits.elems.len()
        {
            pats.elems.iter().zip(&inits.elems).for_each(|(pat, init)| self.remember_vec(pat, init));
        }
        if let syn::Pat::Ident(name) = pat {
            let known = if is_said || makes_vec(init) {
                Val::Unit
            } else if self.makes_array(init) {
                Val::Tuple(Vec::new())
            } else {
                Val::Never
            };
            self.env.declare(&vec_of(&name.ident.to_string()), known);
        }
    }

    /// A list that a variable of that name holds and that is a `Vec`, in a variable of its own.
    pub(in crate::trace) fn spill_vec(&mut self, expr: &syn::Expr, value: Val) -> Result<Val> {
        let syn::Expr::Path(path) = expr else { return Ok(value) };
        let Some(name) = path.path.get_ident().map(ToString::to_string) else { return Ok(value) };
        if self.is_vec_variable(&name) && matches!(value, Val::List(_)) {
            self.spill(&value, &name, expr.span())
        } else {
            Ok(value)
        }
    }

    /// What a variable yields that is an array of numbers, which code writes to where it lies: a copy, as of anything that is
    /// `Copy`. A `Vec` is moved.
    pub(in crate::trace) fn copied_array(&mut self, expr: &syn::Expr, value: Val) -> Val {
        let syn::Expr::Path(path) = peeled(expr) else { return value };
        let Some(name) = path.path.get_ident().map(ToString::to_string) else { return value };
        match &value {
            Val::Node(id, ty @ Ty::List(_), RefKind::Value)
                if is_copy(&ty.element()) && self.is_array_variable(&name) && self.is_spilled(&value) =>
            {
                let (op, args) = application(HostOp::Clone.on(*id));
                self.host_node_with(Effect::Io, op, args, &name, ty.clone(), expr.span())
            }
            _ => value,
        }
    }

    /// Returns whether the `let` of the variable says that it is a `Vec`.
    pub(in crate::trace) fn is_vec_variable(&self, name: &str) -> bool {
        matches!(self.env.read(&vec_of(name)), Some(Val::Unit))
    }

    /// Returns whether the `let` of the variable says that it is an array.
    fn is_array_variable(&self, name: &str) -> bool {
        matches!(self.env.read(&vec_of(name)), Some(Val::Tuple(_)))
    }

    fn makes_array(&self, init: &syn::Expr) -> bool {
        match peeled(init) {
            syn::Expr::Array(_) | syn::Expr::Repeat(_) => true,
            syn::Expr::Path(path) => {
                path.path.get_ident().is_some_and(|name| self.is_array_variable(&name.to_string()))
            }
            _ => false,
        }
    }

    /// The type of an empty list, where its `let` says it.
    fn told_type(&self, value: &Val, name: &str) -> Option<Ty> {
        let is_empty = matches!(value, Val::List(items) if items.is_empty());
        let told = self.env.read(&type_of(name)).map(Val::ty).filter(|_| is_empty);
        told.filter(|ty| is_settled_within(&ty.element()) && !is_untyped(&ty.element()))
    }

    /// A list in a variable of its own.
    pub(in crate::trace) fn spill(&mut self, value: &Val, name: &str, span: Span) -> Result<Val> {
        let told = self.told_type(value, name);
        let operand = match value {
            Val::List(items) => {
                let operands = self.exact_elements(items, span)?;
                self.vec_of(operands, &told.as_ref().map_or(Ty::Unknown, Ty::element))
            }
            Val::Node(id, _, RefKind::Value) if self.holds_handles(*id) => self.references_of(*id),
            Val::Node(id, ty @ Ty::List(element), RefKind::Value) if !self.is_spilled(value) => {
                let copy = self.copy_of(ty, &Arg::Node(*id)).filter(|_| !is_copy(element));
                copy.unwrap_or_else(|| HostOp::Clone.on(*id))
            }
            other => return Ok(other.clone()),
        };
        let (op, args) = application(operand);
        let ty = told.unwrap_or_else(|| value.ty());
        Ok(self.host_node_with(Effect::Io, op, args, name, ty, span))
    }
}

/// The name under which it is remembered whether the variable is a `Vec`.
fn vec_of(name: &str) -> String {
    format!("vec of {name}")
}

/// What the type of a variable is remembered under; no variable of the user's has such a name.
fn type_of(name: &str) -> String {
    format!("type of {name}")
}

/// Returns whether the expression is a `vec![..]`, a new `Vec` or one that is gathered, or begins with one.
fn makes_vec(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Macro(call) => call.mac.path.is_ident("vec"),
        syn::Expr::MethodCall(call) if call.method == "collect" => {
            let said = call.turbofish.as_ref().and_then(|list| list.args.first());
            matches!(said, Some(syn::GenericArgument::Type(ty)) if is_vec(ty)) || makes_vec(&call.receiver)
        }
        syn::Expr::MethodCall(call) => call.method == "to_vec" || makes_vec(&call.receiver),
        syn::Expr::Call(call) => {
            let syn::Expr::Path(path) = &*call.func else { return false };
            ["Vec::new", "Vec::with_capacity"].contains(&path_text(&path.path).as_str())
        }
        _ => false,
    }
}
