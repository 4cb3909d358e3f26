//! `let`: what a variable is bound to, and what its type says of that.

use fx_ir::{Arg, Effect, HostOp, Op, Type};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{makes_result, written_types::type_args};
use crate::trace::flow::objects::{as_object, is_object_reference};
use crate::trace::types::ty::{TENSOR_REFERENCE, is_copy, is_untyped};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Unsupported, Val,
    desugar::{array_from_fn::written_out, closure_form::plain, iterator_chain::is_lazy},
    entry::signature,
    types::expectation::gathers_vec,
    unsupported,
};

/// The scopes that are open in the outermost block of an entry: of its parameters and of the block.
const ENTRY_DEPTH: usize = 2;

impl Tracer<'_> {
    pub(in crate::trace) fn local(&mut self, local: &syn::Local) -> Result<Val> {
        let Some(init) = &local.init else { return self.declared(&local.pat) };
        if let Some((_, diverge)) = &init.diverge {
            return unsupported(diverge.span(), "`let ... else`");
        }
        let value = self.begun_with(local, &init.expr)?;
        if matches!(value, Val::Never) {
            return Ok(value);
        }
        let pat = plain(&local.pat);
        self.refuse_borrowed(&init.expr, pat, &value)?;
        let mut value = value;
        if let syn::Pat::Type(typed) = &local.pat {
            // Of `&value` the code is what is borrowed, and of an object it says the type itself.
            let is_borrow = matches!((&*init.expr, &*typed.ty), (syn::Expr::Reference(_), syn::Type::Reference(_)));
            if !is_borrow && !is_object_reference(&typed.ty) {
                self.annotate(&value, &typed.ty)?;
            }
            value = self.typed_none(value, typed);
            let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
            value = self.of_written_type(value, &ty);
            if matches!(&*typed.ty, syn::Type::Path(_)) {
                value = self.tensor_as_written(value, &ty);
            }
            if matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.mutability.is_some()) {
                value = self.typed_list(value, &ty, &typed.ty);
                value = self.typed_option(value, &typed.ty)?;
            }
        }
        if let (syn::Pat::Tuple(_), syn::Expr::Reference(_)) = (pat, &*init.expr) {
            value = parts_borrowed(value);
        }
        if let (Val::Lit(Arg::None, _), syn::Pat::Type(typed)) = (&value, &local.pat) {
            let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
            value = Val::Lit(Arg::None, if signature::holds_reference(&typed.ty) { of_reference(ty) } else { ty });
        }
        if let Some(id) = value.node().filter(|&id| self.facts.is_result(id)) {
            // Under its name it is a `Result`, whatever that holds.
            self.edit_node(id).ty = Type::Unknown;
        }
        value = self.own_option(pat, value, local.let_token.span)?;
        let listed = value.listed_type();
        self.refuse_hiding(pat)?;
        self.bind(&local.pat, value)?;
        self.remember_type(&local.pat, &init.expr, listed);
        self.remember_vec(&local.pat, &init.expr);
        Ok(Val::Unit)
    }

    /// `let ys;` is declared by its first assignment.
    fn declared(&mut self, pat: &syn::Pat) -> Result<Val> {
        self.refuse_hiding(pat)?;
        match pat {
            syn::Pat::Ident(ident) => {
                self.env.declare(&ident.ident.to_string(), Val::Never);
                Ok(Val::Unit)
            }
            syn::Pat::Type(typed) if matches!(&*typed.pat, syn::Pat::Ident(_)) => self.declared(&typed.pat),
            syn::Pat::Tuple(parts) => {
                parts.elems.iter().try_for_each(|part| self.declared(part).map(drop))?;
                Ok(Val::Unit)
            }
            other => unsupported(other.span(), "a declaration without a value"),
        }
    }

    /// The value that a variable begins with.
    fn begun_with(&mut self, local: &syn::Local, init: &syn::Expr) -> Result<Val> {
        let is_vec = match &local.pat {
            syn::Pat::Type(typed) => gathers_vec(&typed.ty),
            _ => Some(true),
        };
        let outer = std::mem::replace(&mut self.expects_vec, is_vec);
        self.expects.next = match &local.pat {
            syn::Pat::Type(typed) => self.written(&typed.ty),
            _ => None,
        };
        let by_variable = matches!(&local.pat, syn::Pat::Type(typed) if self.is_said_by_variable(&typed.ty));
        let is_branch = matches!(init, syn::Expr::If(_) | syn::Expr::Match(_));
        let by_variable = by_variable || is_branch && is_slice_variable(&local.pat);
        let length = match &local.pat {
            syn::Pat::Type(typed) => self.length_of_type(&typed.ty, self.module()),
            _ => None,
        };
        let written_out = written_out(&local.pat, init, length);
        let init = written_out.as_ref().unwrap_or(init);
        let value = match self.array_of(&local.pat, init)? {
            Some(array) => Ok(array),
            None if is_pointer_option(&local.pat) => {
                return unsupported(init.span(), "a variable that holds a function or none");
            }
            None if by_variable || makes_result(init) => {
                if let Some(callable) = self.callable(init) {
                    self.expects_vec = outer;
                    return Ok(callable);
                }
                let reason = "a value whose type only its variable says".to_owned();
                let cast = as_object(&local.pat, init);
                self.opaque_expr(cast.as_ref().unwrap_or(init), Unsupported { span: init.span(), reason })
            }
            None => self.initial(init),
        };
        self.expects_vec = outer;
        value
    }

    /// The value of a variable that can be nothing but called, or holds such: its type need not be told.
    fn callable(&mut self, init: &syn::Expr) -> Option<Val> {
        fn holds(value: &Val) -> bool {
            match value {
                Val::Closure(..) | Val::Chosen(_) => true,
                Val::Tuple(parts) | Val::List(parts) => parts.iter().any(holds),
                _ => false,
            }
        }
        let (mark, expected) = (self.checkpoint(), self.expects.next.clone());
        let value = self.initial(init).ok().filter(holds);
        if value.is_none() {
            self.rollback(mark);
            self.expects.next = expected;
        }
        value
    }

    /// Whether the type is one that generated code cannot tell from the parts of a value: of a trait object behind a
    /// reference or in a list, and of a generic type of the crate's own.
    fn is_said_by_variable(&self, ty: &syn::Type) -> bool {
        let is_object = |ty: &syn::Type| matches!(ty, syn::Type::TraitObject(_));
        let holds_box = |ty: &syn::Type| matches!(ty, syn::Type::Path(inner) if type_args(&inner.path).any(is_object));
        match ty {
            syn::Type::Reference(reference) => is_object(&reference.elem) || self.is_said_by_variable(&reference.elem),
            syn::Type::Path(path) => {
                let is_open =
                    type_args(&path.path).next().is_some() && self.index.is_open_type(self.module(), &path.path);
                is_open || type_args(&path.path).any(|ty| holds_box(ty) || self.is_said_by_variable(ty))
            }
            syn::Type::Array(array) => {
                matches!(&*array.elem, syn::Type::Tuple(_)) && self.is_said_by_variable(&array.elem)
            }
            syn::Type::Tuple(parts) => parts.elems.iter().any(|part| holds_box(part) || self.is_said_by_variable(part)),
            _ => false,
        }
    }

    /// Whether it is the value of code that is not understood.
    fn is_opaque(&self, value: &Val) -> bool {
        self.whole_of(value).is_some_and(|id| matches!(self.graph.node(id).op, Op::Rust(_)))
    }

    /// No variable stands for what would be written to a copy, or to what the variable borrows.
    fn refuse_borrowed(&self, init: &syn::Expr, pat: &syn::Pat, value: &Val) -> Result<()> {
        // At the end of the entry it is let go of in generated code as well.
        let is_inside = self.frames.len() > 1 || self.env.depth() > ENTRY_DEPTH;
        let is_unread =
            is_inside && value.ty() == Ty::Unknown && matches!(pat, syn::Pat::Ident(name) if is_unread(&name.ident));
        if (holds_guard(init) || is_unread) && self.is_opaque(value) || self.is_dropped(init, value) {
            // It is let go of where its block ends, which generated code has in another place.
            return unsupported(init.span(), "a variable that holds a guard");
        }
        if is_lazy(init) && value.node().is_some() {
            // It would borrow what the opaque code has variables of its own for.
            return unsupported(init.span(), "a variable that holds an iterator");
        }
        if self.borrows_a_copy(init, value) {
            // What is written through it would reach a variable of the opaque code alone.
            return unsupported(init.span(), "a variable that borrows another to write to it");
        }
        Ok(())
    }

    /// Returns whether code runs where the variable goes out of scope: its type has a `Drop`, or holds what has one.
    fn is_dropped(&self, init: &syn::Expr, value: &Val) -> bool {
        let is_part = |id: fx_ir::NodeId| self.facts.paths.contains_key(&id);
        let is_owned = match value {
            Val::Node(id, _, kind) => *kind == RefKind::Value && !is_part(*id),
            Val::Fields(..) | Val::Lit(..) => true,
            _ => false,
        };
        let ty = Some(value.ty()).filter(|ty| *ty != Ty::Unknown).unwrap_or_else(|| self.infer_ty(init));
        is_owned && self.index.has_drop(&ty)
    }

    /// `let mut last: Option<Tensor> = None`: a variable of a known type, which a loop may carry.
    fn typed_none(&mut self, value: Val, typed: &syn::PatType) -> Val {
        let is_none = matches!(&value, Val::Lit(fx_ir::Arg::None, _));
        let is_mutable = matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.mutability.is_some());
        let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
        let known = Some(ty).filter(|_| is_none && is_mutable);
        let none = known.and_then(|ty| self.none_of(&ty, typed.ty.span()));
        // The user's code copies an option of a reference where this one would be moved.
        let borrows = signature::holds_reference(&typed.ty);
        none.map_or(value, |none| if borrows { none.with_ref_kind(RefKind::Ref) } else { none })
    }

    /// `None` of an option of tensors, or of a tuple of tensors and numbers.
    pub(in crate::trace) fn none_of(&mut self, ty: &Ty, span: Span) -> Option<Val> {
        let Ty::Option(inner) = ty else { return None };
        let is_known = match &**inner {
            Ty::Tuple(parts) => parts.iter().all(is_owned),
            held => *held == Ty::Tensor || self.index.is_enum(held),
        };
        let held = self.spelling(inner).filter(|_| is_known)?;
        Some(self.host_node_with(Effect::Io, HostOp::NoneOf(held), Vec::new(), "none", ty.clone(), span))
    }
}

