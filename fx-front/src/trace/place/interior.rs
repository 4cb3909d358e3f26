//! Interior mutability: what a `RefCell` or a `Cell` in a field holds is a place behind the field's own, to which a forward
//! by `&self` writes.
//!
//! A guard is the reference that it stands for. That a cell is borrowed twice, at which the user's code panics, is not
//! asked.

use std::rc::Rc;

use syn::{Expr, ExprMethodCall, spanned::Spanned};

use crate::syntax::guard::is_borrow;
use crate::trace::{
    Result, Tracer, Ty, Val,
    place::{Place, Projection, exchange::TAKE, is_plain},
};

/// Whether it is a list that is no `Vec`.
fn is_other_list(place: &Place) -> bool {
    matches!(place.ty, Ty::List(_)) && !place.is_vec
}

impl Tracer<'_> {
    /// What the cell holds that the expression names; `None` if it names none.
    pub(in crate::trace) fn interior(&mut self, cell: &Expr) -> Result<Option<Place>> {
        let mark = self.checkpoint();
        if let Some(place) = self.place(cell, false)?
            && let Ty::Interior(_, held) = place.ty.clone()
        {
            return Ok(Some(place.within(Projection::Interior, *held)));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// Whether to drop it does nothing but end a borrow, or the life of a tensor, early.
    pub(in crate::trace) fn is_done_with(&mut self, dropped: &Expr) -> Result<bool> {
        let is_nothing = |value: &Val| matches!(value, Val::Place(_)) || is_plain(&value.ty());
        if let Expr::Path(path) = dropped {
            let value = path.path.get_ident().and_then(|name| self.env.read(&name.to_string()));
            return Ok(value.is_some_and(is_nothing));
        }
        let mark = self.checkpoint();
        let is_done = is_nothing(&self.expr(dropped)?);
        if !is_done {
            self.rollback(mark);
        }
        Ok(is_done)
    }

    /// A method of a cell; `None` for any other call.
    pub(in crate::trace) fn interior_method(&mut self, call: &ExprMethodCall) -> Result<Option<Val>> {
        let (name, span) = (call.method.to_string(), call.span());
        let is_known = match call.args.len() {
            0 => is_borrow(call) || matches!(name.as_str(), "get" | TAKE),
            1 => matches!(name.as_str(), "set" | "replace"),
            _ => false,
        };
        if !is_known {
            return Ok(None);
        }
        let Some(place) = self.interior(&call.receiver)? else { return Ok(None) };
        let Some(value) = call.args.first() else {
            if name == TAKE {
                return self.exchanged_for(&place, TAKE, None, span).map(Some);
            }
            // A copy would miss what is written through the guard, and be a `Vec` of what may be another list.
            let is_place = call.method == "borrow_mut" || call.method == "get_mut" || is_other_list(&place);
            return if is_place {
                Ok(Some(Val::Place(Rc::new(place))))
            } else {
                self.value_of(place, "held", span).map(Some)
            };
        };
        let value = self.expr(value)?;
        if name == "set" {
            return self.write(&place, &value, span).map(|_| Some(Val::Unit));
        }
        self.exchanged_for(&place, "replace", Some(&value), span).map(Some)
    }
}
