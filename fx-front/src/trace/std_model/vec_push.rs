//! `outs.push(ys)`: what is put into a list that has a variable of its own, and whether that lives as long as the list.

use fx_ir::{Arg, Effect, HostOp, NodeId, Op, host::Yields};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::trace::types::ty::{is_copy, is_settled_within};
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// `outs.push(ys)` to a list that has a variable of its own.
    pub(in crate::trace) fn push_to(&mut self, list: &Val, element: &Ty, call: &syn::ExprMethodCall) -> Result<Val> {
        let (Some(item), Some(place), Some(id)) = (call.args.first(), self.local_place(&call.receiver), list.node())
        else {
            return unsupported(call.span(), "the method `push`");
        };
        let held = self.expr(item).map(|value| self.copied_array(item, value))?;
        let held = self.of_known_type(held, element)?;
        let (held, lent) = match (held, self.options_of_field(&call.receiver), element) {
            (Val::Lit(Arg::None, _), Some(said), _) => (Val::Lit(Arg::None, said), None),
            // The variable of the list says of what.
            (Val::Lit(Arg::None, _), None, Ty::Option(of)) if is_settled_within(of) => {
                (Val::Lit(Arg::None, element.clone()), Some(Arg::None))
            }
            (held, ..) => {
                let lent = self.option_lent_by(item, &held);
                (held, lent)
            }
        };
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

    /// The options that are in a list, where that is a field of a struct, which holds no references.
    fn options_of_field(&self, list: &syn::Expr) -> Option<Ty> {
        let syn::Expr::Field(field) = list else { return None };
        let Ty::Struct(owner) = self.chain_ty(&field.base) else { return None };
        let is_lent = self.index.structs[owner].generics.lifetimes().next().is_some();
        match self.chain_ty(list) {
            Ty::List(said) if !is_lent && matches!(*said, Ty::Option(_)) => Some(*said),
            _ => None,
        }
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
        if self.is_new_list(list)
            && self.is_temporary(list, item)
            && matches!(item, Val::Node(_, Ty::Tensor, RefKind::Ref))
        {
            self.hold_handles(list);
        }
        self.refuse_temporary(list, item, span)?;
        let item = match item {
            Val::Node(id, Ty::Tensor, RefKind::Ref) if self.holds_handles(list) => HostOp::Handle.on(*id),
            _ => self.exact_operand(item, span)?,
        };
        self.push_operand(list, item, span);
        Ok(())
    }

    /// Refuses to put into the list a reference to what it outlives.
    pub(in crate::trace) fn refuse_temporary(&self, list: NodeId, item: &Val, span: Span) -> Result<()> {
        if self.is_temporary(list, item) && !self.holds_handles(list) {
            return unsupported(span, "a list that keeps a reference to what an iteration chooses");
        }
        Ok(())
    }

    /// Whether it is a variable of the generated code's that holds handles where the user's list holds references.
    pub(in crate::trace) fn is_of_own_handles(&self, list: &Val) -> bool {
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
        let is_carried = || self.begun_as(list).is_some_and(|begun| self.is_new_list(begun));
        let is_untouched = || self.graph.users(list).into_iter().all(|user| self.graph.node(user).op.is_control_flow());
        (is_made_empty || is_carried()) && is_untouched()
    }

    /// Notes that the list holds handles where the user's list holds references, as it does before a loop that carries it.
    fn hold_handles(&mut self, list: NodeId) {
        if let Some(begun) = self.begun_as(list) {
            self.hold_handles(begun);
        }
        if !self.holds_handles(list) {
            self.facts.set_handles(list, list);
        }
    }

    /// What a loop that carries the list begins with.
    fn begun_as(&self, list: NodeId) -> Option<NodeId> {
        self.graph.carried(list)?.first()?.node()
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
}

/// Whether the list is the one that a desugared chain gathers.
fn is_gathered(list: &syn::Expr) -> bool {
    matches!(list, syn::Expr::Path(path) if path.path.is_ident("fx_items"))
}
