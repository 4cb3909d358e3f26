//! Methods of lists: those that only look, and those that change the list where it is.

use fx_ir::{Arg, Effect, HostOp, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::{element_access::ElementAccess, path_text};
use crate::trace::types::ty::{is_copy, is_untyped};

use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    flow::matched::Continuation,
    place::{is_plain, local_place::LocalPlace},
    std_model::vec_extend::extension,
    tensor::operator,
    unsupported,
};

impl<'a> Tracer<'a> {
    /// A method of a list; `None` if it is none that is known here.
    pub(in crate::trace) fn list_method(
        &mut self,
        list: &Val,
        element: &Ty,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Option<Result<Val>> {
        match (name, list) {
            ("push", Val::List(_)) => Some(self.pushed(list.clone(), call)),
            ("extend_from_slice", Val::List(items)) if self.is_written_out(items, call) => {
                Some(self.lengthened(items.clone(), call))
            }
            ("append", _) => Some(self.appended(list, element, call)),
            ("pop", Val::List(items)) if !items.is_empty() => Some(self.popped(items.clone(), call)),
            ("push", _) if self.is_spilled(list) || self.is_of_own_handles(list) => {
                Some(self.push_to(list, element, call))
            }
            // A list that is written out is a value like a number.
            ("clone" | "to_vec" | "to_owned", Val::List(items)) if is_copy(element) && !items.is_empty() => {
                Some(Ok(list.clone()))
            }
            // Of an array: its elements by reference.
            ("each_ref", Val::List(items)) => Some(Ok(Val::List(items.iter().cloned().map(Val::borrowed).collect()))),
            ("contains", Val::List(items)) if is_copy(element) && !items.is_empty() => Some(self.contained(list, call)),
            ("contains", Val::Node(..)) if is_copy(element) && !is_untyped(element) => Some(self.contained(list, call)),
            ("contains", Val::Node(..)) if self.index.is_enum(element) => {
                Some(self.contains_variant(list, element, call))
            }
            ("resize" | "resize_with", _) => self.resized(list, element, call),
            ("sort" | "sort_unstable" | "dedup", _) if !is_copy(element) => None,
            (
                "pop" | "remove" | "swap_remove" | "push" | "insert" | "truncate" | "reverse" | "swap" | "clear"
                | "split_off" | "rotate_left" | "rotate_right" | "sort" | "sort_unstable" | "dedup",
                _,
            ) => self.changed(list, element, name, call),
            ("extend" | "extend_from_slice", _) => match extension(element, call) {
                Some(items) => Some(self.extended(&items, call)),
                None => self.extended_by_option(call).or_else(|| self.changed(list, element, name, call)),
            },
            _ => self.accessed(list, element, ElementAccess::of(&call.method)?, call),
        }
    }

    /// `numbers.contains(&number)`.
    fn contained(&mut self, list: &Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(number), span) = (call.args.first(), call.span()) else {
            return unsupported(call.span(), "the method `contains`");
        };
        let number = self.expr(number)?.behind();
        if !operator::is_number(&number) {
            return unsupported(span, "the method `contains`");
        }
        let args = vec![self.operand(list, span)?, HostOp::Ref.on(self.operand(&number, span)?)];
        Ok(self.host_node(HostOp::Method("contains".to_owned()), args, "contains", Ty::Rust("bool".to_owned()), span))
    }

