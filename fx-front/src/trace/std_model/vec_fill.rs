//! Lists that are filled with one value: `list.resize_with(n, || None)`, `repeat_with(|| None).take(n).collect()`.

use fx_ir::{Arg, Effect, HostOp};
use proc_macro2::Span;
use syn::Expr;
use syn::spanned::Spanned;

use crate::syntax::is_chain;
use crate::trace::desugar::closure_form::is_plain_closure;
use crate::trace::types::ty::{is_copy, is_open_list, is_untyped};
use crate::trace::{
    Result, Tracer, Ty, Val, application, entry::signature::holds_reference, place::local_place::LocalPlace,
    tensor::operator, types::expectation::Expectation,
};

impl Tracer<'_> {
    /// A list gathered from nothing but one value, of which the code says how often; `None` for any other.
    pub(in crate::trace) fn filled(
        &mut self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        let Some((value, count)) = repeated(&call.receiver) else { return Ok(None) };
        if let Expr::MethodCall(length) = &count
            && !matches!(self.chain_ty(&length.receiver), Ty::List(_))
        {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let (value, count) = (self.expr(value)?, self.expr(&count)?);
        let written = call.turbofish.as_ref().and_then(|fish| match fish.args.first() {
            Some(syn::GenericArgument::Type(ty)) => {
                Some(self.index.ty(self.module(), self.function().owner.as_ref(), ty))
            }
            _ => None,
        });
        let known = Ty::List(Box::new(value.ty()));
        let ty = written.or_else(|| expected.map(|expected| self.expected_ty(expected))).into_iter().chain([known]);
        let spelled = ty.filter(|ty| matches!(ty, Ty::List(_))).find_map(|ty| Some((self.spelling(&ty)?, ty)));
        let (Some((spelled, ty)), true) = (spelled, is_known(&value) && operator::is_number(&count)) else {
            self.rollback(mark);
            return Ok(None);
        };
        self.filled_list(&spelled, ty, &value, &count, call.method.span()).map(Some)
    }

    fn filled_list(&mut self, spelled: &str, ty: Ty, value: &Val, count: &Val, span: Span) -> Result<Val> {
        let args = vec![self.operand(value, span)?, self.operand(count, span)?];
        Ok(self.host_node_with(Effect::Io, HostOp::Filled(spelled.to_owned()), args, "list", ty, span))
    }

    /// `list.resize(n, None)` and `list.resize_with(n, || None)`; `None` for what is no list of the forward's own, or of a
    /// type that is not known.
    pub(in crate::trace) fn resized(
        &mut self,
        list: &Val,
        element: &Ty,
        call: &syn::ExprMethodCall,
    ) -> Option<Result<Val>> {
        let place = self.local_place(&call.receiver)?;
        let (count, value) = (call.args.first()?, call.args.get(1)?);
        let value = match value {
            Expr::Closure(closure) if call.method == "resize_with" && is_plain_closure(closure, 0) => &closure.body,
            value if call.method == "resize" => value,
            _ => return None,
        };
        let mark = self.checkpoint();
        let resized = self.resize_list(list, element, &place, (value, count), call.method.span());
        if matches!(resized, Ok(None)) {
            self.rollback(mark);
        }
        resized.transpose()
    }

    fn resize_list(
        &mut self,
        list: &Val,
        element: &Ty,
        place: &LocalPlace,
        (value, count): (&Expr, &Expr),
        span: Span,
    ) -> Result<Option<Val>> {
        let (count, value) = (self.expr(count)?, self.expr(value)?);
        let element = if self.spelling(element).is_some() { element.clone() } else { value.ty() };
        let ty = Ty::List(Box::new(element.clone()));
        if matches!(list, Val::List(items) if items.is_empty()) && is_open_list(&ty) && operator::is_number(&count) {
            // What stands beside it, or is written to its elements, says of what they are options.
            let args = vec![Arg::None, self.operand(&count, span)?];
            let filled = HostOp::Filled("Vec<_>".to_owned());
            let filled = self.host_node_with(Effect::Io, filled, args, "list", ty, span);
            self.set_local(place, filled, span)?;
            return Ok(Some(Val::Unit));
        }
        let Some(spelled) = self.spelling(&ty).filter(|_| !is_untyped(&element)) else { return Ok(None) };
        if !is_known(&value) || !operator::is_number(&count) {
            return Ok(None);
        }
        if matches!(list, Val::List(items) if items.is_empty()) {
            let filled = self.filled_list(&spelled, ty, &value, &count, span)?;
            self.set_local(place, filled, span)?;
            return Ok(Some(Val::Unit));
        }
        let own = self.spill(list, &place.root, span)?.with_ty(ty);
        let (true, Some(id)) = (self.is_spilled(&own), own.node()) else { return Ok(None) };
        self.set_local(place, own, span)?;
        let args = vec![Arg::Node(id), self.operand(&count, span)?, self.operand(&value, span)?];
        self.host_node_with(Effect::Io, HostOp::ResizeWith, args, "resize", Ty::Tuple(Vec::new()), span);
        Ok(Some(Val::Unit))
    }

    /// A list of options whose type is written, and which is empty or has options that are `None`: what is put in may not say
    /// of what they are.
    pub(in crate::trace) fn typed_list(&mut self, value: Val, ty: &Ty, written: &syn::Type) -> Val {
        let is_open = matches!(&value, Val::List(items) if items.is_empty());
        let of_options = matches!(ty, Ty::List(element) if matches!(**element, Ty::Option(_)));
        let Ty::List(element) = ty else { return value };
        if let Val::List(items) = &value
            && of_options
            && !items.is_empty()
            && !holds_reference(written)
        {
            let typed = |item: &Val| match item {
                Val::Lit(Arg::None, _) => Val::Lit(Arg::None, (**element).clone()),
                item => item.clone(),
            };
            return Val::List(items.iter().map(typed).collect());
        }
        let spelled = match &**element {
            Ty::Option(held) if holds_reference(written) => {
                let held = self.spelling(held).filter(|_| **held == Ty::Tensor);
                held.map(|held| format!("Option<&{held}>"))
            }
            element => self.spelling(element),
        };
        let Some(element) = spelled.filter(|_| is_open && of_options) else { return value };
        self.host_node_with(Effect::Io, HostOp::EmptyVec(element), Vec::new(), "list", ty.clone(), written.span())
    }
}

