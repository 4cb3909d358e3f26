//! Questions to what a `&mut` parameter borrows: options that may hold something, lists that are looped over.

use std::rc::Rc;

use fx_ir::{Arg, HostOp, Op};
use proc_macro2::Span;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::trace::{
    Result, Tracer, Ty, Val, application,
    desugar::iterator_chain::TAKEN,
    flow::branch::Continuation,
    place::{Place, Projection, is_plain, state_cell::peeled},
    tensor::operator,
    unsupported,
};

/// A place that may be there or not.
pub(in crate::trace) struct PlaceTest {
    /// Whether it is there, as an operand, and the place that this reads.
    flag: Arg,
    of: Place,
    /// What there is, if it is there.
    pub(in crate::trace) held: Place,
}

impl<'a> Tracer<'a> {
    /// `option`, `&mut option`, `option.as_mut()`, `list.get_mut(i)` and `list.last_mut()`, where what is held is written
    /// to, or is no value of which there can be a copy; `None` for anything else.
    pub(in crate::trace) fn place_test(&mut self, expr: &Expr) -> Result<Option<PlaceTest>> {
        let (inner, is_written) = match peeled(expr) {
            Expr::Reference(borrowed) => (&*borrowed.expr, borrowed.mutability.is_some()),
            Expr::MethodCall(call) => match (call.method.to_string().as_str(), call.args.len()) {
                ("as_mut" | "as_deref_mut", 0) => (&*call.receiver, true),
                ("as_ref" | "as_deref", 0) => (&*call.receiver, false),
                (TAKEN | "get" | "get_mut" | "first" | "first_mut" | "last" | "last_mut", _) => {
                    return self.list_test(call);
                }
                _ => return Ok(None),
            },
            other => (other, false),
        };
        let mark = self.checkpoint();
        if let Some(place) = self.place(inner, false)?
            && let Ty::Option(held) = place.ty.clone()
            && (is_written || place.may_borrow_state() || !is_plain(&held))
        {
            let held = place.held(*held);
            return Ok(Some(PlaceTest { flag: method("is_some", place.object()), of: place, held }));
        }
        self.rollback(mark);
        Ok(None)
    }

