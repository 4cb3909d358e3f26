//! Which place an expression names, and whether there is one: options that may hold something, elements of lists.

use std::rc::Rc;

use fx_ir::{Arg, HostOp};
use quote::ToTokens;
use syn::{Expr, spanned::Spanned};

use crate::syntax::{element_access::ElementAccess, guard::is_borrow, is_chain, peeled};
use crate::trace::{
    Result, Tracer, Ty, Val,
    asked::base,
    place::{Place, Projection, Root, exchange::TAKE, is_plain},
    tensor::operator,
    unsupported,
};

/// A place that may be there or not.
pub(in crate::trace) struct PlaceTest {
    /// Whether it is there, as an operand, and the place that this reads.
    pub(in crate::trace) flag: Arg,
    pub(in crate::trace) of: Place,
    /// What there is, if it is there.
    pub(in crate::trace) held: Place,
}

impl Tracer<'_> {
    /// The part of the state that the expression names; `None` if it is none. With `writes` a field of the model
    /// becomes one.
    pub(in crate::trace) fn place(&mut self, expr: &syn::Expr, writes: bool) -> Result<Option<Place>> {
        match peeled(expr) {
            syn::Expr::Path(path) => Ok(path.path.get_ident().and_then(|name| self.named_place(&name.to_string()))),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => self.place(expr, writes),
            syn::Expr::Field(field) => self.field_place(field, writes),
            syn::Expr::Index(index) if !matches!(*index.index, syn::Expr::Range(_)) => self.item_place(index, writes),
            syn::Expr::MethodCall(call) if matches!(call.method.to_string().as_str(), "unwrap" | "expect") => {
                Ok(self.place_test(&call.receiver)?.map(|test| test.held))
            }
            syn::Expr::MethodCall(call) if is_borrow(call) => self.interior(&call.receiver),
            syn::Expr::MethodCall(call) => match self.filled_option(call)? {
                Some(held) => self.place(&held, writes),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// What a variable holds that is a reference to a part of the state: to name it is to hand the reference on.
    pub(in crate::trace) fn handed_reference(&self, expr: &Expr) -> Option<Val> {
        let syn::Expr::Path(path) = peeled(expr) else { return None };
        let place = self.named_place(&path.path.get_ident()?.to_string())?;
        // To name an option of the forward's own is to move it.
        (!place.is_own_option()).then(|| Val::Place(Rc::new(place)))
    }

    fn named_place(&self, name: &str) -> Option<Place> {
        match self.env.read(name) {
            Some(Val::Place(place)) => Some((**place).clone()),
            _ => None,
        }
    }

    /// The place that is borrowed where the expression stands behind a `&mut`; `None` if it is none.
    pub(in crate::trace) fn behind_mut(&mut self, expr: &Expr) -> Result<Option<Place>> {
        if let syn::Expr::Index(index) = peeled(expr)
            && let syn::Expr::Path(_) = peeled(&index.expr)
            && !matches!(*index.index, syn::Expr::Range(_))
        {
            return self.item_place(index, true);
        }
        self.place(expr, false)
    }

    /// A list whose elements are places: among those that the forward has made, one that is written to, or that is of
    /// structs, of which there are no copies.
    pub(in crate::trace) fn list_place(&mut self, list: &syn::Expr, writes: bool) -> Result<Option<Place>> {
        match self.place(list, false)? {
            None => self.own_list(list, writes),
            place => Ok(place),
        }
    }

    /// A list that the forward has made, as a place, itself or in a part of a variable; `None` if the expression names none.
    pub(in crate::trace) fn own_list(&mut self, list: &syn::Expr, writes: bool) -> Result<Option<Place>> {
        let Some(local) = self.local_place(peeled(list)) else { return Ok(None) };
        // Behind a `&mut` to the caller's it is the caller's variable that is written to.
        let lent = |tracer: &Self| tracer.held(&local).map(|value| value.clone().behind());
        let is_it = |element: &Ty| writes || matches!(element, Ty::Struct(_)) && !self.is_module(element);
        match lent(self).as_ref().map(Val::ty) {
            Some(Ty::List(element)) if *element != Ty::Unknown && is_it(&element) => {}
            _ => return Ok(None),
        }
        let mark = self.checkpoint();
        self.spill_variables(std::slice::from_ref(&local.root), list.span())?;
        let Some(root) = lent(self).filter(|value| self.is_spilled(value)) else {
            self.rollback(mark);
            return Ok(None);
        };
        let ty = root.ty();
        Ok(Some(Place { root, kind: Root::Own, projection: Vec::new(), ty, is_vec: true }))
    }

    fn field_place(&mut self, field: &syn::ExprField, writes: bool) -> Result<Option<Place>> {
        let name = field.member.to_token_stream().to_string();
        if let Some(outer) = self.place(&field.base, false)? {
            return self.part_of(&outer, &name, field.span()).map(Some);
        }
        let is_interior = matches!(self.chain_ty(&syn::Expr::Field(field.clone())), Ty::Interior(..));
        if !(self.is_stateful() || is_interior) || !is_chain(&field.base) {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let base = self.expr(base(&field.base))?;
        if let (Val::Node(_, Ty::Struct(owner), _), Some(_)) = (&base, self.path_of(&base))
            && (writes || is_interior || self.is_kept(*owner, &name))
        {
            return self.cell(&base, &name, field.span()).map(Some);
        }
        self.rollback(mark);
        Ok(None)
    }

    fn item_place(&mut self, index: &syn::ExprIndex, writes: bool) -> Result<Option<Place>> {
        let list = match self.place(&index.expr, writes)? {
            None => self.own_list(&index.expr, writes)?,
            place => place,
        };
        let Some(list) = list else { return Ok(None) };
        let Ty::List(element) = list.ty.clone() else {
            return unsupported(index.span(), format!("indexing a value {}", self.index.of_type(&list.ty)));
        };
        let at = self.expr(&index.index)?;
        list.item(&at, *element, index.span()).map(Some)
    }

    /// A part of the state, as a value; `None` if the expression is none.
    pub(in crate::trace) fn read_part(&mut self, expr: &syn::Expr, name: &str) -> Result<Option<Val>> {
        match self.place(expr, false)? {
            Some(place) => self.value_of(place, name, expr.span()).map(Some),
            None => Ok(None),
        }
    }

    /// `option`, `&mut option`, `option.as_mut()`, `list.get_mut(i)` and `list.last_mut()`, where what is held is written
    /// to, or is no value of which there can be a copy; `None` for anything else.
    pub(in crate::trace) fn place_test(&mut self, expr: &Expr) -> Result<Option<PlaceTest>> {
        let (inner, is_written) = match peeled(expr) {
            Expr::Reference(borrowed) => (&*borrowed.expr, borrowed.mutability.is_some()),
            Expr::MethodCall(call) => match (call.method.to_string().as_str(), call.args.len()) {
                ("as_mut" | "as_deref_mut" | "borrow_mut", 0) => (&*call.receiver, true),
                ("as_ref" | "as_deref" | "borrow", 0) => (&*call.receiver, false),
                (TAKE, 0) => return self.taken_test(call),
                _ => {
                    return match ElementAccess::of(&call.method) {
                        Some(access) => self.list_test(call, access),
                        None => Ok(None),
                    };
                }
            },
            // What a variable borrows, a pattern binds by reference.
            other => (other, matches!(other, Expr::Path(_)) && self.handed_reference(other).is_some()),
        };
        let mark = self.checkpoint();
        if let Some(place) = self.place(inner, false)?
            && let Ty::Option(held) = place.ty.clone()
            && (is_written || place.may_borrow_state() || place.is_own_option() || !is_plain(&held))
        {
            let held = place.held(*held);
            return Ok(Some(PlaceTest { flag: method("is_some", place.object()), of: place, held }));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// `cache.take()` of what may be borrowed.
    fn taken_test(&mut self, call: &syn::ExprMethodCall) -> Result<Option<PlaceTest>> {
        let mark = self.checkpoint();
        if let Some(place) = self.place(&call.receiver, false)?.filter(Place::may_borrow_state)
            && let Ty::Option(held) = place.ty.clone()
        {
            let held = place.held(*held);
            if self.empties(&call.receiver, &place.ty) {
                return Ok(Some(PlaceTest { flag: method("is_some", place.object()), of: place, held }));
            }
        }
        self.rollback(mark);
        Ok(None)
    }

    fn list_test(&mut self, call: &syn::ExprMethodCall, access: ElementAccess) -> Result<Option<PlaceTest>> {
        let mark = self.checkpoint();
        let refused = || unsupported(call.span(), format!("the method `{}`", call.method));
        let is_written = access.is_mutable() || access == ElementAccess::Taken;
        if let Some(list) = self.list_place(&call.receiver, access.is_mutable())?
            && let Ty::List(element) = list.ty.clone()
            && (is_written || !is_plain(&element))
        {
            let object = list.object();
            let (flag, held) = match (call.args.first(), access.end()) {
                (Some(at), None) if !matches!(at, Expr::Range(_)) => {
                    let at = self.expr(at)?;
                    if !operator::is_number(&at) {
                        return refused();
                    }
                    let held = list.item(&at, *element, call.span())?;
                    let number = at.arg().unwrap_or(Arg::None);
                    (HostOp::Binary("<".to_owned()).of([number, method("len", object)]), held)
                }
                (None, Some(end)) => {
                    let held = list.within(Projection::End(end), *element);
                    (HostOp::Not.on(method("is_empty", object)), held)
                }
                _ => return refused(),
            };
            return Ok(Some(PlaceTest { flag, of: list, held }));
        }
        self.rollback(mark);
        Ok(None)
    }
}

fn method(name: &str, on: Arg) -> Arg {
    HostOp::Method(name.to_owned()).on(on)
}