impl Tracer<'_> {
    /// `let mut all: Option<Vec<Tensor>> = Some(vec![])` as one value, in a variable of its own.
    pub(in crate::trace) fn typed_option(&mut self, value: Val, ty: &syn::Type) -> Result<Val> {
        let expected = self.written(ty);
        let Some((operand, known)) = self.expected_vec(&value, expected.as_ref())? else { return Ok(value) };
        let (op, args) = application(operand);
        Ok(self.host_node_with(Effect::Io, op, args, "some", known, ty.span()))
    }
}

/// Whether the value can be written as often as it is asked for.
fn is_known(value: &Val) -> bool {
    match value {
        Val::Lit(Arg::None, _) => true,
        Val::Tuple(parts) => parts.iter().all(is_known),
        value => is_copy(&value.ty()),
    }
}

/// The value of `repeat_with(|| value).take(count)`, of `(0..count).map(|_| None)` and of `list.iter().map(|_| None)`, and
/// the count.
fn repeated(expr: &Expr) -> Option<(&Expr, Expr)> {
    let Expr::MethodCall(call) = expr else { return None };
    let arg = call.args.first().filter(|_| call.args.len() == 1)?;
    match (&*call.receiver, arg) {
        (Expr::Call(source), count) if call.method == "take" => {
            let Expr::Path(path) = &*source.func else { return None };
            let name = path.path.segments.last()?.ident.to_string();
            match (name.as_str(), source.args.first()?) {
                ("repeat_with", Expr::Closure(closure)) if is_plain_closure(closure, 0) => {
                    Some((&closure.body, count.clone()))
                }
                ("repeat", value) => Some((value, count.clone())),
                _ => None,
            }
        }
        (source, Expr::Closure(closure)) if call.method == "map" => {
            let is_ignored = matches!(closure.inputs.first(), Some(syn::Pat::Wild(_)));
            let count = Some(source).filter(|_| is_ignored && is_none(&closure.body)).and_then(length)?;
            Some((&closure.body, count))
        }
        _ => None,
    }
}

/// `None`, or a tuple of it.
fn is_none(value: &Expr) -> bool {
    match value {
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "None"),
        Expr::Tuple(tuple) => !tuple.elems.is_empty() && tuple.elems.iter().all(is_none),
        _ => false,
    }
}

/// How many values `(0..count)` and `list.iter()` yield.
fn length(source: &Expr) -> Option<Expr> {
    match source {
        Expr::Paren(range) => {
            let Expr::Range(syn::ExprRange { start: Some(start), end: Some(end), limits, .. }) = &*range.expr else {
                return None;
            };
            let is_from_zero =
                crate::syntax::integer_literal(start) == Some(0) && matches!(limits, syn::RangeLimits::HalfOpen(_));
            is_from_zero.then(|| (**end).clone())
        }
        Expr::MethodCall(call) if call.method == "iter" && call.args.is_empty() && is_chain(&call.receiver) => {
            let list = &call.receiver;
            Some(syn::parse_quote_spanned!(call.span()=> #list.len()))
        }
        _ => None,
    }
}
