//! Elements of lists, as their owner hands them out.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::element_access::ElementAccess;
use crate::trace::types::label::element_path;
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, tensor::operator, unsupported};

impl Tracer<'_> {
    /// An element of a list as an option; `None` where the method is none that is known here.
    pub(super) fn accessed(
        &mut self,
        list: &Val,
        element: &Ty,
        access: ElementAccess,
        call: &syn::ExprMethodCall,
    ) -> Option<Result<Val>> {
        match (access, list) {
            (ElementAccess::Taken, _) => {
                let number = call.args.first().map(|at| self.expr(at));
                number.map(|at| at.and_then(|at| self.element_taken(list, &at, call.span())))
            }
            (ElementAccess::Get, Val::List(_)) => self.got(list, call),
            (ElementAccess::First | ElementAccess::Last, Val::List(items)) => {
                let item = if access == ElementAccess::Last { items.last() } else { items.first() };
                item.map(|item| Ok(lent_element(item.clone())))
            }
            (ElementAccess::Get | ElementAccess::First | ElementAccess::Last, Val::Node(..))
                if *element != Ty::Unknown =>
            {
                let index = call.args.first().map(|at| self.expr(at)).transpose();
                Some(index.and_then(|index| self.lent(list, element, access, index.as_ref(), call.span())))
            }
            _ => None,
        }
    }

    /// `pair.get(0)` of a list that is written out, or `numbers.get(i)`.
    fn got(&mut self, list: &Val, call: &syn::ExprMethodCall) -> Option<Result<Val>> {
        let mark = self.checkpoint();
        if let Some(Ok(at @ Val::Lit(Arg::Int(_), _))) = call.args.first().map(|at| self.expr(at)) {
            let element = self.element_taken(list, &at, call.span());
            return Some(element.map(|element| match element {
                Val::Some(item) => lent_element(*item),
                nothing => nothing,
            }));
        }
        self.rollback(mark);
        let (at, element) = (call.args.first()?, list.ty().element());
        is_copy(&element).then(|| {
            let at = self.expr(at)?;
            self.lent(list, &element, ElementAccess::Get, Some(&at), call.span())
        })
    }

    /// The element of that number of a list: by value, or by reference where the list is one.
    pub(in crate::trace) fn element_taken(&mut self, list: &Val, at: &Val, span: Span) -> Result<Val> {
        if let (Val::List(items), Val::Lit(Arg::Int(at), _)) = (list, at) {
            let item = usize::try_from(*at).ok().and_then(|at| items.get(at)).cloned();
            let nothing = || Val::Lit(Arg::None, Ty::Option(Box::new(Ty::Unknown)));
            return Ok(item.map_or_else(nothing, |item| Val::Some(Box::new(item))));
        }
        let Ty::List(element) = list.ty() else { return unsupported(span, "an iterator of this form") };
        // What is written out is a list of its own, for the element to borrow from.
        let is_written_out = matches!(list, Val::List(_)) && !is_copy(&element);
        let own = if is_written_out { Some(self.spill(list, "list", span)?) } else { None };
        let list = own.as_ref().unwrap_or(list);
        let borrowed = self.lent(list, &element, ElementAccess::Get, Some(at), span)?;
        let is_owner = list.ref_kind() == Some(RefKind::Value);
        if is_owner && is_copy(&element) {
            return Ok(borrowed.with_ref_kind(RefKind::Value));
        }
        let one = Arg::Path("one".to_owned());
        let copy = self.copy_of(&element, &one).filter(|_| is_owner);
        match (copy, borrowed.node()) {
            (Some(copy), Some(id)) if self.path_of(list).is_none() => {
                let ty = Ty::Option(element);
                Ok(self.host_node(HostOp::MapLoan, vec![id.into(), copy], "taken", ty, span))
            }
            _ => Ok(borrowed),
        }
    }

    /// `sizes.last()`: an option of a reference, or of a number.
    pub(in crate::trace) fn lent(
        &mut self,
        list: &Val,
        element: &Ty,
        access: ElementAccess,
        index: Option<&Val>,
        span: Span,
    ) -> Result<Val> {
        let mut args = vec![self.operand(list, span)?];
        let mut key = "*".to_owned();
        if let Some(index) = index {
            if !operator::is_number(index) {
                return unsupported(span, "an index of this form");
            }
            if let Val::Lit(Arg::Int(at), _) = index {
                key = at.to_string();
            }
            args.push(self.operand(index, span)?);
        }
        let method = HostOp::Method(access.name().to_owned());
        let ty = Ty::Option(Box::new(element.clone()));
        let value = if is_copy(element) {
            self.host_node(HostOp::Method("copied".to_owned()), vec![method.of(args)], access.name(), ty, span)
        } else {
            self.host_node(method, args, access.name(), ty, span)
        };
        let holds_references = list.node().is_some_and(|id| self.kinds_in(id, element).has_reference());
        let value = value.with_ref_kind(if holds_references { RefKind::RefRef } else { RefKind::Ref });
        if let Some(path) = self.path_of(list)
            && let Some(id) = value.node()
        {
            self.facts.set_path(id, element_path(&path, &key));
        }
        Ok(value)
    }
}

/// An option of a reference to an element of a list that is written out.
fn lent_element(item: Val) -> Val {
    let item = if item.is_tensor() { item.borrowed() } else { item };
    Val::Some(Box::new(item))
}
