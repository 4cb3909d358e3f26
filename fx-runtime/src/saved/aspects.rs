//! Marks behind a name: what a value says of the part of that name.

/// Which kernel measuring has chosen for a layer.
pub(super) const KERNEL: &str = "!";
/// Which variant of an enum.
pub(super) const CHOICE: &str = ":";
/// Whether there is one.
pub(super) const PRESENT: &str = "?";
/// How many there are.
pub(super) const LENGTH: &str = "#";
/// Under which other name a tensor is in the file.
pub(super) const ALIAS: &str = "=";
/// Under which other name a cell or a packed layer is in the file.
pub(super) const FIRST: &str = "~";
/// In which order a tensor's axes lie in memory, where that is not the default.
pub(super) const ORDER: &str = "@";

/// The mark of an enum or an option, around which lie so many others of the same path.
pub(super) fn nested(aspect: &str, outer: usize) -> String {
    aspect.repeat(outer + 1)
}

/// Appends one step to the name of a part.
pub(super) fn descend(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
