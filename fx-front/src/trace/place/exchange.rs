//! What takes a value out of a place and leaves another in it: `mem::take`, `mem::replace`, `mem::swap`, and what fills an
//! option where it is empty.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{is_chain, peeled};
use crate::trace::desugar::closure_form::is_plain_closure;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    place::{Place, is_plain, local_place::LocalPlace},
};

/// Leaves the default in a place, and yields what was there.
pub(in crate::trace) const TAKE: &str = "take";

/// What is exchanged: a place of the state, or one of the forward's own.
enum Target {
    State(Place),
    Local(LocalPlace),
}

impl Tracer<'_> {
    /// `std::mem::take(&mut self.cache)`, `std::mem::replace(..)` and `std::mem::swap(..)`.
    pub(in crate::trace) fn exchange(&mut self, text: &str, args: &[&syn::Expr], span: Span) -> Result<Option<Val>> {
        let mut segments = text.rsplit("::");
        let (name, owner) = (segments.next(), segments.next());
        match (name.filter(|_| owner == Some("mem")), args) {
            (Some(function @ TAKE), [target]) => self.taken(function, target, &[], span),
            (Some(function @ "replace"), [target, value]) => self.taken(function, target, &[value], span),
            (Some("swap"), [a, b]) => self.swapped(a, b, span),
            _ => Ok(None),
        }
    }

    /// What the place held, which holds the value from there on, or nothing.
    fn taken(&mut self, function: &str, target: &syn::Expr, value: &[&syn::Expr], span: Span) -> Result<Option<Val>> {
        let Some(target) = behind_reference(target) else { return Ok(None) };
        let Some(place) = self.place_of_values(target)? else {
            // What a call yields has no other owner.
            let is_made = matches!(target, syn::Expr::MethodCall(_)) && value.is_empty();
            return if is_made { self.expr(target).map(Some) } else { self.taken_of_local(target, value, span) };
        };
        let value = value.first().map(|value| self.expr(value)).transpose()?;
        self.exchanged_for(&place, function, value.as_ref(), span).map(Some)
    }

    /// What the place held, which holds the value from there on, or nothing.
    pub(in crate::trace) fn exchanged_for(
        &mut self,
        place: &Place,
        function: &str,
        value: Option<&Val>,
        span: proc_macro2::Span,
    ) -> Result<Val> {
        let mut operands = vec![HostOp::RefMut.on(place.target())];
        if let Some(value) = value {
            operands.push(self.stored_operand(place, value, span)?);
        }
        let op = HostOp::Exchange(function.to_owned());
        Ok(self.on_place(place, op, operands, function, place.ty.clone(), span))
    }

    fn taken_of_local(&mut self, target: &syn::Expr, value: &[&syn::Expr], span: Span) -> Result<Option<Val>> {
        let Some(place) = self.local_place(target) else { return Ok(None) };
        let new = value.first().map(|value| self.expr(value)).transpose()?;
        let Some(old) = self.held_by(&place, target)? else { return Ok(None) };
        let new = match (new, old.ty()) {
            (Some(new), _) => new,
            (None, ty @ Ty::Option(_)) => Val::Lit(Arg::None, ty),
            _ => return Ok(None),
        };
        self.set_local(&place, new, span)?;
        Ok(Some(old))
    }

    /// The value that a place of the forward's own holds, where that is one that can be handed on.
    fn held_by(&mut self, place: &LocalPlace, target: &syn::Expr) -> Result<Option<Val>> {
        let value = match self.held(place) {
            Some(held) => held.clone().behind(),
            None => self.expr(target)?.behind(),
        };
        let is_value = match &value {
            Val::Node(_, ty, form) => *form == RefKind::Value && is_plain(ty) && !holds_list(ty),
            Val::Lit(..) | Val::Some(_) => true,
            _ => false,
        };
        Ok(Some(value).filter(|_| is_value))
    }

    fn swapped(&mut self, a: &syn::Expr, b: &syn::Expr, span: Span) -> Result<Option<Val>> {
        let (Some(a), Some(b)) = (behind_reference(a), behind_reference(b)) else { return Ok(None) };
        let (Some(first), Some(second)) = (self.exchanged(a)?, self.exchanged(b)?) else { return Ok(None) };
        let (Some(old), Some(new)) = (self.value_at(&first, a)?, self.value_at(&second, b)?) else { return Ok(None) };
        self.leave_in(&first, new, span)?;
        self.leave_in(&second, old, span)?;
        Ok(Some(Val::Unit))
    }

    fn exchanged(&mut self, target: &syn::Expr) -> Result<Option<Target>> {
        if let Some(place) = self.place_of_values(target)? {
            let is_it = is_plain(&place.ty) && (place.is_vec || !matches!(place.ty, Ty::List(_)));
            return Ok(Some(Target::State(place)).filter(|_| is_it));
        }
        Ok(self.local_place(target).map(Target::Local))
    }

    fn value_at(&mut self, target: &Target, written: &syn::Expr) -> Result<Option<Val>> {
        match target {
            Target::State(place) => self.read_place(place, "swapped", written.span()).map(Some),
            Target::Local(place) => self.held_by(place, written),
        }
    }

    fn leave_in(&mut self, target: &Target, value: Val, span: Span) -> Result<()> {
        match target {
            Target::State(place) => self.write(place, &value, span).map(|_| ()),
            Target::Local(place) => self.set_local(place, value, span),
        }
    }

    /// `option.get_or_insert_with(|| value)` and `option.get_or_insert(value)`: fills the option where it is empty, and
    /// yields how what it holds is reached; `None` for any other call.
    pub(in crate::trace) fn filled_option(&mut self, call: &syn::ExprMethodCall) -> Result<Option<syn::Expr>> {
        let (option, span) = (&*call.receiver, call.span());
        if !is_chain(peeled(option)) {
            return Ok(None);
        }
        let fill: syn::Expr = match (call.method.to_string().as_str(), call.args.first()) {
            ("get_or_insert_with", Some(syn::Expr::Closure(closure))) if is_plain_closure(closure, 0) => {
                let value = &closure.body;
                syn::parse_quote_spanned!(span=> if #option.is_none() { #option = Some(#value); })
            }
            ("get_or_insert_with", Some(function @ syn::Expr::Path(_))) => {
                syn::parse_quote_spanned!(span=> if #option.is_none() { #option = Some(#function()); })
            }
            ("get_or_insert", Some(value)) => {
                syn::parse_quote_spanned!(span=> { let inserted = #value; if #option.is_none() { #option = Some(inserted); } })
            }
            _ => return Ok(None),
        };
        if !matches!(self.chain_ty(option), Ty::Option(_)) {
            return Ok(None);
        }
        self.expr(&fill)?;
        let is_place = self.place(option, false)?.is_some();
        Ok(Some(if is_place {
            syn::parse_quote_spanned!(span=> #option.as_mut().unwrap())
        } else {
            syn::parse_quote_spanned!(span=> #option.as_ref().unwrap())
        }))
    }
}

/// Whether a list is in it, which other code may change where it lies.
fn holds_list(ty: &Ty) -> bool {
    match ty {
        Ty::List(_) => true,
        Ty::Option(inner) => holds_list(inner),
        Ty::Tuple(parts) => parts.iter().any(holds_list),
        _ => false,
    }
}

/// What the argument borrows to be written to: what stands behind `&mut`, or a borrow that is handed on.
fn behind_reference(arg: &syn::Expr) -> Option<&syn::Expr> {
    match arg {
        syn::Expr::Reference(target) if target.mutability.is_some() => Some(&target.expr),
        borrowed @ syn::Expr::Path(_) => Some(borrowed),
        _ => None,
    }
}
