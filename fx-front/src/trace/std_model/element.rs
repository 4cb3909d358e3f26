//! Elements of lists, as their owner hands them out.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;

use crate::syntax::element_access::ElementAccess;
use crate::trace::types::label::element_path;
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, tensor::operator, unsupported};

impl Tracer<'_> {
    /// The element of that number of a list: by value, or by reference where the list is one.
    pub(in crate::trace) fn element_taken(&mut self, list: &Val, at: &Val, span: Span) -> Result<Val> {
        if let (Val::List(items), Val::Lit(Arg::Int(at), _)) = (list, at) {
            let item = usize::try_from(*at).ok().and_then(|at| items.get(at)).cloned();
            let nothing = || Val::Lit(Arg::None, Ty::Option(Box::new(Ty::Unknown)));
            return Ok(item.map_or_else(nothing, |item| Val::Some(Box::new(item))));
        }
        let Ty::List(element) = list.ty() else { return unsupported(span, "an iterator of this form") };
        let borrowed = self.lent(list, &element, ElementAccess::Get, Some(at), span)?;
        let one = Arg::Path("one".to_owned());
        let copy =
            self.copy_of(&element, &one).filter(|_| list.ref_kind() == Some(RefKind::Value) && !is_copy(&element));
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
        let value = value.with_ref_kind(RefKind::Ref);
        if let Some(path) = self.path_of(list)
            && let Some(id) = value.node()
        {
            self.facts.set_path(id, element_path(&path, &key));
        }
        Ok(value)
    }
}
