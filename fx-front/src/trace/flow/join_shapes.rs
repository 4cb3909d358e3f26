//! Tuples and structs that branches and iterations hand over: as one value here, by their parts there.

use fx_ir::{Effect, RegionId};
use proc_macro2::Span;

use crate::trace::{
    RefKind, Tracer, Ty, Val, application,
    env::{Env, changed_in},
    flow::join::Branch,
};

impl Tracer<'_> {
    /// The branches with the parts of what is one value in them, where another branch knows it by its parts.
    pub(in crate::trace) fn flatten_branches(&mut self, branches: &[Branch], before: &Env, span: Span) -> Vec<Branch> {
        let mut branches = branches.to_vec();
        let is_living = |branch: &&mut Branch| !matches!(branch.value, Val::Never);
        let values = branches.iter().map(|branch| &branch.value).filter(|value| !matches!(value, Val::Never));
        if let Some(shape) = values.cloned().reduce(|a, b| self.most_structured(&a, &b)) {
            for branch in branches.iter_mut().filter(is_living) {
                branch.value = self.coerce(branch.region, &shape, branch.value.clone(), span);
            }
        }
        let living = branches.iter().filter(|branch| !matches!(branch.value, Val::Never));
        for name in changed_in(living.map(|branch| &branch.env), before) {
            let living = branches.iter().filter(|branch| !matches!(branch.value, Val::Never));
            let Some(shape) =
                living.filter_map(|branch| branch.env.read(&name).cloned()).reduce(|a, b| self.most_structured(&a, &b))
            else {
                continue;
            };
            for branch in branches.iter_mut().filter(is_living) {
                let Some(value) = branch.env.read(&name).cloned() else { continue };
                let coerce = self.coerce(branch.region, &shape, value, span);
                branch.env.assign(&name, coerce);
            }
            self.own_lists(&mut branches, &name, span);
        }
        branches
    }

    /// A `Vec` of tensors that is of another length in each branch has a variable of its own there, so that more can be
    /// pushed to it behind them.
    fn own_lists(&mut self, branches: &mut [Branch], name: &str, span: Span) {
        let mut lists = Vec::new();
        for (at, branch) in branches.iter().enumerate().filter(|(_, branch)| !matches!(branch.value, Val::Never)) {
            let Some(Val::List(items)) = branch.env.read(name) else { return };
            lists.push((at, items.clone()));
        }
        let is_longer = lists.iter().any(|(_, items)| items.len() != lists[0].1.len());
        let is_tensor = |item: &Val| item.is_tensor() && item.ref_kind() == Some(RefKind::Value);
        let holds_tensors = lists.iter().all(|(_, items)| items.iter().all(is_tensor));
        if !is_longer || !holds_tensors || !self.is_vec_variable(name) {
            return;
        }
        for (at, items) in lists {
            let branch = &mut branches[at];
            let outer = std::mem::replace(&mut self.region, branch.region);
            if let Ok(operands) = self.exact_operands(&items, span) {
                let (op, args) = application(self.vec_of(operands, &Ty::Tensor));
                let own = self.host_node_with(Effect::Io, op, args, name, Ty::List(Box::new(Ty::Tensor)), span);
                branch.env.assign(name, own);
            }
            self.region = outer;
        }
    }

    /// The value by its parts as far as `shape` has them.
    pub(in crate::trace) fn coerce(&mut self, region: RegionId, shape: &Val, value: Val, span: Span) -> Val {
        match (shape, value) {
            (Val::Tuple(shapes), Val::Tuple(parts)) if shapes.len() == parts.len() => {
                Val::Tuple(self.all_fitted(region, shapes, parts, span))
            }
            (Val::Fields(_, shapes), Val::Fields(shape, parts)) if shapes.len() == parts.len() => {
                Val::Fields(shape, self.all_fitted(region, shapes, parts, span))
            }
            (Val::MutRef(_, shape), Val::MutRef(place, value)) => {
                Val::MutRef(place, Box::new(self.coerce(region, shape, *value, span)))
            }
            (shape @ (Val::Tuple(_) | Val::Fields(..)), whole @ Val::Node(..)) => {
                let outer = std::mem::replace(&mut self.region, region);
                let parts = self.apart(whole.clone(), span);
                self.region = outer;
                match parts {
                    Ok(parts) => self.coerce(region, shape, parts, span),
                    Err(_) => whole,
                }
            }
            // References to the handles of a list of the branch would outlive it: the values are of different forms.
            (Val::Node(shape, ..), ref list @ Val::Node(id, ..))
                if self.is_of_own_handles(list)
                    && !self.holds_handles(*shape)
                    && self.graph.scope_of(id) == Some(region) =>
            {
                Val::Unit
            }
            (Val::Node(shape, ..), Val::Node(list, ty, RefKind::Value))
                if self.holds_handles(list) && !self.holds_handles(*shape) =>
            {
                let outer = std::mem::replace(&mut self.region, region);
                let (op, args) = application(self.references_of(list));
                let references = self.host_node_with(Effect::Io, op, args, "items", ty, span);
                self.region = outer;
                references
            }
            (_, value) => value,
        }
    }

    fn all_fitted(&mut self, region: RegionId, shapes: &[Val], parts: Vec<Val>, span: Span) -> Vec<Val> {
        shapes.iter().zip(parts).map(|(shape, part)| self.coerce(region, shape, part, span)).collect()
    }

    /// What has the parts of both, and of two lists the one that holds what the user's holds.
    fn most_structured(&self, a: &Val, b: &Val) -> Val {
        let each =
            |a: &[Val], b: &[Val]| a.iter().zip(b).map(|(a, b)| self.most_structured(a, b)).collect::<Vec<Val>>();
        match (a, b) {
            (Val::Tuple(x), Val::Tuple(y)) if x.len() == y.len() => Val::Tuple(each(x, y)),
            (Val::Fields(shape, x), Val::Fields(_, y)) if x.len() == y.len() => Val::Fields(shape.clone(), each(x, y)),
            (Val::MutRef(place, x), Val::MutRef(_, y)) => {
                Val::MutRef(place.clone(), Box::new(self.most_structured(x, y)))
            }
            (Val::Node(_, Ty::Tuple(_), _), Val::Tuple(_)) | (Val::Node(_, Ty::Struct(_), _), Val::Fields(..)) => {
                b.clone()
            }
            (Val::Node(x, ..), Val::Node(y, ..)) if self.holds_handles(*x) && !self.holds_handles(*y) => b.clone(),
            _ => a.clone(),
        }
    }
}
