//! Values that branches choose and no variable of generated code holds: closures, functions, references to parts of
//! different types.
//!
//! The branches are asked again where the value is used (`flow/chosen_branches.rs`), and so do nothing but read parts of the
//! model and compute numbers: to ask them twice is to ask them once.

use fx_ir::{Arg, Effect, NodeId, Op, Type};

use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Tracer, Ty, Val, flow::join::Branch, value::Chosen};

impl Tracer<'_> {
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
}
