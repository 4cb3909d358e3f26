//! Methods of lists: those that only look, and those that change the list where it is.

use fx_ir::{Arg, Effect, HostOp, NodeId, Op, host::Yields};
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
            ("contains", Val::List(items)) if is_copy(element) && !items.is_empty() => Some(self.contained(list, call)),
            ("contains", Val::Node(..)) if is_copy(element) && !is_untyped(element) => Some(self.contained(list, call)),
            ("contains", Val::Node(..)) if self.index.is_enum(element) => {
                Some(self.contains_variant(list, element, call))
            }
            ("resize" | "resize_with", _) => self.resized(list, element, call),
            (
                "pop" | "remove" | "swap_remove" | "push" | "insert" | "truncate" | "reverse" | "swap" | "clear"
                | "split_off",
                _,
            ) => self.changed(list, element, name, call),
            ("extend" | "extend_from_slice", _) => match extension(element, call) {
                Some(items) => Some(self.extended(&items, call)),
                None => self.changed(list, element, name, call),
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

    /// `outs.push(ys)` to a list that has a variable of its own.
    fn push_to(&mut self, list: &Val, element: &Ty, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(item), Some(place), Some(id)) = (call.args.first(), self.local_place(&call.receiver), list.node())
        else {
            return unsupported(call.span(), "the method `push`");
        };
        let held = self.expr(item)?;
        let held = self.of_known_type(held, element)?;
        let lent = self.option_lent_by(item, &held);
        let held = match &held {
            // What gathers the elements of a chain looks at numbers alone; a list of the user's holds references.
            Val::Node(_, ty, RefKind::Ref) if is_copy(ty) && is_gathered(&call.receiver) => {
                held.with_ref_kind(RefKind::Value)
            }
            Val::Node(_, ty, RefKind::Ref | RefKind::RefRef) if is_copy(ty) => {
                return unsupported(call.span(), "a list of references to numbers");
            }
            _ => held,
        };
        let item = self.spill_vec(item, held)?;
        if item.ty() == Ty::Unknown || matches!(item.ty(), Ty::Result(_)) {
            return unsupported(call.span(), "the method `push` of a value of a type that is not known");
        }
        match lent {
            Some(lent) => self.push_operand(id, lent, call.span()),
            None => self.push_item(id, &item, call.span())?,
        }
        if *element == Ty::Unknown {
            // The first element says of which type all are.
            let known = list.clone().with_ty(Ty::List(Box::new(item.ty())));
            self.set_local(&place, known, call.span())?;
        }
        Ok(Val::Unit)
    }

    /// `option.as_ref()` of an option of a tensor that an iteration is handed, and that lies in a list: an option of a
    /// reference, as the user's code has it.
    fn option_lent_by(&self, item: &syn::Expr, value: &Val) -> Option<Arg> {
        let Val::Node(id, Ty::Option(held), RefKind::Ref) = value else { return None };
        let is_asked = matches!(item, syn::Expr::MethodCall(call) if call.method == "as_ref");
        let is_element =
            self.graph.node(*id).op == Op::Placeholder && self.graph.scope_of(*id) != Some(self.graph.body());
        (is_asked && is_element && **held == Ty::Tensor).then(|| HostOp::Method("as_ref".to_owned()).on(*id))
    }

    /// A value behind the last of a list that has a variable of its own.
    pub(in crate::trace) fn push_item(&mut self, list: NodeId, item: &Val, span: Span) -> Result<()> {
        if self.is_temporary(list, item) && !self.holds_handles(list) {
            if !matches!(item, Val::Node(_, Ty::Tensor, RefKind::Ref)) || !self.is_new_list(list) {
                return unsupported(span, "a list that keeps a reference to what an iteration chooses");
            }
            self.hold_handles(list);
        }
        let item = match item {
            Val::Node(id, Ty::Tensor, RefKind::Ref) if self.holds_handles(list) => HostOp::Handle.on(*id),
            _ => self.exact_operand(item, span)?,
        };
        self.push_operand(list, item, span);
        Ok(())
    }

    /// Whether it is a variable of the generated code's that holds handles where the user's list holds references.
    fn is_of_own_handles(&self, list: &Val) -> bool {
        let is_own = |id: NodeId| {
            let node = self.graph.node(id);
            let yields = node.op.is_control_flow() || matches!(node.op, Op::TupleGet(_));
            yields && self.holds_handles(id) || self.facts.handles_of(id) == Some(id)
        };
        matches!(list, Val::Node(_, _, RefKind::Value)) && list.node().is_some_and(is_own)
    }

    /// Whether the list is made empty, and nobody has put anything into it or read it so far, here or before the loop that
    /// carries it.
    fn is_new_list(&self, list: NodeId) -> bool {
        let node = self.graph.node(list);
        let is_made_empty = match node.op.host() {
            Some(HostOp::Vec) => node.args.is_empty(),
            Some(op) => matches!(op, HostOp::EmptyVec(_)),
            None => false,
        };
        let begun = || self.graph.carried(list).and_then(|given| given.first()?.node());
        let is_carried = || node.op == Op::Placeholder && begun().is_some_and(|begun| self.is_new_list(begun));
        let is_unread = || self.graph.users(list).into_iter().all(|user| self.graph.node(user).op.is_control_flow());
        (is_made_empty || is_carried()) && is_unread()
    }

    /// Notes that the list holds handles where the user's list holds references, as it does before a loop that carries it.
    fn hold_handles(&mut self, list: NodeId) {
        let begun = self.graph.carried(list).and_then(|given| given.first()?.node());
        if let Some(begun) = begun {
            self.hold_handles(begun);
        }
        if !self.holds_handles(list) {
            self.facts.set_handles(list, list);
        }
    }

    fn push_operand(&mut self, list: NodeId, item: Arg, span: Span) {
        let push = HostOp::Mutate("push".to_owned());
        self.host_node_with(Effect::Io, push, vec![list.into(), item], "push", Ty::Tuple(Vec::new()), span);
    }

    /// Returns whether the item is a reference to what the generated code has in a variable of the region alone, which the
    /// list outlives.
    fn is_temporary(&self, list: NodeId, item: &Val) -> bool {
        match item {
            Val::Node(id, ty, RefKind::Ref | RefKind::RefRef) if !is_copy(ty) => self.outlives(list, *id),
            Val::Tuple(parts) => parts.iter().any(|part| self.is_temporary(list, part)),
            Val::Some(inner) => self.is_temporary(list, inner),
            _ => false,
        }
    }

    /// Whether the list lives longer than what the value is or refers to: what a branch hands over, an element of an array that
    /// is written out, and a part of such a value.
    fn outlives(&self, list: NodeId, value: NodeId) -> bool {
        let node = self.graph.node(value);
        // What a loop carries is a parameter of its region.
        let is_longer =
            self.graph.node(list).op == Op::Placeholder || self.graph.scope_of(value) != self.graph.scope_of(list);
        let of_input = || node.args.first().and_then(Arg::base).is_some_and(|base| self.outlives(list, base));
        match &node.op {
            op if op.is_control_flow() => {
                let ends = node.regions.iter().filter_map(|&region| self.graph.yield_of(region));
                let mut handed = ends.flat_map(|end| self.graph.node(end).args.iter().filter_map(Arg::node));
                is_longer && !self.graph.chooses_among_outer(value) || handed.any(|one| self.outlives(list, one))
            }
            Op::Placeholder if self.graph.is_bound_by_pattern(value) => {
                let subject = self.graph.parent(value).and_then(|owner| self.graph.node(owner).input(0));
                subject.is_some_and(|subject| self.outlives(list, subject))
            }
            Op::Host(host) if matches!(host.op, HostOp::Item | HostOp::ItemRef) => {
                is_longer && matches!(node.args.first(), Some(Arg::Expr(_) | Arg::List(_))) || of_input()
            }
            Op::Host(host) => host.op.yields() != Yields::Value && of_input(),
            Op::GetAttr(_) | Op::TupleGet(_) => of_input(),
            _ => false,
        }
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

/// Whether the list is the one that a desugared chain gathers.
fn is_gathered(list: &syn::Expr) -> bool {
    matches!(list, syn::Expr::Path(path) if path.path.is_ident("fx_items"))
}

/// Whether it is a list of numbers of a type that is known.
fn is_copy_list(ty: &Ty) -> bool {
    matches!(ty, Ty::List(element) if is_copy(element) && !is_untyped(element))
}
