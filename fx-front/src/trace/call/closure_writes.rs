//! What closures write to outside of them.

use std::collections::BTreeSet;

use quote::ToTokens;

use crate::syntax::{add_words, bound_names};
use crate::trace::{Tracer, Val, value::ClosureEnv};

impl Tracer<'_> {
    /// The variables outside of the closure that it writes to.
    pub(in crate::trace) fn written_outside(&self, closure: &syn::ExprClosure) -> Vec<String> {
        let own = bound_names(&syn::Expr::Closure(closure.clone()));
        self.writes(&closure.body).into_iter().filter(|name| !own.contains(name)).collect()
    }

    /// Whether the closure writes to no variable outside of it, and reads none that is a place.
    pub(in crate::trace) fn writes_nothing(&self, closure: &syn::ExprClosure, home: &ClosureEnv) -> bool {
        let mut mentioned = BTreeSet::new();
        add_words(closure.body.to_token_stream(), &mut mentioned);
        let is_place = |value: &Val| matches!(value, Val::MutRef(..) | Val::Place(_) | Val::Iter(..));
        self.written_outside(closure).is_empty()
            && !mentioned.iter().any(|name| home.env.read(name).is_some_and(is_place))
    }
}
