//! Places: written fields of the model, what a `&mut` parameter of the entry borrows, and elements of lists that the
//! forward has made.
//!
//! A place is a way from where it is rooted, through fields, elements and options, and no value: to read it is a node,
//! to write it another, and both stay in their order. A written field is rooted in its cell ([`crate::trace::place::state_cell`]); what is
//! borrowed is reached through the parameter itself, so that the caller finds in it what the user's code would have left
//! there, also where a call ends in an error.

pub(in crate::trace) mod assign;
pub(in crate::trace) mod assign_state;
pub(in crate::trace) mod borrow;
pub(in crate::trace) mod compound;
pub(in crate::trace) mod exchange;
pub(in crate::trace) mod field;
pub(in crate::trace) mod indexing;
pub(in crate::trace) mod interior;
pub(in crate::trace) mod local_place;
pub(in crate::trace) mod may_borrow;
pub(in crate::trace) mod own_option;
pub(in crate::trace) mod part;
pub(in crate::trace) mod presence;
pub(in crate::trace) mod projection;
pub(in crate::trace) mod resolve;
pub(in crate::trace) mod spill;
pub(in crate::trace) mod state_cell;

use std::rc::Rc;

use fx_ir::{Arg, Effect, Host, HostOp, Op};
use proc_macro2::Span;

pub(in crate::trace) use self::projection::Projection;
use crate::trace::types::ty::{GRU_STATE, LSTM_STATE, is_copy, is_state};
use crate::trace::{Result, Tracer, Ty, Val, application, entry::signature::is_vec, tensor::operator, unsupported};

/// What a place is rooted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Root {
    /// A written field of the model, and whether it is made of tensors, numbers and text alone.
    Cell { is_plain: bool },
    /// A parameter that borrows it.
    Borrow,
    /// A parameter that may lend it: `Option<&mut Cache>`.
    MaybeBorrow,
    /// A list or an option in a variable of the generated code's own.
    Own,
}

/// A part of the state.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Place {
    /// The node of the cell, or of the parameter.
    pub(in crate::trace) root: Val,
    pub(in crate::trace) kind: Root,
    /// The way from the root: `.layers[i].key`.
    pub(in crate::trace) projection: Vec<Projection>,
    pub(in crate::trace) ty: Ty,
    /// Whether it is a list of a length of its own.
    pub(in crate::trace) is_vec: bool,
}

impl Place {
    /// The place as it is read or assigned to.
    pub(in crate::trace) fn target(&self) -> Arg {
        match self.projection.last() {
            Some(last) if last.yields_reference() => HostOp::Deref.on(self.object()),
            None if self.is_cell() => HostOp::Deref.on(self.object()),
            _ => self.object(),
        }
    }

    /// The place as it is read, for as long as other values refer to it.
    pub(in crate::trace) fn shared_target(&self) -> Arg {
        let root = Place { projection: Vec::new(), ..self.clone() }.object();
        let object = self.projection.iter().try_fold(root, |base, step| step.of_shared(base));
        match (object, self.projection.last()) {
            (Some(object), Some(last)) if last.yields_reference() => HostOp::Deref.on(object),
            (Some(object), Some(_)) => object,
            _ => self.target(),
        }
    }

    /// The cell, if the place is all that it holds.
    pub(in crate::trace) fn whole_cell(&self) -> Option<Arg> {
        self.root.arg().filter(|_| self.is_cell() && self.projection.is_empty())
    }

    /// Whether it is the option itself that a parameter is, and nothing that lies anywhere.
    pub(in crate::trace) fn may_borrow_state(&self) -> bool {
        self.kind == Root::MaybeBorrow && self.projection.is_empty()
    }

    /// Whether a variable that is the place is a reference to it, and no value of its own.
    pub(in crate::trace) fn is_behind_reference(&self) -> bool {
        !self.projection.is_empty() || matches!(self.kind, Root::Cell { .. } | Root::Borrow)
    }

    /// The same as what a method is called on.
    pub(in crate::trace) fn object(&self) -> Arg {
        let root = self.root.arg().unwrap_or(Arg::None);
        let base = match self.kind {
            Root::Cell { .. } => HostOp::Lock.on(root),
            Root::Borrow if self.projection.is_empty() => HostOp::Deref.on(root),
            _ => root,
        };
        self.projection.iter().fold(base, |base, step| step.of(base))
    }

    pub(in crate::trace) fn is_cell(&self) -> bool {
        matches!(self.kind, Root::Cell { .. })
    }

    pub(in crate::trace) fn same(&self, other: &Place) -> bool {
        self.root.same(&other.root) && self.projection == other.projection
    }

    /// The place as a parameter of that type has it: a list as a slice.
    pub(in crate::trace) fn handed_as(&self, ty: &syn::Type) -> Place {
        let is_slice = matches!(ty, syn::Type::Reference(borrowed) if matches!(*borrowed.elem, syn::Type::Slice(_)));
        if is_slice && self.is_vec { self.within(Projection::Slice, self.ty.clone()) } else { self.clone() }
    }

    /// What the option at the place holds.
    pub(in crate::trace) fn held(&self, held: Ty) -> Place {
        self.within(if self.may_borrow_state() { Projection::Borrowed } else { Projection::Some }, held)
    }

    /// A part of it, one step further.
    pub(in crate::trace) fn within(&self, step: Projection, ty: Ty) -> Place {
        let mut inner = self.clone();
        // Of a cell it was said what is in it.
        let is_vec = self.is_vec && step == Projection::Interior;
        inner.projection.push(step);
        Place { ty, is_vec, ..inner }
    }

