//! What options and lists that a loop carries may hold, of which nothing says so before the loop.

use fx_ir::{Arg, HostOp, NodeId, Op};
use proc_macro2::Span;

use crate::trace::types::ty::{is_open_list, is_settled_within, is_untyped};
use crate::trace::{Tracer, Ty, Val, env::Env, flow::join::Branch};

impl Tracer<'_> {
    /// Says what the options and lists that the loop carries hold, where `trace` finds it out.
    pub(in crate::trace) fn learn_by(
        &mut self,
        span: Span,
        carried: &mut [(String, Val)],
        trace: impl FnOnce(&mut Self, &[(String, Val)]) -> Option<Env>,
    ) {
        if !carried.iter().any(|(_, value)| is_open(value)) {
            return;
        }
        let (mark, outer) = (self.checkpoint(), std::mem::replace(&mut self.types_only, true));
        let learnt = trace(self, carried);
        self.types_only = outer;
        self.rollback(mark);
        let open = carried.iter_mut().filter(|(_, value)| is_open(value));
        for (name, value) in open {
            let ty = learnt.as_ref().and_then(|env| env.read(name)).map(Val::ty);
            if let Some(ty) = ty {
                self.settle(value, &ty, span);
            }
        }
    }

    /// The variables among these that an iteration may write to, where others are options that are `None` before the loop and
    /// stay so, whatever is written to them behind its end: nothing says what those may hold. `None` where there are no others.
    pub(in crate::trace) fn written_in(
        &self,
        iteration: &Branch,
        carried: &[(String, Val)],
    ) -> Option<Vec<(String, Val)>> {
        let leaves = |value: &Val| value.leaves().map_or(0, |leaves| leaves.len());
        let params = &self.graph.region(iteration.branch_region()).params;
        let mut first = params.len().checked_sub(carried.iter().map(|(_, value)| leaves(value)).sum())?;
        let mut written = Vec::new();
        for (name, value) in carried {
            let own = params.get(first);
            first += leaves(value);
            let is_none = matches!(value, Val::Lit(..)) && is_open(value);
            if !is_none || iteration.env().read(name).and_then(Val::node).as_ref() != own {
                written.push((name.clone(), value.clone()));
            }
        }
        (written.len() < carried.len()).then_some(written)
    }

    /// Notes what a list holds of which nothing said so where it was made.
    pub(in crate::trace) fn settle_open_list(&mut self, list: NodeId, ty: &Ty) {
        let ir = self.index.ir_type(ty);
        self.edit_node(list).ty = ir;
    }

    /// The same where generated code has to write the type, which is spelled so.
    pub(in crate::trace) fn ascribe(&mut self, list: NodeId, ty: &Ty, spelled: String) {
        self.settle_open_list(list, ty);
        let node = self.edit_node(list);
        if let Op::Host(host) = &mut node.op {
            if host.op == HostOp::Repeat {
                node.args = vec![HostOp::Repeat.of(std::mem::take(&mut node.args))];
                host.op = HostOp::Ascribe(spelled);
            } else {
                host.op = HostOp::Filled(spelled);
            }
        }
    }

    /// Says of which type the options are in the list of which `element` is one, where nothing said so when the list was
    /// made; returns whether there is such a list.
    pub(in crate::trace) fn settle_elements(&mut self, element: NodeId, ty: &Ty) -> bool {
        let owner = self.graph.parent(element);
        let Some(owner) = owner.filter(|_| is_settled_within(ty) && !is_untyped(ty)) else { return false };
        let node = self.graph.node(owner);
        // Bound by the loop over the list, or by a `match` on the element of some number.
        let got = match (&node.op, node.input(0)) {
            (Op::For(_), _) => None,
            (Op::Match(_), Some(subject)) if is_element(&self.graph.node(subject).op) => Some(subject),
            _ => return false,
        };
        let open = self.index.ir_type(&Ty::List(Box::new(Ty::Option(Box::new(Ty::Unknown)))));
        let is_open = |id: &NodeId| {
            let node = self.graph.node(*id);
            node.ty == open && matches!(node.op.host(), Some(HostOp::Repeat | HostOp::Filled(_)))
        };
        let over = self.graph.node(got.unwrap_or(owner)).args.iter().filter_map(Arg::node);
        let lists: Vec<NodeId> = over.filter(is_open).collect();
        let whole = Ty::List(Box::new(ty.clone()));
        let ([list], Some(spelled)) = (lists.as_slice(), self.spelling(&whole)) else { return false };
        // Nothing but the type says of what the options are, where generated code looks into one.
        self.ascribe(*list, &whole, spelled);
        self.edit_node(element).ty = self.index.ir_type(ty);
        if let Some(got) = got {
            self.edit_node(got).ty = self.index.ir_type(&Ty::Option(Box::new(ty.clone())));
        }
        true
    }

    /// Whether it is an option of which the code says that it is `None`.
    pub(in crate::trace) fn is_none(&self, value: &Val) -> bool {
        match value {
            Val::Lit(arg, _) => *arg == Arg::None,
            Val::Node(id, ..) => matches!(self.graph.node(*id).op.host(), Some(HostOp::NoneOf(_))),
            _ => false,
        }
    }

    /// Says of options that are `None`, and may be parts of a tuple, what they may hold.
    fn settle(&mut self, value: &mut Val, ty: &Ty, span: Span) {
        match (value, ty) {
            (Val::Tuple(parts), Ty::Tuple(types)) => {
                parts.iter_mut().zip(types).for_each(|(part, ty)| self.settle(part, ty, span));
            }
            (Val::Node(id, held, _), ty) if is_open_list(held) => {
                if matches!(ty, Ty::List(element) if is_settled_within(element) && !is_untyped(element)) {
                    self.settle_open_list(*id, ty);
                    *held = ty.clone();
                }
            }
            (value, ty) if is_open(value) => {
                if let Some(known) = self.none_of(ty, span) {
                    *value = known;
                }
            }
            _ => {}
        }
    }
}

/// Whether the operation asks a list for an element.
fn is_element(op: &Op) -> bool {
    op.host().is_some_and(HostOp::yields_loan)
}

/// A list or an option that is `None`, of which nothing says what it may hold, or a tuple with such a part.
pub(in crate::trace) fn is_open(value: &Val) -> bool {
    match value {
        Val::Lit(Arg::None, Ty::Option(inner)) => **inner == Ty::Unknown,
        Val::Node(_, ty, _) => is_open_list(ty),
        Val::Tuple(parts) => parts.iter().any(is_open),
        _ => false,
    }
}
