//! State: fields of the model that a `&mut self` forward writes to.
//!
//! Such a field is a cell of the frozen model (`frozen::StateCell`), made when it is frozen; to read the field is a node that
//! reads the cell, to write it one that writes, and both stay in their order. Which fields those are is found by tracing:
//! where a write comes to light, the trace begins anew and knows of it.

use std::{collections::BTreeSet, rc::Rc};

use fx_ir::{Arg, Code, Host, HostOp, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::Function;
use crate::syntax::path_text;
use crate::syntax::peeled;
use crate::trace::types::label::join_path;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Unsupported, Val,
    entry::signature::Signature,
    place::{Place, Root},
    unsupported,
};

/// Fields that are written: each by its struct, as a position in the index, and its name.
pub(in crate::trace) type Fields = BTreeSet<(usize, String)>;

impl Tracer<'_> {
    pub(in crate::trace) fn is_kept(&self, owner: usize, name: &str) -> bool {
        let key = (owner, name.to_owned());
        self.kept.contains(&key) || self.found.contains(&key)
    }

    /// Whether it is, or holds, a part of the model that has a forward of its own.
    pub(in crate::trace) fn is_module(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Leaf(_) => true,
            Ty::Struct(id) => self.index.structs[*id].is_module,
            Ty::Option(inner) | Ty::List(inner) => self.is_module(inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.is_module(part)),
            _ => false,
        }
    }

    /// The type of a path through fields and elements.
    pub(in crate::trace) fn chain_ty(&self, expr: &syn::Expr) -> Ty {
        match peeled(expr) {
            syn::Expr::Path(path) if path.path.is_ident("self") => {
                let receiver = self.frames.last().and_then(|frame| frame.receiver.as_ref());
                receiver.map_or(Ty::Unknown, Val::ty)
            }
            syn::Expr::Path(path) => {
                self.env.read(&path_text(&path.path)).map_or(Ty::Unknown, |value| value.clone().behind().ty())
            }
            syn::Expr::Field(field) => match self.chain_ty(&field.base) {
                Ty::Struct(owner) => {
                    let name = field.member.to_token_stream().to_string();
                    let field = self.index.field(owner, &name);
                    field.map_or(Ty::Unknown, |field| self.index.field_ty(owner, field))
                }
                _ => Ty::Unknown,
            },
            syn::Expr::Index(index) => match self.chain_ty(&index.expr) {
                Ty::List(element) => *element,
                _ => Ty::Unknown,
            },
            _ => Ty::Unknown,
        }
    }

    /// Whether the call, of a method of the crate, may write to what it is called on.
    pub(in crate::trace) fn writes_by(&self, call: &syn::ExprMethodCall) -> bool {
        let name = call.method.to_string();
        match self.chain_ty(&call.receiver) {
            Ty::Unknown => self.index.fns.iter().any(|function| function.sig.ident == name && function.writes_self()),
            ty => self.index.method(&ty, &name).is_some_and(|id| self.index.fns[id].writes_self()),
        }
    }

    /// The cell of a field of the model.
    pub(in crate::trace) fn cell(&mut self, base: &Val, name: &str, span: Span) -> Result<Place> {
        let Val::Node(id, Ty::Struct(owner), _) = base else { return unsupported(span, "a field of a literal") };
        let (item, Some(field)) = (&self.index.structs[*owner], self.index.field(*owner, name)) else {
            return unsupported(span, format!("the field `{name}`"));
        };
        let ty = self.index.field_ty(*owner, field);
        if self.is_module(&ty) {
            return unsupported(span, format!("the forward writes to `{name}`, which is a layer or holds one"));
        }
        let home = self.home();
        let Some(spelled) = self.index.spelled(home, &item.module, &field.ty) else {
            let written = field.ty.to_token_stream().to_string().replace(' ', "");
            return unsupported(
                span,
                format!("`{written}`, the type of `{name}`, has no path that means the same everywhere"),
            );
        };
        if !self.index.can_read(home, *owner, field) {
            return unsupported(span, format!("the field `{name}` of `{}` is private to its module", item.name));
        }
        let label = self.path_of(base).map_or_else(|| name.to_owned(), |path| join_path(&path, name));
        let (text, is_plain) = (spelled.text, spelled.is_plain);
        let store = if is_plain { "" } else { ", ::fx_runtime::frozen::Foreign" };
        let is_vec = text.starts_with("Vec<");
        let kept = format!("::fx_runtime::frozen::StateCell<{text}{store}>");
        let op = if is_plain { HostOp::Cell(text) } else { HostOp::ForeignCell((text, label.clone())) };
        let attr = self.push_labelled(Op::GetAttr(name.to_owned()), vec![(*id).into()], name, &label, ty.clone(), span);
        let args = attr.arg().into_iter().collect();
        let cell = self.push_labelled(Op::Host(Host::pure(op)), args, name, &label, Ty::Rust(kept), span);
        self.found.extend(Some((*owner, name.to_owned())).filter(|key| !self.kept.contains(key)));
        Ok(Place { root: cell, kind: Root::Cell { is_plain }, projection: Vec::new(), ty, is_vec })
    }

    /// Reads a written field where it stands.
    pub(in crate::trace) fn read_field(&mut self, base: &Val, name: &str, span: Span) -> Result<Val> {
        let place = self.cell(base, name, span)?;
        self.read_place(&place, name, span)
    }

    /// The place of a field that opaque code mentions, if the code may write to it.
    pub(in crate::trace) fn mentioned(
        &mut self,
        receiver: &Val,
        name: &str,
        written: bool,
        span: Span,
    ) -> Result<Option<Val>> {
        let Val::Node(_, Ty::Struct(owner), _) = receiver else { return Ok(None) };
        if !self.is_stateful() || self.path_of(receiver).is_none() {
            return Ok(None);
        }
        let field = self.index.field(*owner, name);
        let ty = field.map_or(Ty::Unknown, |field| self.index.field_ty(*owner, field));
        // What writes to a value of the standard library's is known by name; what a type of the crate's own does is not.
        let module = &self.index.structs[*owner].module;
        let spelled = field.and_then(|field| self.index.spelled(self.home(), module, &field.ty));
        let is_plain = is_copy(&ty) || spelled.is_some_and(|spelled| spelled.is_plain);
        let only_read = self.is_module(&ty) || is_plain || self.only_looks(&ty);
        if !written && !self.is_kept(*owner, name) && only_read {
            return Ok(None);
        }
        self.cell(receiver, name, span).map(|place| Some(place.root))
    }

    /// Whether it is an enum of the crate, no method of which writes to it.
    fn only_looks(&self, ty: &Ty) -> bool {
        let is_its = |function: &Function| {
            let owner = function.owner.as_ref();
            owner.is_some_and(|owner| self.index.ty(&function.module, None, owner) == *ty)
        };
        let mut methods = self.index.fns.iter().filter(|function| is_its(function));
        self.index.is_enum(ty) && !methods.any(Function::writes_self)
    }

    /// The body as it is, where not even a piece of it can be understood.
    pub(in crate::trace) fn opaque_body(
        &mut self,
        signature: &Signature,
        block: &syn::Block,
        fault: &Unsupported,
    ) -> Result<Arg> {
        let body = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() });
        if let Some(escape) = crate::trace::opaque::effects::escape(&body) {
            return unsupported(escape, "code that leaves the function cannot be carried along");
        }
        if signature.output.is_ref {
            return unsupported(fault.span, "it yields a reference");
        }
        let (template, args) = self.captured(&body, fault.span)?;
        let code = Code { fallible: signature.output.is_result, ..Code::opaque(template, fault.reason.clone()) };
        self.report_opaque(fault.span, &fault.reason);
        let value = self.push(Op::Rust(code), args, "forward", signature.output.ty.clone(), fault.span);
        Ok(value.arg().unwrap_or(Arg::None))
    }

    /// A statement whose value nobody reads, kept as opaque code because of `fault`.
    pub(in crate::trace) fn opaque_statement(&mut self, expr: &syn::Expr, fault: Unsupported) -> Result<Val> {
        let is_call = matches!(expr, syn::Expr::MethodCall(_) | syn::Expr::Call(_));
        let has_state = self.is_stateful() || self.has_places();
        if !has_state || !is_call || crate::trace::opaque::effects::escape(expr).is_some() {
            return Err(fault);
        }
        // Its value may be a reference into what is only borrowed to it.
        let dropped: syn::Expr = syn::parse_quote_spanned!(expr.span()=> { let _ = #expr; });
        let (template, args) = self.captured(&dropped, expr.span())?;
        let code = Code::opaque(template, fault.reason.clone());
        self.report_opaque(fault.span, &fault.reason);
        Ok(self.push(Op::Rust(code), args, "opaque", Ty::Tuple(Vec::new()), expr.span()))
    }

    /// What is borrowed to the forward, or a layer or a part with layers, which is only written to field by field, behind a
    /// `&mut`.
    pub(in crate::trace) fn mut_ref(&mut self, inner: &syn::ExprReference) -> Result<Val> {
        if let Some(place) = self.behind_mut(&inner.expr)? {
            return Ok(Val::Place(Rc::new(place)));
        }
        let value = self.expr(&inner.expr)?;
        if self.is_stateful() && self.is_module(&value.ty()) && self.path_of(&value).is_some() {
            return Ok(value.with_ref_kind(RefKind::Ref));
        }
        unsupported(inner.span(), "`&mut` is not understood")
    }

    /// Whether a method by `&mut self` can be traced on the receiver.
    pub(in crate::trace) fn may_write_to(&self, receiver: Option<&Val>) -> bool {
        let part = receiver.filter(|value| matches!(value.ty(), Ty::Struct(_)));
        self.is_stateful() && part.is_some_and(|value| self.path_of(value).is_some())
    }
}
