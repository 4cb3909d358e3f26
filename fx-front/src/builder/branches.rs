//! What loops and branches of a constructor add to the chains that variables hold.

use std::collections::BTreeMap;

use super::{
    Layer,
    choices::{added, distributed, either, some_times},
    read::{Chains, Reader},
    syntax::{diverges, pattern_name},
};
use crate::index::Ty;

impl<'a> Reader<'a> {
    /// The reader of these statements: a module that one of their variables holds hides another of its name.
    pub(super) fn with_modules_of(&self, stmts: &[syn::Stmt]) -> Reader<'a> {
        let mut own: BTreeMap<String, Option<Ty>> = BTreeMap::new();
        for stmt in stmts {
            let syn::Stmt::Local(local) = stmt else { continue };
            let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) else { continue };
            let made = self.made_by(&init.expr);
            let is_other = own.get(&name).is_some_and(|known| *known != made);
            own.insert(name, made.filter(|_| !is_other));
        }
        let mut inside = self.clone();
        inside.made.extend(own);
        inside
    }

    /// A body that runs some times or not at all, and adds layers.
    pub(super) fn some_times(&self, body: &syn::Block, chains: &mut Chains, wrap: fn(Vec<Layer>) -> Layer) {
        let before = chains.clone();
        self.statements(&body.stmts, chains);
        for (name, old) in before {
            let new = chains.get(&name).cloned().flatten();
            let changed = match (old, new) {
                (Some(old), Some(new)) if new == old => continue,
                (Some(old), Some(new)) => added(&old, &new).map(|added| some_times(old, distributed(added), wrap)),
                _ => None,
            };
            chains.insert(name, changed);
        }
    }

    /// `if c { seq = seq.add(..) } else { .. }`.
    pub(super) fn one_of(&self, then: &syn::Block, other: &syn::Expr, chains: &mut Chains) {
        let (mut first, mut second) = (chains.clone(), chains.clone());
        self.statements(&then.stmts, &mut first);
        match other {
            syn::Expr::Block(block) => self.statements(&block.block.stmts, &mut second),
            nested => self.statements(&[syn::Stmt::Expr(nested.clone(), None)], &mut second),
        }
        join(chains, &[first, second]);
    }

    /// `match kind { A => seq = seq.add(..), B => { .. } }`.
    pub(super) fn one_arm(&self, choice: &syn::ExprMatch, chains: &mut Chains) {
        let arms = choice.arms.iter().filter(|arm| !diverges(&arm.body));
        let ends = arms.map(|arm| {
            let mut end = chains.clone();
            self.statements(&[syn::Stmt::Expr((*arm.body).clone(), None)], &mut end);
            end
        });
        let ends: Vec<Chains> = ends.collect();
        join(chains, &ends);
    }
}

/// The chains behind branches at whose ends they are these.
fn join(chains: &mut Chains, ends: &[Chains]) {
    for (name, old) in chains.iter_mut() {
        let added = ends.iter().map(|end| added(old.as_ref()?, end.get(name)?.as_ref()?));
        let added: Option<Vec<Vec<Layer>>> = added.collect();
        *old = old.take().zip(added.and_then(|added| added.into_iter().reduce(either))).map(|(mut chain, added)| {
            chain.extend(added);
            chain
        });
    }
}
