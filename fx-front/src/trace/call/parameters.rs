//! The parameters of a function that is traced where it is called, and what is handed over for them.

use std::rc::Rc;

use fx_ir::{Arg, Effect, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::diag::{Code, Severity};
use crate::index::Function;
use crate::syntax::written_types::{type_args, typed_params};
use crate::trace::types::{
    expectation::Expectation,
    into_option::option_made,
    ty::{is_settled_within, is_untyped},
};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, entry::signature::holds_reference, place::local_place::LocalPlace, unsupported,
};

impl Tracer<'_> {
    /// An argument for a function of the crate, which may write to what is ours.
    pub(in crate::trace) fn handed_on(&mut self, arg: &syn::Expr) -> Result<Val> {
        if let Some(place) = self.mut_ref_to_local(arg)? {
            return Ok(place);
        }
        match self.known_iterator(arg) {
            Some(iterator) => Ok(iterator),
            None => self.expr(arg).map(|value| self.copied_array(arg, value)),
        }
    }

    /// The argument of a method of the crate at that position, whose parameter says what an `into()` makes.
    pub(in crate::trace) fn handed_to(&mut self, arg: &syn::Expr, (method, at): (usize, usize)) -> Result<Val> {
        let converts = matches!(arg, syn::Expr::MethodCall(call) if call.method == "into" && call.args.is_empty());
        let ty = typed_params(&self.index.fns[method].sig).nth(at).map(|param| &*param.ty);
        if let Some(ty) = ty.filter(|_| converts) {
            self.expects.next = Some(Expectation::of_parameter(ty, method));
        }
        self.gathering(ty, |tracer| tracer.handed_on(arg))
    }

    pub(in crate::trace) fn bind_params(&mut self, function: usize, args: Vec<Val>, span: Span) -> Result<()> {
        let callee = &self.index.fns[function];
        let typed: Vec<&syn::PatType> = typed_params(&callee.sig).collect();
        if typed.len() != args.len() {
            let message = format!("`{}` takes {} arguments, not {}", callee.sig.ident, typed.len(), args.len());
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), "");
            return unsupported(span, message);
        }
        for (param, value) in typed.into_iter().zip(args) {
            if let Val::MutRef(place, inner) = value {
                let inner = Box::new(self.open_list_of(*inner, callee, &param.ty));
                self.declare_lent(param, place, *inner)?;
                continue;
            }
            if let Val::Place(place) = value {
                self.bind(&param.pat, Val::Place(Rc::new(place.handed_as(&param.ty))))?;
                continue;
            }
            if matches!(&*param.ty, syn::Type::Reference(reference) if reference.mutability.is_some()) {
                let value = self.open_list_of(value, callee, &param.ty);
                self.declare_mut(param, value)?;
                continue;
            }
            let option = option_made(&callee.sig, &param.ty);
            let written = option.unwrap_or(&param.ty);
            let ty = self.index.ty(&callee.module, callee.owner.as_ref(), written);
            let value = if option.is_some() { self.made_option(value, &ty) } else { value };
            let is_tensor = ty == Ty::Tensor && matches!(written, syn::Type::Reference(_));
            let value = if is_tensor { self.as_tensor(value, span)? } else { value };
            let value = if self.types_only { with_told_options(value, &ty) } else { value };
            let value = match value {
                Val::Node(id, Ty::Unknown, form) => {
                    if self.is_unnamed(&value) {
                        self.annotate_as(&value, &param.ty)?;
                    } else {
                        self.of_known_type(value, &ty)?;
                    }
                    Val::Node(id, ty, form)
                }
                Val::Node(id, Ty::Option(held), form)
                    if *held == Ty::Unknown && matches!(ty, Ty::Option(_)) && self.settle_elements(id, &ty) =>
                {
                    Val::Node(id, ty, form)
                }
                other => self.of_written_type(other, &ty),
            };
            let form = self.form_of(&value, written);
            // A parameter is a new name of the argument; the argument keeps its own.
            match &*param.pat {
                syn::Pat::Ident(ident) => {
                    let value = value.with_ref_kind(form);
                    // An option of a `&mut` owns nothing that could be written to in a variable of its own.
                    let value = if may_lend(&param.ty) { value } else { self.own_option(&param.pat, value, span)? };
                    self.env.declare(&ident.ident.to_string(), value);
                }
                pat => self.bind(pat, value)?,
            }
        }
        Ok(())
    }

    /// Whether it is a value that stands in no variable, and that nothing reads.
    fn is_unnamed(&self, value: &Val) -> bool {
        let names: usize = self.outer.iter().chain([&self.env]).map(|env| env.handles(value)).sum();
        names == 0 && value.node().is_some_and(|id| !self.graph.has_users(id))
    }

    /// A list of which nothing said so far what it will hold, which is lent for a parameter of this type: `&mut Vec<Tensor>`.
    fn open_list_of(&mut self, value: Val, callee: &Function, ty: &syn::Type) -> Val {
        let syn::Type::Reference(reference) = ty else { return value };
        let known = self.index.ty(&callee.module, callee.owner.as_ref(), &reference.elem);
        let is_open = matches!(value.ty(), Ty::List(element) if *element == Ty::Unknown);
        let is_said = matches!(&known, Ty::List(element) if is_settled_within(element) && !is_untyped(element));
        let (Val::Node(id, _, form), true) = (&value, is_open && is_said && !holds_reference(&reference.elem)) else {
            return value;
        };
        let Some(spelled) = self.spelling(&known) else { return value };
        let said = HostOp::Ascribe(format!("&{spelled}"));
        let list = HostOp::Ref.on(Arg::Node(*id));
        self.host_node_with(Effect::Io, said, vec![list], "list", Ty::Tuple(Vec::new()), ty.span());
        Val::Node(*id, known, *form)
    }

    /// A parameter that is borrowed a place of the caller's: what is written to it is given back.
    pub(in crate::trace) fn declare_lent(
        &mut self,
        param: &syn::PatType,
        place: Rc<LocalPlace>,
        value: Val,
    ) -> Result<()> {
        let syn::Pat::Ident(ident) = &*param.pat else {
            return unsupported(param.pat.span(), "a parameter of type `&mut`");
        };
        let value = match &*param.ty {
            // Only looked at.
            syn::Type::Reference(reference) if reference.mutability.is_none() => value.with_ref_kind(RefKind::Ref),
            // Code that is kept as opaque code would have a handle on the tensor, not the reference that the user's code has.
            _ if value.is_tensor() => Val::MutRef(place, Box::new(value.with_ref_kind(RefKind::RefRef))),
            _ => Val::MutRef(place, Box::new(value)),
        };
        self.env.declare(&ident.ident.to_string(), value);
        Ok(())
    }

    /// A parameter of type `&mut` that is handed what stays where it is; what is done to it is done there.
    fn declare_mut(&mut self, param: &syn::PatType, value: Val) -> Result<()> {
        let is_part = self.is_stateful() && self.is_module(&value.ty()) && self.path_of(&value).is_some();
        let is_list = matches!(value.ty(), Ty::List(_)) && self.is_spilled(&value);
        let is_tensor = value.is_tensor() && value.node().is_some();
        if !is_part && !is_list && !is_tensor {
            return unsupported(param.ty.span(), "a parameter of type `&mut`");
        }
        let syn::Pat::Ident(ident) = &*param.pat else {
            return unsupported(param.pat.span(), "a parameter of type `&mut`");
        };
        // Code that is kept as opaque code would have a handle on the tensor, not the reference that the user's code has.
        let value = if is_tensor { value.with_ref_kind(RefKind::RefRef) } else { value };
        self.env.declare(&ident.ident.to_string(), value);
        Ok(())
    }

    /// How a parameter of that type holds the value that is handed over for it.
    fn form_of(&self, value: &Val, ty: &syn::Type) -> RefKind {
        match (ty, value) {
            (syn::Type::Reference(_), _) => RefKind::Ref,
            (ty, _) if !holds_reference(ty) => RefKind::Value,
            // An option of a reference of the entry's is handed on as it is.
            (_, Val::Node(id, Ty::Option(_), RefKind::Value)) if self.holds_references(*id) => RefKind::Value,
            (_, Val::Node(_, Ty::Option(_), _)) => RefKind::Ref,
            _ => RefKind::RefRef,
        }
    }
}

/// Whether the type is one of an option of a `&mut`.
fn may_lend(ty: &syn::Type) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    let is_option = path.path.segments.last().is_some_and(|last| last.ident == "Option");
    let is_mut = |ty: &syn::Type| matches!(ty, syn::Type::Reference(reference) if reference.mutability.is_some());
    is_option && type_args(&path.path).any(is_mut)
}

/// The value with the type of the parameter for each option of which nothing said so far what it may hold.
fn with_told_options(value: Val, ty: &Ty) -> Val {
    match (value, ty) {
        (Val::Tuple(parts), Ty::Tuple(types)) if parts.len() == types.len() => {
            Val::Tuple(parts.into_iter().zip(types).map(|(part, ty)| with_told_options(part, ty)).collect())
        }
        (Val::Node(id, Ty::Option(held), form), Ty::Option(_)) if *held == Ty::Unknown => {
            Val::Node(id, ty.clone(), form)
        }
        (value, _) => value,
    }
}
