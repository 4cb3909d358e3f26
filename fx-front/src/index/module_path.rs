//! Paths of modules.

/// Whether the module `inner` is the module `outer`, or inside of it.
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}
