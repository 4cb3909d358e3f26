//! What the variables of a function are given by the `let`s that introduce them.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::syntax::pattern_name;

/// A property of the first value of each variable, by name; none where it lacks the property, or where variables of one
/// name differ in it.
pub(super) fn of_variables<T: PartialEq>(
    block: &syn::Block,
    property: impl Fn(&syn::Expr) -> Option<T>,
) -> BTreeMap<String, Option<T>> {
    struct Find<P, T>(P, BTreeMap<String, Option<T>>);
    impl<'ast, T: PartialEq, P: Fn(&syn::Expr) -> Option<T>> Visit<'ast> for Find<P, T> {
        fn visit_local(&mut self, local: &'ast syn::Local) {
            if let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) {
                let value = (self.0)(&init.expr);
                match self.1.get_mut(&name) {
                    Some(known) if *known != value => *known = None,
                    Some(_) => {}
                    None => drop(self.1.insert(name, value)),
                }
            }
            visit::visit_local(self, local);
        }
    }
    let mut find = Find(property, BTreeMap::new());
    find.visit_block(block);
    find.1
}

/// The same without the variables that have none.
pub(super) fn known_of_variables<T: PartialEq>(
    block: &syn::Block,
    property: impl Fn(&syn::Expr) -> Option<T>,
) -> BTreeMap<String, T> {
    of_variables(block, property).into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
