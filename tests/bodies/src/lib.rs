//! Forward bodies as users write them: each compiles with `#[traceable]`, freezes, and computes the same.
//!
//! A folder is what a body is about, a file a theme of it, whose first line says which. A body is written as people write
//! it, not as fx would like it; whatever fx makes of one, frozen and eager agree on results and on what is left of the
//! inputs, and as much of it is understood as its file says.
#![allow(
    missing_docs,
    dead_code,
    unreachable_code,
    unused_assignments,
    unused_variables,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
#![allow(unsafe_code, clippy::print_stdout, reason = "the bodies are as users write them")]

#[cfg(test)]
mod check;

pub mod language;
pub mod layers;
pub mod models;
pub mod state;
pub mod tensors;
