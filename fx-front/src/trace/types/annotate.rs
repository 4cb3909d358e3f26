//! Types that the user writes, for code that is kept as opaque code.

use fx_ir::{Op, Type};
use quote::ToTokens;
use syn::visit_mut::VisitMut;

use crate::syntax::lifetimes::ElideLifetimes;
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{Result, Tracer, Ty, Val};

impl Tracer<'_> {
    /// Code of a type that is not known, where a number of this type has to stand.
    pub(in crate::trace) fn of_known_type(&mut self, value: Val, ty: &Ty) -> Result<Val> {
        let written = self.spelling(ty).filter(|_| is_copy(ty) && !is_untyped(ty) && value.ty() == Ty::Unknown);
        let Some(written) = written.and_then(|text| syn::parse_str::<syn::Type>(&text).ok()) else { return Ok(value) };
        self.annotate(&value, &written)?;
        Ok(value.with_ty(ty.clone()))
    }

    /// Code that is kept as opaque code, of a type that is not known, is the tensor that its variable says, or the place
    /// that it is moved into.
    pub(in crate::trace) fn tensor_as_written(&mut self, value: Val, ty: &Ty) -> Val {
        let Val::Node(id, Ty::Unknown, form) = value else { return value };
        let is_opaque = matches!(&self.graph.node(id).op, Op::Rust(code) if code.opaque.is_some());
        if *ty != Ty::Tensor || !is_opaque {
            return Val::Node(id, Ty::Unknown, form);
        }
        self.edit_node(id).ty = Type::TENSOR;
        Val::Node(id, Ty::Tensor, form)
    }

    /// The code without the lifetimes that a function names which is inlined: they are none of the one around it.
    pub(in crate::trace) fn without_lifetimes<T>(&self, mut code: T, visit: fn(&mut ElideLifetimes, &mut T)) -> T {
        if self.frames.len() > 1 {
            visit(&mut ElideLifetimes, &mut code);
        }
        code
    }

    /// Code that is kept as opaque code may be of the type that is written, and of no other, only because it is written.
    pub(in crate::trace) fn annotate(&mut self, value: &Val, ty: &syn::Type) -> Result<()> {
        let whole = self.whole_of(value);
        if let (None, Val::Tuple(parts), syn::Type::Tuple(types)) = (whole, value, ty) {
            let untold = parts.iter().zip(&types.elems).filter(|(part, _)| part.ty() == Ty::Unknown);
            return untold.into_iter().try_for_each(|(part, ty)| self.annotate(part, ty));
        }
        let is_part = whole != value.node();
        let Some(id) = whole.filter(|&id| self.graph.scope_of(id) == Some(self.region)) else { return Ok(()) };
        let writing = self.facts.writing(id).cloned();
        let elided = self.requalified_type(ty).map(|ty| self.without_lifetimes(ty, ElideLifetimes::visit_type_mut));
        let Op::Rust(code) = &mut self.edit_node(id).op else { return Ok(()) };
        if code.opaque.is_none() {
            return Ok(());
        }
        let ty = elided?;
        if is_part {
            // The other parts are variables that it writes to.
            if let Some(writing) = writing {
                code.template = writing.template(Some(&ty));
            }
            return Ok(());
        }
        let ty = ty.to_token_stream();
        let wrap = |value: &str| {
            if code.fallible {
                format!("{value}.map(|typed: {ty}| typed)")
            } else {
                format!("{{ let typed: {ty} = {value}; typed }}")
            }
        };
        *code = code.clone().wrapped(wrap);
        Ok(())
    }
}
