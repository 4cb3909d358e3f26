//! Values that branches choose and no variable of generated code holds: closures, functions, references to parts of
//! different types. What is done with such a value is done in the same branches again, with what each of them chooses.
//!
//! The branches are asked again where the value is used, and so do nothing but read parts of the model and compute
//! numbers: to ask them twice is to ask them once.

use std::{collections::BTreeMap, rc::Rc};

use fx_ir::{Arg, Effect, NodeId, Op, Spot, Type};
use proc_macro2::Span;

use crate::trace::types::ty::is_copy;
use crate::trace::{
    Frame, RefKind, Result, Tracer, Ty, Val,
    flow::join::Branch,
    value::{Chosen, ClosureEnv},
};

/// What stands for the nodes of a region in a copy of it.
type Copies = BTreeMap<NodeId, Arg>;

/// What is done with the value that an arm chooses.
pub(in crate::trace) type WithChosen<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>, Val) -> Result<Val>;

impl<'a> Tracer<'a> {
    /// The value of branches whose values are no plain ones, but each may be called; `None` of any other.
    pub(in crate::trace) fn chosen_value(&self, owner: NodeId, branches: &[Branch]) -> Option<Chosen> {
        let is_living = |branch: &&Branch| !matches!(branch.value, Val::Never);
        let living: Vec<&Branch> = branches.iter().filter(is_living).collect();
        let first = living.first()?.value.ty();
        let is_apart = |value: &Val| match value {
            Val::Node(_, ty, _) => *ty != first,
            value => self.is_call_only(value),
        };
        if !living.iter().any(|branch| is_apart(&branch.value)) {
            return None;
        }
        let may_repeat =
            |branch: &&Branch| self.graph.region(branch.region).nodes.iter().all(|&id| self.may_repeat(id));
        let is_whole = living.iter().all(|branch| self.is_choosable(&branch.value)) && living.iter().all(may_repeat);
        if !is_whole || !self.asks_what_stays(owner) {
            return None;
        }
        let arm = |branch: &Branch| Some(branch.value.clone().handed_on()).filter(|value| !matches!(value, Val::Never));
        Some(Chosen { of: owner, arms: branches.iter().map(arm).collect() })
    }

    /// Whether it can be nothing but called: a closure, or the name of a function that no pointer is made of.
    pub(in crate::trace) fn is_call_only(&self, value: &Val) -> bool {
        match value {
            Val::Closure(..) | Val::Chosen(_) => true,
            Val::Lit(Arg::Path(path), Ty::Unknown) => self.function_of_path(path).is_some(),
            _ => false,
        }
    }

    /// Whether an arm may choose the value: a closure that writes to nothing, a function, or a part of the model.
    fn is_choosable(&self, value: &Val) -> bool {
        match value {
            Val::Closure(closure, home) => self.writes_nothing(closure, home),
            Val::Lit(Arg::Path(_), ty) => ty.is_function() || self.is_call_only(value),
            Val::Node(_, ty, _) => matches!(ty, Ty::Leaf(_)) || self.is_module(ty),
            Val::Chosen(_) => true,
            _ => false,
        }
    }

    /// Whether what the branches ask is the same wherever it is asked.
    fn asks_what_stays(&self, owner: NodeId) -> bool {
        self.graph.node(owner).args.iter().all(|arg| match arg {
            Arg::Node(id) => {
                let ty = &self.graph.node(*id).ty;
                matches!(ty, Type::Rust(name) if is_copy(&Ty::Rust(name.clone())))
                    || self.facts.paths.contains_key(id) && !self.graph.is_impure(*id)
                    || !self.is_spilled(&Val::Node(*id, Ty::Unknown, RefKind::Value))
            }
            arg => arg.nodes().next().is_none(),
        })
    }

    /// Whether the node does the same wherever it is run: it reads a part of the model, or computes on numbers.
    fn may_repeat(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let is_tensor = |id: NodeId| matches!(self.graph.node(id).ty, Type::Tensor(_) | Type::Unknown);
        match &node.op {
            Op::GetAttr(_) | Op::TupleGet(_) | Op::Yield => true,
            Op::Host(host) => host.effect == Effect::Pure && !host.fallible && !node.inputs().any(is_tensor),
            Op::If | Op::Match(_) => {
                let inner = node.regions.iter().flat_map(|&region| &self.graph.region(region).nodes);
                self.asks_what_stays(id) && inner.into_iter().all(|&inner| self.may_repeat(inner))
            }
            _ => false,
        }
    }

    /// Does it in the branches that choose the value, with what each of them chooses.
    pub(in crate::trace) fn with_chosen(
        &mut self,
        chosen: &Chosen,
        span: Span,
        act: WithChosen<'_, 'a>,
    ) -> Result<Val> {
        let node = self.graph.node(chosen.of).clone();
        let owner = self.owner(node.op, node.args, "chosen", span);
        let mut branches = Vec::new();
        for (region, arm) in node.regions.into_iter().zip(&chosen.arms) {
            branches.push(self.in_region(owner, &mut |tracer| {
                let mut copies = Copies::new();
                tracer.graph.region_copy(region, &mut copies, Spot::End(tracer.region));
                for (old, copy) in &copies {
                    if let Some(copy) = copy.node() {
                        tracer.facts.copy(*old, copy);
                    }
                }
                // An arm that chooses nothing does not come to its end.
                arm.as_ref().map_or(Ok(Val::Never), |value| act(tracer, in_copy(value.clone(), &copies)))
            })?);
        }
        self.join_branches(owner, &branches, span)
    }
}

/// The value as it is in a copy of the region that it was made in.
fn in_copy(value: Val, copies: &Copies) -> Val {
    let all = |values: Vec<Val>| values.into_iter().map(|value| in_copy(value, copies)).collect();
    match value {
        Val::Node(id, ty, form) => {
            let copy = copies.get(&id).and_then(Arg::node);
            Val::Node(copy.unwrap_or(id), ty, form)
        }
        Val::Lit(arg, ty) => {
            let arg = arg.map_nodes(&mut |id| copies.get(&id).cloned().unwrap_or(Arg::Node(id)));
            Val::Lit(arg, ty)
        }
        Val::Tuple(parts) => Val::Tuple(all(parts)),
        Val::List(items) => Val::List(all(items)),
        Val::Fields(shape, parts) => Val::Fields(shape, all(parts)),
        Val::Some(inner) => Val::Some(Box::new(in_copy(*inner, copies))),
        Val::Closure(closure, home) => Val::Closure(closure, Rc::new(home_in_copy(&home, copies))),
        Val::Chosen(chosen) => {
            let of = copies.get(&chosen.of).and_then(Arg::node).unwrap_or(chosen.of);
            let arms = chosen.arms.iter().map(|arm| arm.clone().map(|value| in_copy(value, copies)));
            Val::Chosen(Rc::new(Chosen { of, arms: arms.collect() }))
        }
        value => value,
    }
}

/// The surroundings of a closure, as they are in the copy.
fn home_in_copy(home: &ClosureEnv, copies: &Copies) -> ClosureEnv {
    let mut env = home.env.clone();
    env.map(&mut |value| in_copy(value, copies));
    let frame =
        |frame: &Frame| Frame { receiver: frame.receiver.clone().map(|own| in_copy(own, copies)), ..frame.clone() };
    ClosureEnv { env, frames: home.frames.iter().map(frame).collect(), escaped: home.escaped }
}
