//! The forms of closures that are taken apart.

use crate::syntax::contains_return;

/// Whether the closure has so many parameters, and no `return`.
pub(in crate::trace) fn is_plain_closure(closure: &syn::ExprClosure, inputs: usize) -> bool {
    closure.inputs.len() == inputs && !contains_return(&closure.body)
}

/// The pattern without its type.
pub(in crate::trace) fn plain(pat: &syn::Pat) -> &syn::Pat {
    match pat {
        syn::Pat::Type(typed) => &typed.pat,
        other => other,
    }
}