/// The type of a `None` whose variable holds a reference to a tensor or none: opaque code is handed one of that type.
fn of_reference(ty: Ty) -> Ty {
    match ty {
        Ty::Option(held) if *held == Ty::Tensor => Ty::Option(Box::new(Ty::Rust(TENSOR_REFERENCE.to_owned()))),
        other => other,
    }
}

/// Whether the variable is one that nobody reads, as its name says: it is there to be dropped.
fn is_unread(name: &syn::Ident) -> bool {
    name.to_string().starts_with('_')
}

/// Whether the code yields a guard of a cell, or of a lock, that is not known.
fn holds_guard(init: &syn::Expr) -> bool {
    match init {
        syn::Expr::MethodCall(call) => {
            let name = call.method.to_string();
            let is_guard = matches!(name.as_str(), "borrow" | "borrow_mut" | "lock" | "read" | "write");
            let is_behind =
                matches!(name.as_str(), "unwrap" | "expect" | "unwrap_or_else") && holds_guard(&call.receiver);
            is_guard && call.args.is_empty() || is_behind
        }
        syn::Expr::Try(question) => holds_guard(&question.expr),
        _ => false,
    }
}

/// Whether the variable is of the type `Option<fn(..) -> ..>`.
fn is_pointer_option(pat: &syn::Pat) -> bool {
    let syn::Pat::Type(typed) = pat else { return false };
    let syn::Type::Path(path) = &*typed.ty else { return false };
    let is_option = path.path.segments.last().is_some_and(|last| last.ident == "Option");
    is_option && type_args(&path.path).any(|ty| matches!(ty, syn::Type::BareFn(_)))
}

/// Whether the variable is of the type `&[T]`.
fn is_slice_variable(pat: &syn::Pat) -> bool {
    let syn::Pat::Type(typed) = pat else { return false };
    matches!(&*typed.ty, syn::Type::Reference(reference) if matches!(*reference.elem, syn::Type::Slice(_)))
}

/// A tuple taken apart behind a reference: its parts are references.
fn parts_borrowed(value: Val) -> Val {
    match value {
        Val::Tuple(parts) => Val::Tuple(parts.into_iter().map(Val::borrowed).collect()),
        value => value,
    }
}

/// Whether a value of the type is a tensor or a number.
fn is_owned(ty: &Ty) -> bool {
    *ty == Ty::Tensor || is_copy(ty) && !is_untyped(ty)
}
