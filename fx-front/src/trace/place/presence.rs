//! Questions to what a `&mut` parameter borrows: options that may hold something, lists that are looped over.

use std::rc::Rc;

use fx_ir::{Arg, HostOp};
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{element_access::ElementAccess, peeled};
use crate::trace::{
    Result, Tracer, Ty, Val,
    place::{Place, exchange::TAKE, is_plain, resolve::PlaceTest},
    unsupported,
};

impl Tracer<'_> {
    /// A loop over a list at a place, whose elements are written to or are no values of which there can be copies, as one
    /// over their numbers; `None` for any other.
    pub(in crate::trace) fn over_place(&mut self, each: &syn::ExprForLoop) -> Result<Option<syn::ExprForLoop>> {
        let Some(row) = Row::of(&each.expr) else { return Ok(None) };
        let mark = self.checkpoint();
        let list = match self.place(row.list, false)? {
            None if row.taken != Taken::Itself => self.list_place(row.list, row.taken == Taken::Written)?,
            place => place,
        };
        let is_it = list.as_ref().is_some_and(|list| match &list.ty {
            Ty::List(element) => row.taken != Taken::Looked || !is_plain(element),
            _ => false,
        });
        self.rollback(mark);
        if !is_it {
            return Ok(None);
        }
        let (list, pat, body, span) = (row.list, &each.pat, &each.body.stmts, each.for_token.span);
        let at = self.fresh_name("at", span);
        let item: Expr = parse_quote_spanned!(span=> &mut #list[#at]);
        let item = if row.is_numbered { parse_quote_spanned!(span=> (#at, #item)) } else { item };
        let numbers: Expr = parse_quote_spanned!(span=> 0..#list.len());
        let numbers = if row.is_reversed { parse_quote_spanned!(span=> (#numbers).rev()) } else { numbers };
        let label = &each.label;
        let numbered = parse_quote_spanned!(span=> #label for #at in #numbers { let #pat = #item; #(#body)* });
        Ok(Some(numbered))
    }

    /// A method that asks a place, or hands on what it is; `None` if the call is none.
    pub(in crate::trace) fn place_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let (name, span) = (call.method.to_string(), call.span());
        let ty = match (name.as_str(), call.args.len()) {
            ("len", 0) => "usize",
            ("is_empty" | "is_some" | "is_none", 0) => "bool",
            ("unwrap" | "expect", _) => {
                let place = self.place(&Expr::MethodCall(call.clone()), false)?;
                if lends_mutably(&call.receiver) {
                    // A copy would miss what is written through the reference.
                    return Ok(place.map(|place| Val::Place(Rc::new(place))));
                }
                return place.map(|place| self.value_of(place, "held", span)).transpose();
            }
            ("as_mut" | "as_ref" | "as_deref" | "as_deref_mut" | "take", 0) => {
                // What may be borrowed is handed on.
                let borrowed = self.place(&call.receiver, false)?.filter(Place::may_borrow_state);
                return match borrowed {
                    Some(place) => {
                        let is_handed_on = name != TAKE || self.empties(&call.receiver, &place.ty);
                        Ok(Some(Val::Place(Rc::new(place))).filter(|_| is_handed_on))
                    }
                    None => self.looking_method(call),
                };
            }
            ("clone" | "to_owned", 0) => {
                let cloned = self.cloned_place(call)?;
                return cloned.map_or_else(|| self.looking_method(call), |cloned| Ok(Some(cloned)));
            }
            _ => return self.looking_method(call),
        };
        let mark = self.checkpoint();
        if let Some(place) = self.list_place(&call.receiver, false)?
            && matches!((&place.ty, ty), (Ty::List(_), _) | (Ty::Option(_), "bool"))
        {
            let (op, args) = (HostOp::Method(name.clone()), vec![place.object()]);
            let value = self.on_place(&place, op, args, &name, Ty::Rust(ty.to_owned()), span);
            return Ok(Some(value));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// Lets the variable hold nothing that may lend something; returns whether the expression is one. What it may have been lent
    /// stays where it is, and so does what other variables have of that.
    pub(in crate::trace) fn empties(&mut self, variable: &Expr, ty: &Ty) -> bool {
        let Expr::Path(path) = peeled(variable) else { return false };
        let none = Val::Lit(Arg::None, ty.clone());
        path.path.get_ident().is_some_and(|name| self.env.assign(&name.to_string(), none))
    }

    /// What the user's own `clone` makes of what lies at a place; `None` for values that have none.
    fn cloned_place(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let mark = self.checkpoint();
        if let Some(place) = self.place(&call.receiver, false)?
            && !place.is_cell()
            && !place.may_borrow_state()
            && self.has_clone(&place.ty)
        {
            let args = vec![place.target()];
            return Ok(Some(self.on_place(&place, HostOp::Clone, args, "cloned", place.ty.clone(), call.span())));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// An option by which a place is borrowed to be written to: `cache`, which may be there, `list.get_mut(i)`, `option.as_mut()`;
    /// `None` for any other.
    pub(in crate::trace) fn lent_option(&mut self, option: &Expr) -> Result<Option<PlaceTest>> {
        let mark = self.checkpoint();
        match self.place_test(option)? {
            Some(test) if test.of.may_borrow_state() || lends_mutably(option) => Ok(Some(test)),
            _ => {
                self.rollback(mark);
                Ok(None)
            }
        }
    }

    /// What a `let` gives its pattern.
    pub(in crate::trace) fn initial(&mut self, expr: &Expr) -> Result<Val> {
        if let Some(place) = self.handed_reference(expr) {
            return Ok(place);
        }
        let with_captures = self.with_own_captures_in(expr)?;
        let expr = with_captures.as_ref().unwrap_or(expr);
        let value = self.iterator_of(expr).and_then(|held| held.map_or_else(|| self.expr(expr), Ok))?;
        if matches!((peeled(expr), &value), (Expr::Unary(_), Val::Place(_))) {
            return unsupported(expr.span(), "a pattern that copies parts of what is lent");
        }
        Ok(self.copied_array(expr, value))
    }
}

/// Whether the call yields an option of a `&mut`.
fn lends_mutably(expr: &Expr) -> bool {
    let Expr::MethodCall(call) = peeled(expr) else { return false };
    matches!(call.method.to_string().as_str(), "as_mut" | "as_deref_mut")
        || ElementAccess::of(&call.method).is_some_and(ElementAccess::is_mutable)
}

/// How a loop takes its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Looked,
    Written,
    /// As the list itself yields them, which lie somewhere only where the list is a `&mut`.
    Itself,
}

/// A list that a loop goes over.
struct Row<'e> {
    list: &'e Expr,
    taken: Taken,
    is_numbered: bool,
    is_reversed: bool,
}

impl Row<'_> {
    /// `list.iter_mut()`, `list.iter()`, `&mut list`, and these with `enumerate()` or `rev()` behind them.
    fn of(expr: &Expr) -> Option<Row<'_>> {
        match peeled(expr) {
            Expr::MethodCall(call) if call.args.is_empty() => match call.method.to_string().as_str() {
                "enumerate" => {
                    let row = Row::of(&call.receiver)?;
                    (!row.is_numbered && !row.is_reversed).then_some(Row { is_numbered: true, ..row })
                }
                "rev" => {
                    let row = Row::of(&call.receiver)?;
                    Some(Row { is_reversed: !row.is_reversed, ..row })
                }
                "iter_mut" => Some(Row::plain(&call.receiver, Taken::Written)),
                "into_iter" => Some(Row::plain(&call.receiver, Taken::Itself)),
                "iter" => Some(Row::plain(&call.receiver, Taken::Looked)),
                _ => None,
            },
            Expr::Reference(borrowed) => {
                let taken = if borrowed.mutability.is_some() { Taken::Written } else { Taken::Looked };
                Some(Row::plain(&borrowed.expr, taken))
            }
            list @ Expr::Path(_) => Some(Row::plain(list, Taken::Itself)),
            _ => None,
        }
    }

    fn plain(list: &Expr, taken: Taken) -> Row<'_> {
        Row { list, taken, is_numbered: false, is_reversed: false }
    }
}
