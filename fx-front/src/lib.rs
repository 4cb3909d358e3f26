//! Rust source to graph: the one tracer, and what it needs to know of a crate.
//!
//! [`scan`] reads a crate's sources into an [`Index`](index::Index); [`trace`] turns one `#[traceable]` item of it into
//! a [`Graph`](fx_ir::Graph), inlining the traceable items that it calls. Nothing is executed and no Rust compiler is
//! asked: what the source does not say is unknown, and what is unknown is kept as opaque code.
//!
//! **Invariant:** no error stops at the first: faults are pushed to [`Diagnostics`](diag::Diagnostics) with the user's
//! token, and work goes on.

#![allow(clippy::similar_names, reason = "`pat`, `path` and `part` are what syntax is made of")]

pub mod attrs;
pub mod builder;
pub mod cfg;
pub mod closure_conversion;
pub mod diag;
pub mod frozen;
pub mod handoff;
pub mod index;
pub mod key;
mod macro_rules;
pub mod monomorphize;
mod pattern;
pub mod report;
pub mod scan;
mod syntax;
pub mod trace;
