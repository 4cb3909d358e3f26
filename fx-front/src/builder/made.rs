//! Modules that a constructor makes before it adds them to a chain: `let fc = nn::linear(..)`.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::read::{Reader, pattern_name};
use crate::index::Ty;

/// The modules that variables hold; none where two of one name hold different ones, or something else.
pub(super) fn before(reader: &Reader<'_>, block: &syn::Block) -> BTreeMap<String, Option<Ty>> {
    struct Find<'r, 'a>(&'r Reader<'a>, BTreeMap<String, Option<Ty>>);
    impl<'ast> Visit<'ast> for Find<'_, '_> {
        fn visit_local(&mut self, local: &'ast syn::Local) {
            if let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) {
                let made = self.0.made_by(&init.expr);
                let known = self.1.entry(name).or_insert_with(|| made.clone());
                if *known != made {
                    *known = None;
                }
            }
            visit::visit_local(self, local);
        }
    }
    let mut find = Find(reader, BTreeMap::new());
    find.visit_block(block);
    find.1
}

/// The closures that variables hold, but for names that hold something else as well.
pub(super) fn closures(block: &syn::Block) -> BTreeMap<String, syn::ExprClosure> {
    struct Find(BTreeMap<String, Option<syn::ExprClosure>>);
    impl<'ast> Visit<'ast> for Find {
        fn visit_local(&mut self, local: &'ast syn::Local) {
            if let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) {
                let held = match &*init.expr {
                    syn::Expr::Closure(closure) => Some(closure.clone()),
                    _ => None,
                };
                let known = self.0.entry(name).or_insert_with(|| held.clone());
                *known = known.take().filter(|known| held.as_ref() == Some(known));
            }
            visit::visit_local(self, local);
        }
    }
    let mut find = Find(BTreeMap::new());
    find.visit_block(block);
    find.0.into_iter().filter_map(|(name, held)| Some((name, held?))).collect()
}