    /// `self.kinds.contains(&Kind::Local)`, by the `PartialEq` of the crate's enum.
    fn contains_variant(&mut self, list: &Val, element: &Ty, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(variant), span) = (call.args.first(), call.span()) else {
            return unsupported(call.span(), "the method `contains`");
        };
        let variant = self.expr(variant)?.behind();
        let operand = self.operand(&variant, span)?;
        let variant = match variant {
            Val::Lit(Arg::Path(_), ty) if ty == *element => operand,
            Val::Node(_, ty, _) if ty == *element => HostOp::Copied.on(operand),
            _ => return unsupported(span, "the method `contains`"),
        };
        let args = vec![self.operand(list, span)?, HostOp::Ref.on(variant)];
        Ok(self.host_node(HostOp::Method("contains".to_owned()), args, "contains", Ty::Rust("bool".to_owned()), span))
    }

    /// A list that is written out, and one element more.
    fn pushed(&mut self, list: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Val::List(mut items), Some(item), Some(place)) =
            (list, call.args.first(), self.local_place(&call.receiver))
        else {
            return unsupported(call.span(), "the method `push`");
        };
        items.push(self.expr(item)?);
        self.set_local(&place, Val::List(items), call.span()).map(|()| Val::Unit)
    }

    /// Whether the argument is a list that is written out, as `items` are, or the list has no element yet.
    fn is_written_out(&mut self, items: &[Val], call: &syn::ExprMethodCall) -> bool {
        let mark = self.checkpoint();
        let other = call.args.first().map(|other| self.expr(other));
        let is_list = matches!(other, Some(Ok(Val::List(_)))) || items.is_empty() && matches!(other, Some(Ok(_)));
        self.rollback(mark);
        is_list
    }

    /// `list.extend_from_slice(&[a, b])` to a list that is written out.
    fn lengthened(&mut self, mut items: Vec<Val>, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(other), Some(place)) = (call.args.first(), self.local_place(&call.receiver)) else {
            return unsupported(call.span(), "the method `extend_from_slice`");
        };
        let whole = match self.expr(other)? {
            Val::List(other) => {
                items.extend(other);
                Val::List(items)
            }
            other @ Val::Node(..) if is_copy_list(&other.ty()) => {
                let args = vec![self.operand(&other, call.span())?];
                self.host_node(HostOp::Method("to_vec".to_owned()), args, "sizes", other.ty(), call.span())
            }
            _ => return unsupported(call.span(), "the method `extend_from_slice`"),
        };
        self.set_local(&place, whole, call.span()).map(|()| Val::Unit)
    }

    /// `Some(list) = &mut option`, or with `option.as_mut()`: the option of a list that has a variable of its own, and what
    /// the list is called.
    pub(in crate::trace) fn borrowed_list_option(&self, condition: &syn::ExprLet) -> Option<(Val, syn::Ident)> {
        let option = match &*condition.expr {
            syn::Expr::Reference(borrowed) if borrowed.mutability.is_some() => &borrowed.expr,
            syn::Expr::MethodCall(call) if call.method == "as_mut" || call.method == "borrow_mut" => &call.receiver,
            _ => return None,
        };
        let (syn::Expr::Path(path), syn::Pat::TupleStruct(some)) = (&**option, &*condition.pat) else { return None };
        let value = self.env.read(&path_text(&path.path))?;
        let is_list = matches!(value.ty(), Ty::Option(inner) if matches!(*inner, Ty::List(_)));
        match some.elems.first() {
            Some(syn::Pat::Ident(held)) if some.path.is_ident("Some") && is_list && self.is_spilled(value) => {
                Some((value.clone(), held.ident.clone()))
            }
            _ => None,
        }
    }

    /// A branch that may change the list in an option, where it is one.
    pub(in crate::trace) fn if_list(
        &mut self,
        option: &Val,
        held: &syn::Ident,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let (span, Ty::Option(list)) = (held.span(), option.ty()) else { return otherwise(self) };
        let args: Vec<Arg> = option.arg().into_iter().collect();
        let is_some = HostOp::Method("is_some".to_owned());
        let flag = self.host_node_with(Effect::Io, is_some, args.clone(), "is_some", Ty::Rust("bool".to_owned()), span);
        let owner = self.owner(Op::If, flag.arg().into_iter().collect(), "branch", span);
        let then = self.in_region(owner, &mut |tracer| {
            let unwrap = HostOp::UnwrapMut(None);
            let borrowed = tracer.host_node_with(Effect::Io, unwrap, args.clone(), "list", (*list).clone(), span);
            tracer.name_after(&held.to_string(), &borrowed);
            tracer.env.declare(&held.to_string(), borrowed);
            then(tracer)
        })?;
        let otherwise = self.in_region(owner, otherwise)?;
        self.join_branches(owner, &[then, otherwise], span)
    }

    /// `list[at] = value` in a list that has a variable of its own.
    pub(in crate::trace) fn set_item(&mut self, place: &syn::ExprIndex, value: &Val, span: Span) -> Result<Val> {
        let list = self.expr(&place.expr)?;
        let list = self.numbers_of_used_type(list, &value.ty());
        let at = self.expr(&place.index)?;
        if !matches!(list.ty(), Ty::List(_)) || !self.is_spilled(&list) || !operator::is_number(&at) {
            return unsupported(span, "an assignment to something other than a variable");
        }
        let item = HostOp::Item.of([self.operand(&list, span)?, self.operand(&at, span)?]);
        let value = self.of_used_type(value.clone(), &list.ty().element());
        if let Some(id) = list.node() {
            self.refuse_temporary(id, &value, span)?;
        }
        let args = vec![item, self.exact_operand(&value, span)?];
        self.host_node_with(Effect::Io, HostOp::Assign, args, "set", Ty::Tuple(Vec::new()), span);
        Ok(Val::Unit)
    }

    /// The last element of a list that is written out, which loses it.
    fn popped(&mut self, mut items: Vec<Val>, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(last), Some(place)) = (items.pop(), self.local_place(&call.receiver)) else {
            return unsupported(call.span(), "the method `pop`");
        };
        self.set_local(&place, Val::List(items), call.span()).map(|()| Val::Some(Box::new(last)))
    }

    /// A method that changes a list of numbers or tensors that has a variable of its own.
    pub(in crate::trace) fn changed(
        &mut self,
        list: &Val,
        element: &Ty,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Option<Result<Val>> {
        let place = self.local_place(&call.receiver)?;
        if !is_plain(element) || matches!(list, Val::Node(_, _, RefKind::Ref | RefKind::RefRef)) {
            return None;
        }
        Some(self.change(&place, list, element, name, call))
    }

    fn change(
        &mut self,
        place: &LocalPlace,
        list: &Val,
        element: &Ty,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        let span = call.span();
        let own = self.spill(list, &place.root, span)?;
        if !own.same(list) {
            self.set_local(place, own.clone(), span)?;
        }
        let Val::Node(id, ..) = own else {
            return unsupported(span, format!("the method `{name}`"));
        };
        let mut args = vec![Arg::Node(id)];
        let is_extended = matches!(name, "extend" | "extend_from_slice");
        let name = if is_extended { "extend" } else { name };
        for arg in &call.args {
            let value = self.expr(arg)?;
            let list = Ty::List(Box::new(element.clone()));
            let value = if value.ty() == list { value } else { self.of_written_type(value, &list) };
            if is_extended && value.ty() == Ty::List(Box::new(element.clone())) {
                let each = if is_copy(element) { HostOp::CopiedElements } else { HostOp::HandleElements };
                args.push(each.on(self.operand(&value, span)?));
                continue;
            }
            if is_extended || (!operator::is_number(&value) && !value.is_tensor()) {
                return unsupported(arg.span(), format!("the method `{name}`"));
            }
            self.refuse_temporary(id, &value, arg.span())?;
            args.push(self.exact_operand(&value, span)?);
        }
        let ty = match name {
            "pop" => Ty::Option(Box::new(element.clone())),
            "remove" | "swap_remove" => element.clone(),
            "split_off" => Ty::List(Box::new(element.clone())),
            _ => Ty::Tuple(Vec::new()),
        };
        let kind = match &ty {
            Ty::Tensor => self.kinds_in(id, element).one(),
            Ty::Option(held) if **held == Ty::Tensor => self.kinds_in(id, element).one(),
            _ => RefKind::Value,
        };
        let value = self.host_node_with(Effect::Io, HostOp::Mutate(name.to_owned()), args, name, ty, span);
        Ok(value.with_ref_kind(kind))
    }
}

/// Whether it is a list of numbers of a type that is known.
fn is_copy_list(ty: &Ty) -> bool {
    matches!(ty, Ty::List(element) if is_copy(element) && !is_untyped(element))
}
