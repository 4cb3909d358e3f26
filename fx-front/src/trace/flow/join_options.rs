//! Options that branches and iterations hand over: one value, which owns what it holds.

use fx_ir::{Arg, Effect, Host, HostOp, NodeId, Op, Origin, RegionId};
use proc_macro2::Span;

use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{
    Env, RefKind, RefKinds, Result, Tracer, Ty, Val, application, env::changed_in, flow::join::Branch,
    types::expectation::Expectation, unsupported,
};

impl Tracer<'_> {
    /// What a pattern binds and a branch hands over is of the type that the others hand over.
    pub(in crate::trace) fn settle_params(
        &mut self,
        branches: &[Branch],
        types: &[Ty],
        open: &dyn Fn(&Branch) -> Option<Val>,
    ) {
        for leaves in branches.iter().filter_map(|branch| open(branch)?.leaves()) {
            for (leaf, ty) in leaves.iter().zip(types) {
                if let Val::Node(id, Ty::Unknown, _) = leaf
                    && self.graph.node(*id).op == Op::Placeholder
                {
                    let ir = self.index.ir_type(ty);
                    self.edit_node(*id).ty = ir;
                }
            }
        }
    }

    /// Whether it is an option that owns what it holds: `None`, a `Some(..)` that [`Self::some_as_value`] made, or a
    /// variable of the generated code's, and not one that may lend it.
    pub(in crate::trace) fn is_own_option(&self, value: &Val) -> bool {
        match value {
            Val::Lit(arg, _) => *arg == Arg::None,
            Val::Node(id, ..) => match &self.graph.node(*id).op {
                Op::Host(host) if host.op == HostOp::Some => true,
                Op::Placeholder => self.graph.carried(*id).is_some(),
                _ => self.is_spilled(&value.clone().with_ref_kind(RefKind::Value)),
            },
            _ => false,
        }
    }

    /// Whether it is an option of a tensor, or of a struct or a tuple with such, owned or borrowed, of which there can be a
    /// copy that owns second handles.
    pub(in crate::trace) fn may_borrow_tensor(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Option(inner), _) = value else { return false };
        let is_known = matches!(self.graph.node(*id).op, Op::Placeholder | Op::Host(_) | Op::Rust(_) | Op::TupleGet(_));
        (self.is_copied_exactly(inner) && is_known) || self.is_made_field(*id) || self.is_given(*id)
    }

    /// Whether the copy of a value of that type is of the very type: no list, which may be a slice.
    fn is_copied_exactly(&self, held: &Ty) -> bool {
        match held {
            Ty::Tensor => true,
            Ty::Struct(_) => !self.is_module(held) && self.copy_of(held, &Arg::None).is_some(),
            Ty::Tuple(parts) => {
                let is_it = |part: &Ty| match part {
                    Ty::Option(held) => self.is_copied_exactly(held),
                    part => self.is_copied_exactly(part) || is_copy(part) && !is_untyped(part),
                };
                !parts.is_empty() && parts.iter().all(is_it)
            }
            _ => false,
        }
    }

    /// What a branch hands over, with a copy that owns its tensor for each option that may only lend it: another branch
    /// may hand over one that owns.
    pub(in crate::trace) fn with_own_options(
        &mut self,
        region: RegionId,
        mut args: Vec<Arg>,
        (leaves, types): (&[Val], &[Ty]),
        span: Span,
    ) -> Vec<Arg> {
        for (arg, (leaf, ty)) in args.iter_mut().zip(leaves.iter().zip(types)) {
            // What is only borrowed stays where it is.
            let is_lent = leaf.ref_kind() == Some(RefKind::Ref);
            // Opaque code may have made a reference of what it holds.
            let is_open = self.is_open_some(leaf) && *ty == Ty::Option(Box::new(Ty::Tensor));
            let is_own = !is_open && self.is_own_option(leaf) && !is_lent;
            if is_own || !matches!(leaf, Val::Node(_, Ty::Option(_), _)) {
                continue;
            }
            let ty = if is_open { ty.clone() } else { leaf.ty() };
            let Some(copy) = self.copy_of(&ty, arg) else { continue };
            let (op, operands) = application(copy);
            let (ir, origin) = (self.index.ir_type(&ty), self.origin(span, "option"));
            *arg = Arg::Node(self.graph.push(region, Op::Host(Host::pure(op)), operands, "option", ir, origin));
        }
        args
    }

    /// Every variable that a region sets to `Some(..)`, where it was an option of which only the call knows, as one value.
    pub(in crate::trace) fn options_as_values(&mut self, before: &Env, owner: NodeId) -> Result<()> {
        let origin = self.graph.node(owner).origin.clone();
        for name in self.env.changed_since(before) {
            let was_open = matches!(before.read(&name), Some(Val::Node(..) | Val::Lit(Arg::None, _)));
            match self.env.read(&name).cloned() {
                Some(Val::Some(_)) if !was_open => {}
                Some(value @ (Val::Some(_) | Val::Tuple(_) | Val::Fields(..) | Val::MutRef(..))) => {
                    let whole = self.some_as_value(value, None, &origin)?;
                    self.env.assign(&name, whole);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The branches with what is in the options that all of them leave as `Some(..)` in place of these, and the variables
    /// that hold them; a `Some(..)` that only some of them leave is one value.
    pub(in crate::trace) fn known_options(
        &mut self,
        owner: NodeId,
        branches: &[Branch],
        before: &Env,
    ) -> Result<(Vec<Branch>, Vec<String>)> {
        let (mut branches, origin) = (branches.to_vec(), self.graph.node(owner).origin.clone());
        let living = branches.iter().filter(|branch| !matches!(branch.value, Val::Never));
        let changed = changed_in(living.map(|branch| &branch.env), before);
        let mut known = Vec::new();
        for name in changed {
            let mut left: Vec<(&mut Branch, Val)> = branches
                .iter_mut()
                .filter(|branch| !matches!(branch.value, Val::Never))
                .filter_map(|branch| branch.env.read(&name).cloned().map(|value| (branch, value)))
                .collect();
            if left.iter().any(|(_, value)| matches!(value, Val::Never)) {
                continue;
            }
            if left.iter().all(|(_, value)| matches!(value, Val::Some(_))) {
                for (branch, value) in left {
                    let Val::Some(inner) = value else { continue };
                    branch.env.assign(&name, *inner);
                }
                known.push(name);
                continue;
            }
            for (branch, value) in left.iter_mut().filter(|(_, value)| matches!(value, Val::Some(_))) {
                let outer = std::mem::replace(&mut self.region, branch.region);
                let whole = self.some_as_value(value.clone(), None, &origin);
                self.region = outer;
                branch.env.assign(&name, whole?);
            }
        }
        Ok((branches, known))
    }

    /// Whether it is a `Some(..)` of what is of no known type.
    fn is_open_some(&self, leaf: &Val) -> bool {
        let Val::Node(id, Ty::Option(held), _) = leaf else { return false };
        **held == Ty::Unknown && matches!(self.graph.node(*id).op.host(), Some(HostOp::Some))
    }

    /// Each `Some(..)` that a region hands over, as one value, of the type that is asked for.
    pub(in crate::trace) fn some_as_value(
        &mut self,
        value: Val,
        expected: Option<&Expectation>,
        origin: &Origin,
    ) -> Result<Val> {
        let inner = match value {
            Val::Some(inner) => inner,
            Val::Tuple(parts) => {
                let parts = parts.into_iter().enumerate().map(|(at, part)| {
                    let expected = expected.and_then(|expected| expected.part(at));
                    self.some_as_value(part, expected.as_ref(), origin)
                });
                return parts.collect::<Result<_>>().map(Val::Tuple);
            }
            Val::Fields(shape, parts) => {
                let parts = parts.into_iter().map(|part| self.some_as_value(part, None, origin));
                return Ok(Val::Fields(shape, parts.collect::<Result<_>>()?));
            }
            Val::MutRef(place, inner) => {
                return Ok(Val::MutRef(place, Box::new(self.some_as_value(*inner, None, origin)?)));
            }
            other => return Ok(other),
        };
        let is_lent = inner.ref_kind() == Some(RefKind::Value) && inner.node().is_some_and(|id| self.is_loan(id));
        let inner = match is_lent.then(|| self.own_copy(&inner, Span::call_site())) {
            Some(None) => return unsupported(Span::call_site(), "an option of a value that cannot be copied"),
            Some(Some(own)) => Box::new(own),
            None => inner,
        };
        let form = if inner.ref_kind() == Some(RefKind::Value) { RefKind::Value } else { RefKind::Ref };
        // A part of the model is lent; of a tensor there is a second handle.
        let held = if self.is_module(&inner.ty()) { RefKind::Ref } else { RefKind::Value };
        let kinds = RefKinds::of(&inner);
        let inner = match *inner {
            Val::Tuple(parts) => Val::Tuple(parts.into_iter().map(with_handle).collect()),
            other => other,
        };
        let some = Val::Some(Box::new(inner.with_ref_kind(held)));
        let (operand, ty, effect) = match self.expected_vec(&some, expected)? {
            // Each call has a list of its own.
            Some((operand, ty)) => (operand, ty, Effect::Io),
            None => (self.operand(&some, Span::call_site())?, some.ty(), Effect::Pure),
        };
        let (ir, origin) = (self.index.ir_type(&ty), origin.clone());
        let (op, args) = application(operand);
        let id = self.graph.push(self.region, Op::Host(Host::with_effect(op, effect)), args, "some", ir, origin);
        if matches!(kinds, RefKinds::Each(_)) && kinds.has_reference() {
            self.facts.set_part_kinds(id, kinds);
        }
        Ok(Val::Node(id, ty, form))
    }
}

/// A part of a tuple in an option: of a tensor to which it refers a second handle, as a copy of the option has.
fn with_handle(part: Val) -> Val {
    if part.is_tensor() { part.with_ref_kind(RefKind::Value) } else { part }
}
