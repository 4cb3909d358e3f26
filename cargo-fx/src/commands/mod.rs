//! The commands, one a file: its arguments, and `run`.

pub(crate) mod accuracy;
pub(crate) mod adopt;
pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod draw;
pub(crate) mod expand;
pub(crate) mod graph;
pub(crate) mod profile;
pub(crate) mod quantize;
pub(crate) mod report;
pub(crate) mod view;
pub(crate) mod why;
