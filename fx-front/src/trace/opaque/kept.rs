//! What the variables that opaque code writes to may keep of what the code borrows, where that does not live as long.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{effects, path_text};
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, opaque::borrowed::lends, unsupported};

impl Tracer<'_> {
    /// Refuses code whose written variables may keep a reference to this one, where the code has another than the user's.
    pub(in crate::trace) fn refuse_kept(
        &self,
        (value, name): (&Val, &str),
        expr: &syn::Expr,
        writes: &[String],
    ) -> Result<()> {
        if !writes.is_empty() && self.is_overwritten(value) {
            return unsupported(expr.span(), "code that keeps a reference to what an iteration chooses");
        }
        let is_by_parts = matches!(value, Val::Tuple(_) | Val::Fields(..));
        if is_by_parts && lends(expr, name) && !self.hold_no_reference(writes) {
            return unsupported(expr.span(), format!("code that keeps a reference to a part of `{name}`"));
        }
        Ok(())
    }

    /// Refuses code whose written variables may keep a reference into a cell, which is locked for as long as the code runs: of
    /// the receiver's fields, if `locks`, or one of the places.
    pub(in crate::trace) fn refuse_locked(
        &self,
        locks: bool,
        places: &[String],
        writes: &[String],
        span: Span,
    ) -> Result<()> {
        let is_cell = |name: &String| matches!(self.env.read(name), Some(Val::Place(place)) if place.is_cell());
        if (locks || places.iter().any(is_cell)) && !self.hold_no_reference(writes) {
            return unsupported(span, "code that keeps a reference to what the forward writes to");
        }
        Ok(())
    }

    /// Whether each of the variables holds numbers, or a tensor itself.
    pub(in crate::trace) fn hold_no_reference(&self, names: &[String]) -> bool {
        names.iter().all(|name| match self.env.read(name) {
            Some(Val::Node(_, Ty::Tensor, form)) => *form == RefKind::Value,
            Some(value) => match value.ty() {
                Ty::List(element) => is_copy(&element),
                ty => is_copy(&ty),
            },
            None => true,
        })
    }

    /// Whether it is a reference for which an iteration has a handle of its own, which does not outlive it.
    fn is_overwritten(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Tensor, RefKind::Ref | RefKind::RefRef) = value else { return false };
        let is_chosen = self.graph.node(*id).op.is_control_flow() && !self.graph.chooses_among_outer(*id);
        let is_repeated = self.graph.scope_of(*id).is_some_and(|scope| scope != self.graph.body());
        is_repeated && (is_chosen || self.graph.carried(*id).is_some())
    }
}

/// Refuses code whose value is a closure that writes to one of the variables, which it borrows for as long as it lives.
pub(in crate::trace) fn refuse_writing_closure(expr: &syn::Expr, writes: &[String]) -> Result<()> {
    match writing_closure(expr, writes) {
        Some(name) => unsupported(expr.span(), format!("a closure that writes to `{name}`, under a name")),
        None => Ok(()),
    }
}

/// The variable that a closure writes to which the code yields, as it is or behind a pointer.
fn writing_closure(expr: &syn::Expr, writes: &[String]) -> Option<String> {
    let of = |expr: &syn::Expr| writing_closure(expr, writes);
    let of_block = |block: &syn::Block| match block.stmts.last() {
        Some(syn::Stmt::Expr(last, None)) => of(last),
        _ => None,
    };
    match expr {
        syn::Expr::Closure(closure) => {
            let written = effects::written(&closure.body, &|call| effects::is_mutator(&call.method.to_string()));
            written.into_iter().find(|name| writes.contains(name))
        }
        syn::Expr::Call(call) => {
            let syn::Expr::Path(path) = &*call.func else { return None };
            let is_pointer = ["Box::new", "Rc::new", "Arc::new", "Some"].contains(&path_text(&path.path).as_str());
            call.args.iter().filter(|_| is_pointer).find_map(of)
        }
        syn::Expr::Reference(inner) => of(&inner.expr),
        syn::Expr::Paren(inner) => of(&inner.expr),
        syn::Expr::Group(inner) => of(&inner.expr),
        syn::Expr::Cast(inner) => of(&inner.expr),
        syn::Expr::Tuple(parts) => parts.elems.iter().find_map(of),
        syn::Expr::Array(parts) => parts.elems.iter().find_map(of),
        syn::Expr::Block(block) => of_block(&block.block),
        syn::Expr::If(branch) => {
            of_block(&branch.then_branch).or_else(|| branch.else_branch.as_ref().and_then(|(_, other)| of(other)))
        }
        syn::Expr::Match(choice) => choice.arms.iter().find_map(|arm| of(&arm.body)),
        _ => None,
    }
}