    /// The element of the list at a number.
    pub(in crate::trace) fn item(&self, at: &Val, element: Ty, span: Span) -> Result<Place> {
        match (at.arg(), operator::is_number(at)) {
            (Some(at @ Arg::Int(0..)), _) | (Some(at @ Arg::Node(_)), true) => {
                Ok(self.within(Projection::Index(at), element))
            }
            _ => unsupported(span, "an index of this form"),
        }
    }
}

/// Whether it is made of tensors and numbers alone, so that there can be a copy that holds second handles.
pub(in crate::trace) fn is_plain(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor => true,
        Ty::Option(inner) | Ty::List(inner) => is_plain(inner),
        Ty::Tuple(parts) => !parts.is_empty() && parts.iter().all(is_plain),
        ty => is_copy(ty) || is_state(ty, LSTM_STATE) || is_state(ty, GRU_STATE),
    }
}

impl Tracer<'_> {
    /// What the entry's parameter of that type borrows, as a place.
    pub(in crate::trace) fn borrowed_parameter(&self, root: Val, written: &syn::Type, span: Span) -> Result<Val> {
        let (kind, is_vec) = match written {
            syn::Type::Reference(reference) => (Root::Borrow, is_vec(&reference.elem)),
            _ => (Root::MaybeBorrow, false),
        };
        let ty = root.ty();
        let borrowed = if let (Ty::Option(held), Root::MaybeBorrow) = (&ty, kind) { held } else { &ty };
        if self.is_module(borrowed) || matches!(borrowed, Ty::Unknown) {
            return unsupported(span, "a parameter of type `&mut`");
        }
        let place = Place { root, kind, projection: Vec::new(), ty, is_vec };
        Ok(Val::Place(Rc::new(place)))
    }

    /// A field of a struct, or a part of a tuple.
    pub(in crate::trace) fn part_of(&self, outer: &Place, name: &str, span: Span) -> Result<Place> {
        let (ty, is_vec) = match &outer.ty {
            Ty::Struct(owner) => match self.index.field(*owner, name) {
                Some(field) if self.index.can_read(self.home(), *owner, field) => {
                    (self.index.field_ty(*owner, field), is_vec(&field.ty))
                }
                Some(_) => {
                    let owner = &self.index.structs[*owner].name;
                    return unsupported(span, format!("the field `{name}` of `{owner}` is private to its module"));
                }
                None => return unsupported(span, format!("the field `{name}` of what the forward writes to")),
            },
            Ty::Tuple(parts) => match name.parse::<usize>().ok().and_then(|at| parts.get(at).cloned()) {
                Some(part) => (part, false),
                None => return unsupported(span, "a tuple whose parts are not known"),
            },
            _ => return unsupported(span, format!("the field `{name}` of what the forward writes to")),
        };
        Ok(Place { is_vec, ..outer.within(Projection::Field(name.to_owned()), ty) })
    }

    /// What the place holds, where that is a value that can be copied; else the place.
    pub(in crate::trace) fn value_of(&mut self, place: Place, name: &str, span: Span) -> Result<Val> {
        if let Some(moved) = self.moved_option(&place, name, span) {
            return Ok(moved);
        }
        let is_value =
            is_plain(&place.ty) || place.projection.is_empty() && place.kind == (Root::Cell { is_plain: true });
        if is_value && !place.may_borrow_state() {
            return self.read_place(&place, name, span);
        }
        Ok(Val::Place(Rc::new(place)))
    }

    /// Reads the place: a copy of a number, a second handle on a tensor.
    pub(in crate::trace) fn read_place(&mut self, place: &Place, name: &str, span: Span) -> Result<Val> {
        if place.may_borrow_state() {
            return unsupported(span, format!("`{name}`, which may lend what the forward writes to"));
        }
        let cell = place.whole_cell().filter(|_| place.kind == (Root::Cell { is_plain: true }));
        let operand = match (&place.ty, cell) {
            (ty, _) if is_copy(ty) => HostOp::Use.on(place.target()),
            (_, Some(cell)) => HostOp::CellValue.on(cell),
            (Ty::List(inner), _) if is_copy(inner) => HostOp::CopyList.on(place.object()),
            (Ty::Tensor, _) => HostOp::Handle.on(place.object()),
            (ty @ (Ty::Option(inner) | Ty::List(inner)), _) if **inner == Ty::Tensor => {
                self.copy_of(ty, &place.object()).unwrap_or(Arg::None)
            }
            (Ty::List(_), _) if is_plain(&place.ty) => HostOp::HandlesOfList.on(place.object()),
            (ty, _) if is_plain(ty) => HostOp::Handles.on(place.target()),
            _ => {
                return unsupported(
                    span,
                    format!("`{name}`, which the forward writes to and whose type is the crate's own"),
                );
            }
        };
        let (op, args) = application(operand);
        Ok(self.on_place(place, op, args, name, place.ty.clone(), span))
    }

    /// A node that reads or writes the place, in its order.
    pub(in crate::trace) fn on_place(
        &mut self,
        place: &Place,
        op: HostOp,
        args: Vec<Arg>,
        name: &str,
        ty: Ty,
        span: Span,
    ) -> Val {
        let effect = if place.kind == Root::Own { Effect::Io } else { Effect::State };
        self.push(Op::Host(Host::with_effect(op, effect)), args, name, ty, span)
    }

    /// What a variable stands for: where it is a place, the value there.
    pub(in crate::trace) fn read_variable(&mut self, value: &Val, name: &str, span: Span) -> Result<Val> {
        match value {
            Val::Place(place) => self.value_of((**place).clone(), name, span),
            other => Ok(other.clone()),
        }
    }
}
