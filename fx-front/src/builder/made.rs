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
