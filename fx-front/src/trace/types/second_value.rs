//! Second values like one that is there, and of which values there can be one.

use std::rc::Rc;

use fx_ir::{Arg, Effect, HostOp, NodeId, Op};
use proc_macro2::Span;

use crate::index::{Field, is_within};
use crate::trace::types::ty::{GRU_STATE, LSTM_STATE, is_copy, is_state};
use crate::trace::{RefKind, Tracer, Ty, Val, application, entry::signature::is_vec};

impl Tracer<'_> {
    /// Whether it is a field of a struct of the crate that the forward has made, of values of its own in `Vec`s and
    /// options.
    pub(in crate::trace) fn is_made_field(&self, id: NodeId) -> bool {
        self.made_field(id).is_some()
    }

    /// Whether it is such a field that is a `Vec`.
    pub(in crate::trace) fn is_vec_field(&self, id: NodeId) -> bool {
        self.made_field(id).is_some_and(|field| is_vec(&field.ty))
    }

    fn made_field(&self, id: NodeId) -> Option<&Field> {
        let node = self.graph.node(id);
        let Op::GetAttr(name) = &node.op else { return None };
        let base = node.input(0).filter(|base| !self.facts.paths.contains_key(base))?;
        let fx_ir::Type::Module(owner) = &self.graph.node(base).ty else { return None };
        let owner = self.index.struct_at(owner)?;
        let field = self.index.field(owner, name)?;
        self.is_copied(&self.index.structs[owner].module, &field.ty).then_some(field)
    }

    /// Whether it is a value of the very type: a variable of the generated code's, a struct that the forward has made,
    /// or what the entry is given by value.
    pub(in crate::trace) fn is_own(&self, value: &Val) -> bool {
        let Val::Node(id, ..) = value else { return false };
        self.is_spilled(value) || self.facts.made.contains_key(id) || self.is_given(*id)
    }

    /// Whether the user's variable holds a value of the very type, wherever generated code has it.
    pub(in crate::trace) fn is_held(&self, value: &Val) -> bool {
        self.is_own(value) || value.node().is_some_and(|id| self.is_loan(id))
    }

    /// Whether it is what the entry is given by value.
    pub(in crate::trace) fn is_given(&self, id: NodeId) -> bool {
        self.entry_type(id).is_some_and(|ty| self.is_copied(self.home(), &ty))
    }

    /// Returns whether the user's own `clone` copies values of the type: structs of the crate, in tuples, lists and
    /// options.
    pub(in crate::trace) fn has_clone(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(id) => !self.index.structs[*id].is_module,
            Ty::Option(inner) | Ty::List(inner) => self.has_clone(inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.has_clone(part)),
            _ => false,
        }
    }

    /// What the user's own `clone` makes of the value.
    pub(in crate::trace) fn user_clone(&mut self, value: &Val, ty: Ty, span: Span) -> Val {
        let args = value.arg().into_iter().collect();
        self.host_node_with(Effect::Io, HostOp::Clone, args, "cloned", ty, span).with_ref_kind(RefKind::Value)
    }

    /// A second value like the one that is there, made of second handles on its tensors.
    pub(in crate::trace) fn copy_of(&self, ty: &Ty, place: &Arg) -> Option<Arg> {
        let place = place.clone();
        Some(match ty {
            Ty::Tensor => HostOp::Handle.on(place),
            ty if is_copy(ty) => HostOp::Clone.on(place),
            Ty::List(element) if is_copy(element) => HostOp::ToVec.on(place),
            Ty::List(element) => HostOp::MapList.of([place, self.copy_of(element, &element_of_map())?]),
            Ty::Option(inner) => HostOp::MapOption.of([place, self.copy_of(inner, &element_of_map())?]),
            Ty::Tuple(parts) if parts.is_empty() => HostOp::Unit.of([]),
            Ty::Tuple(parts) => {
                let part = |at: usize| HostOp::Field(at.to_string()).on(place.clone());
                let parts = parts.iter().enumerate().map(|(at, ty)| self.copy_of(ty, &part(at)));
                HostOp::Tuple.of(parts.collect::<Option<Vec<Arg>>>()?)
            }
            Ty::Struct(id) => self.copy_of_struct(*id, &place)?,
            ty if is_state(ty, GRU_STATE) => {
                HostOp::GruState.on(HostOp::Handle.on(HostOp::Field("0".to_owned()).on(place)))
            }
            ty if is_state(ty, LSTM_STATE) => {
                let tensors = HostOp::Field("0".to_owned()).on(place);
                let tensor = |at: &str| HostOp::Handle.on(HostOp::Field(at.to_owned()).on(tensors.clone()));
                HostOp::LstmState.of([tensor("0"), tensor("1")])
            }
            _ => return None,
        })
    }

    /// A value of its own for one that the user's code owns and generated code has a reference to; none where there can be
    /// no copy of its type.
    pub(in crate::trace) fn own_copy(&mut self, value: &Val, span: Span) -> Option<Val> {
        let Val::Node(id, ty, _) = value else { return None };
        let (op, args) = application(self.copy_of(ty, &Arg::Node(*id))?);
        let name = self.graph.base_name(*id).to_owned();
        Some(self.host_node_with(Effect::Io, op, args, &name, ty.clone(), span))
    }

    /// What the `clone()` yields that a struct of the crate derives; `None` where a part may have one of its own.
    pub(in crate::trace) fn derived_clone(&mut self, value: &Val, span: Span) -> Option<Val> {
        let ty = value.ty();
        (!self.is_module(&ty) && self.is_cloned_by_parts(&ty)).then(|| self.clone_by_parts(value, span))?
    }

    fn clone_by_parts(&mut self, value: &Val, span: Span) -> Option<Val> {
        let mut all =
            |parts: &[Val]| parts.iter().map(|part| self.clone_by_parts(part, span)).collect::<Option<Vec<Val>>>();
        Some(match value {
            Val::Tuple(parts) => Val::Tuple(all(parts)?),
            Val::List(items) => Val::List(all(items)?),
            Val::Fields(shape, parts) => Val::Fields(Rc::clone(shape), all(parts)?),
            Val::Some(inner) => Val::Some(Box::new(self.clone_by_parts(inner, span)?)),
            Val::Lit(..) => value.clone(),
            Val::Node(_, ty, RefKind::Value) if *ty == Ty::Tensor || is_copy(ty) => value.clone(),
            Val::Node(..) => self.own_copy(value, span)?,
            _ => return None,
        })
    }

    /// Whether no struct in the type has a `clone` that the crate writes.
    fn is_cloned_by_parts(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(id) => {
                let mut fields = self.index.structs[*id].fields.iter();
                let is_derived = self.index.method(ty, "clone").is_none() && !self.index.is_recursive(*id);
                is_derived && fields.all(|field| self.is_cloned_by_parts(&self.index.field_ty(*id, field)))
            }
            Ty::List(inner) | Ty::Option(inner) => self.is_cloned_by_parts(inner),
            Ty::Tuple(parts) => parts.iter().all(|part| self.is_cloned_by_parts(part)),
            ty => *ty == Ty::Tensor || is_copy(ty),
        }
    }

    /// A struct of the crate whose fields generated code can read, and all of which can be copied.
    fn copy_of_struct(&self, id: usize, place: &Arg) -> Option<Arg> {
        let (item, home) = (&self.index.structs[id], self.home());
        let path = self.index.path_from(home, &item.module, &item.name).filter(|_| item.instance.is_none())?;
        if self.index.is_recursive(id) {
            return None;
        }
        let copies = item.fields.iter().map(|field| {
            let is_read = field.scope.as_ref().is_none_or(|scope| is_within(home, scope));
            let ty = (is_read && self.is_copied(&item.module, &field.ty)).then(|| self.index.field_ty(id, field))?;
            self.copy_of(&ty, &HostOp::Field(field.name.clone()).on(place.clone()))
        });
        let copies = copies.collect::<Option<Vec<Arg>>>()?;
        Some(HostOp::Struct((path, item.fields.iter().map(|field| field.name.clone()).collect())).of(copies))
    }

    /// Whether a copy of a value of the type, as far as its parts have one, is of that very type.
    fn is_copied(&self, module: &str, ty: &syn::Type) -> bool {
        all_leaves(ty, &|leaf| {
            if let Some((at, aliased)) = self.index.plain_alias(module, leaf) {
                return self.is_copied(&at, &aliased);
            }
            let is_struct = |ty| matches!(ty, Ty::Struct(id) if !self.index.structs[id].is_module);
            is_plain_leaf(leaf) || is_struct(self.index.ty(module, None, leaf))
        })
    }
}

/// What the body of a map calls the element that it is given.
fn element_of_map() -> Arg {
    Arg::Path("one".to_owned())
}

/// A tensor or a number.
fn is_plain_leaf(leaf: &syn::Type) -> bool {
    let syn::Type::Path(path) = leaf else { return false };
    let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    name == "Tensor" || fx_ir::scalar::is_scalar(&name)
}

/// Whether `test` holds for every type without arguments that tuples, `Vec` and `Option` make up this one of.
fn all_leaves(ty: &syn::Type, test: &dyn Fn(&syn::Type) -> bool) -> bool {
    match ty {
        syn::Type::Tuple(parts) => parts.elems.iter().all(|part| all_leaves(part, test)),
        syn::Type::Path(path) => match path.path.segments.last().map(|last| (last, &last.arguments)) {
            Some((last, syn::PathArguments::AngleBracketed(list))) => {
                let is_known = last.ident == "Vec" || last.ident == "Option";
                let holds = |arg: &_| matches!(arg, syn::GenericArgument::Type(ty) if all_leaves(ty, test));
                is_known && list.args.iter().all(holds)
            }
            Some((_, syn::PathArguments::None)) => test(ty),
            _ => false,
        },
        _ => false,
    }
}