    fn list_test(&mut self, call: &syn::ExprMethodCall) -> Result<Option<PlaceTest>> {
        let (name, mark) = (call.method.to_string(), self.checkpoint());
        let is_written = name.ends_with("_mut") || name == TAKEN;
        if let Some(list) = self.list_place(&call.receiver, is_written && name != TAKEN)?
            && let Ty::List(element) = list.ty.clone()
            && (is_written || !is_plain(&element))
        {
            let object = list.object();
            let (flag, held) = match (call.args.first(), name.trim_end_matches("_mut")) {
                (Some(at), TAKEN | "get") if !matches!(at, Expr::Range(_)) => {
                    let at = self.expr(at)?;
                    if !operator::is_number(&at) {
                        return unsupported(call.span(), format!("the method `{name}`"));
                    }
                    let held = list.item(&at, *element, call.span())?;
                    let number = at.arg().unwrap_or(Arg::None);
                    (HostOp::Binary("<".to_owned()).of([number, method("len", object)]), held)
                }
                (None, end @ ("first" | "last")) => {
                    let held = list.within(Projection::End(end.to_owned()), *element);
                    (HostOp::Not.on(method("is_empty", object)), held)
                }
                _ => return unsupported(call.span(), format!("the method `{name}`")),
            };
            return Ok(Some(PlaceTest { flag, of: list, held }));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// `if let Some(pattern) = option { then } else { otherwise }` on a place; `None` if it is none.
    pub(in crate::trace) fn if_held(
        &mut self,
        subject: &Expr,
        pattern: &syn::Pat,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let syn::Pat::TupleStruct(some) = pattern else { return Ok(None) };
        let Some(held) = some.elems.first().filter(|_| some.path.is_ident("Some") && some.elems.len() == 1) else {
            return Ok(None);
        };
        let expected = self.expects.next.take();
        let test = self.place_test(subject);
        self.expects.next = expected;
        let Some(test) = test? else { return Ok(None) };
        let span = subject.span();
        let (op, args) = application(test.flag);
        let flag = self.on_place(&test.of, op, args, "is_some", Ty::Rust("bool".to_owned()), span);
        let owner = self.owner(Op::If, flag.arg().into_iter().collect(), "branch", span);
        let then = self.in_region(owner, &mut |tracer| {
            tracer.bind(held, Val::Place(Rc::new(test.held.clone())))?;
            then(tracer)
        })?;
        let otherwise = self.in_region(owner, otherwise)?;
        self.join_branches(owner, &[then, otherwise], span).map(Some)
    }

    /// `match option { Some(pattern) => .., None => .. }` on a place; `None` if it is none.
    pub(in crate::trace) fn choice_of_held(&mut self, choice: &syn::ExprMatch, tail: bool) -> Result<Option<Val>> {
        let [one, other] = choice.arms.as_slice() else { return Ok(None) };
        let is_some = |arm: &syn::Arm| matches!(&arm.pat, syn::Pat::TupleStruct(some) if some.path.is_ident("Some"));
        let is_rest = |arm: &syn::Arm| match &arm.pat {
            syn::Pat::Wild(_) => true,
            syn::Pat::Ident(name) => name.ident == "None",
            _ => false,
        };
        if one.guard.is_some() || other.guard.is_some() {
            return Ok(None);
        }
        let (some, none) = match (is_some(one) && is_rest(other), is_some(other) && is_rest(one)) {
            (true, _) => (one, other),
            (_, true) if !matches!(one.pat, syn::Pat::Wild(_)) => (other, one),
            _ => return Ok(None),
        };
        self.if_held(&choice.expr, &some.pat, &mut |tracer| tracer.last_expr(&some.body, tail), &mut |tracer| {
            tracer.last_expr(&none.body, tail)
        })
    }

    /// A loop over a list at a place, whose elements are written to or are no values of which there can be copies, as one
    /// over their numbers; `None` for any other.
    pub(in crate::trace) fn over_place(&mut self, each: &syn::ExprForLoop) -> Result<Option<Val>> {
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
        let each = parse_quote_spanned!(span=> #label for #at in #numbers { let #pat = #item; #(#body)* });
        self.for_loop(&each).map(Some)
    }

    /// A method that asks a place, or hands on what it is; `None` if the call is none.
    pub(in crate::trace) fn place_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let (name, span) = (call.method.to_string(), call.span());
        let ty = match (name.as_str(), call.args.len()) {
            ("len", 0) => "usize",
            ("is_empty" | "is_some" | "is_none", 0) => "bool",
            ("unwrap" | "expect", _) => {
                let place = self.place(&Expr::MethodCall(call.clone()), false)?;
                return place.map(|place| self.value_of(place, "held", span)).transpose();
            }
            ("as_mut" | "as_ref" | "as_deref" | "as_deref_mut" | "take", 0) => {
                // What may be borrowed is handed on.
                let borrowed = self.place(&call.receiver, false)?.filter(Place::may_borrow_state);
                return Ok(borrowed.map(|place| Val::Place(Rc::new(place))));
            }
            _ => return Ok(None),
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

    /// What a `let` gives its pattern.
    pub(in crate::trace) fn initial(&mut self, expr: &Expr) -> Result<Val> {
        if let Some(place) = self.handed_reference(expr) {
            return Ok(place);
        }
        let value = self.iterator_of(expr).and_then(|held| held.map_or_else(|| self.expr(expr), Ok))?;
        if matches!((peeled(expr), &value), (Expr::Unary(_), Val::Place(_))) {
            return unsupported(expr.span(), "a pattern that copies parts of what is lent");
        }
        Ok(value)
    }

    /// What a variable stands for: where it is a place, the value there.
    pub(in crate::trace) fn read_variable(&mut self, value: &Val, name: &str, span: Span) -> Result<Val> {
        match value {
            Val::Place(place) => self.value_of((**place).clone(), name, span),
            other => Ok(other.clone()),
        }
    }
}

fn method(name: &str, on: Arg) -> Arg {
    HostOp::Method(name.to_owned()).on(on)
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
