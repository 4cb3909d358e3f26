//! Which graph computes the same thing faster? The rewrite engine, rules, passes and their ordered list; no syn, no
//! sources, no libtorch: it serves build scripts and run time alike.
//!
//! From the bottom to the top: [`analysis`] computes facts of a graph; [`rewrite`] finds and applies rules, which
//! [`fx_pass!`] declares; a [`pass`] is one named rewrite of a graph; [`library`] holds the built-in rules and [`passes`]
//! the procedural passes; [`pipeline`] is the ordered list. [`parts`] takes graphs apart for passes of a user's own.
//!
//! **Invariant:** a pass sees a graph and nothing else: no source text, no weight, no machine. It moves computations to
//! freeze time and never carries them out.

// What `fx_pass!` expands to names this crate, here too.
extern crate self as fx_rewrite;

pub mod analysis;
mod context;
pub mod inference;
pub mod library;
pub mod parts;
pub mod pass;
pub mod passes;
pub mod pipeline;
pub mod rewrite;

pub use fx_ir::Graph;
pub use fx_macros::fx_rewrite_pass as fx_pass;
