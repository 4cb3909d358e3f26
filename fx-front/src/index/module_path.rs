//! Paths of modules.

/// Whether the module `inner` is the module `outer`, or inside of it.
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}

/// Whether what is visible within `scope`, or everywhere, is visible in the module `from`.
pub fn is_visible(scope: Option<&String>, from: &str) -> bool {
    scope.is_none_or(|scope| is_within(from, scope))
}
