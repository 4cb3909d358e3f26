//! The commands, one a file: its arguments, and `run`.

pub(crate) mod completions;
pub(crate) mod diff;
