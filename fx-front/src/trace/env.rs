//! The user's variables in scope, innermost last.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use fx_ir::NodeId;

use crate::trace::{Ty, types::ty::is_open_list, value::Val};

/// Scopes of variables; a clone is a snapshot.
#[derive(Clone, Debug, Default)]
pub(in crate::trace) struct Env {
    scopes: Vec<BTreeMap<String, Val>>,
    /// How many nodes the region has up to one that does not come to its end, behind which nothing is run.
    ends_at: Option<usize>,
}

impl Env {
    /// An environment with one empty scope.
    pub(in crate::trace) fn new() -> Env {
        Env { scopes: vec![BTreeMap::new()], ends_at: None }
    }

    pub(in crate::trace) fn open(&mut self) {
        self.scopes.push(BTreeMap::new());
    }

    pub(in crate::trace) fn close(&mut self) {
        self.scopes.pop();
    }

    /// Returns whether this point is never reached.
    pub(in crate::trace) fn is_unreachable(&self) -> bool {
        self.ends_at.is_some()
    }

    /// Notes that what stands behind the first `nodes` of the region is never reached; yields how many are.
    pub(in crate::trace) fn set_unreachable(&mut self, nodes: usize) -> usize {
        *self.ends_at.get_or_insert(nodes)
    }

    /// How many scopes there are.
    pub(in crate::trace) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Whether a scope above the first `depth` declares a variable of that name.
    pub(in crate::trace) fn declares_above(&self, depth: usize, name: &str) -> bool {
        self.scopes.iter().skip(depth).any(|scope| scope.contains_key(name))
    }

    /// Takes off the scopes above the first `depth`.
    pub(in crate::trace) fn cut(&mut self, depth: usize) -> Env {
        Env { scopes: self.scopes.split_off(depth), ends_at: None }
    }

    /// Puts scopes back that were taken off.
    pub(in crate::trace) fn restore(&mut self, inner: Env) {
        self.scopes.extend(inner.scopes);
    }

    /// The value of a variable.
    pub(in crate::trace) fn read(&self, name: &str) -> Option<&Val> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Declares a variable in the innermost scope.
    pub(in crate::trace) fn declare(&mut self, name: &str, value: Val) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), value);
        }
    }

    /// Gives a declared variable another value; false if there is none of that name.
    pub(in crate::trace) fn assign(&mut self, name: &str, value: Val) -> bool {
        match self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name)) {
            Some(slot) => {
                // What is written through a reference does not take the reference's place.
                *slot = match (&*slot, value) {
                    (_, value @ Val::MutRef(..)) => value,
                    (Val::MutRef(place, _), value) => Val::MutRef(Rc::clone(place), Box::new(value)),
                    (_, value) => value,
                };
                true
            }
            None => false,
        }
    }

    /// The variables whose value differs from the one in `before`, an earlier snapshot of the same scopes.
    pub(in crate::trace) fn changed_since(&self, before: &Env) -> Vec<String> {
        let mut names = Vec::new();
        for (old, new) in before.scopes.iter().zip(&self.scopes) {
            for (name, value) in old {
                let same = new.get(name).is_some_and(|now| now.same(value));
                if !same && before.read(name).is_some_and(|visible| visible.same(value)) {
                    names.push(name.clone());
                }
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// The lists of which nothing was known in `before`, and of which what was pushed says now what they hold.
    pub(in crate::trace) fn refined_since(&self, before: &Env) -> Vec<(String, Val)> {
        let is_open = |value: &Val| matches!(value, Val::Node(_, ty, _) if is_open_list(ty));
        let names = before.scopes.iter().flatten().filter(|(_, value)| is_open(value)).map(|(name, _)| name);
        let told = names.filter_map(|name| {
            let (old, new) = (before.read(name)?, self.read(name)?);
            (is_open(old) && new.same(old) && !is_open(new)).then(|| (name.clone(), new.clone()))
        });
        told.collect()
    }

    /// Notes the type of a number that variables stand for.
    pub(in crate::trace) fn set_number(&mut self, number: NodeId, ty: &Ty) {
        fn within(value: &mut Val, number: NodeId, ty: &Ty) {
            match value {
                Val::Node(id, held, _) if *id == number => *held = ty.clone(),
                value => value.parts_mut().iter_mut().for_each(|part| within(part, number, ty)),
            }
        }
        self.scopes.iter_mut().flat_map(BTreeMap::values_mut).for_each(|value| within(value, number, ty));
    }

    /// Lets every variable that stands for `old` stand for `new`.
    pub(in crate::trace) fn replace(&mut self, old: &Val, new: &Val) {
        fn within(value: &mut Val, old: &Val, new: &Val) {
            if value.same(old) {
                *value = new.clone();
            } else {
                value.parts_mut().iter_mut().for_each(|part| within(part, old, new));
            }
        }
        self.scopes.iter_mut().flat_map(BTreeMap::values_mut).for_each(|value| within(value, old, new));
    }

    /// Lets every variable stand for what that makes of its value.
    pub(in crate::trace) fn map(&mut self, make: &mut dyn FnMut(Val) -> Val) {
        for slot in self.scopes.iter_mut().flat_map(BTreeMap::values_mut) {
            *slot = make(std::mem::replace(slot, Val::Unit));
        }
    }

    /// How many variables stand for the node.
    pub(in crate::trace) fn count(&self, value: &Val) -> usize {
        self.scopes.iter().flat_map(BTreeMap::values).filter(|held| held.same(value)).count()
    }

    /// How many variables, and parts of variables, stand for the node.
    pub(in crate::trace) fn handles(&self, value: &Val) -> usize {
        fn within(held: &Val, value: &Val) -> usize {
            usize::from(held.same(value)) + held.parts().iter().map(|part| within(part, value)).sum::<usize>()
        }
        self.scopes.iter().flat_map(BTreeMap::values).map(|held| within(held, value)).sum()
    }

    /// Whether there is a variable of which that is so.
    pub(in crate::trace) fn any(&self, is_it: impl Fn(&Val) -> bool) -> bool {
        self.scopes.iter().flat_map(BTreeMap::values).any(is_it)
    }

    /// The variables in scope, each hidden one before the one that hides it.
    pub(in crate::trace) fn all(&self) -> impl Iterator<Item = (&str, &Val)> {
        self.scopes.iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether a variable of that name is in scope.
    pub(in crate::trace) fn has(&self, name: &str) -> bool {
        self.read(name).is_some()
    }
}

/// The variables that some of these have otherwise than `before`, by name.
pub(in crate::trace) fn changed_in<'e>(after: impl Iterator<Item = &'e Env>, before: &Env) -> Vec<String> {
    let changed: BTreeSet<String> = after.flat_map(|env| env.changed_since(before)).collect();
    changed.into_iter().collect()
}
