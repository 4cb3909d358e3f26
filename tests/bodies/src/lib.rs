//! Forward bodies as users write them: each compiles with `#[traceable]`, freezes, and computes the same.
//!
//! A file is a theme; a body is written as people write it, not as fx would like it. Whatever fx makes of one, frozen
//! and eager agree on results and on what is left of the inputs.
#![allow(
    missing_docs,
    dead_code,
    unreachable_code,
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

pub mod adaptors;
pub mod aggregates;
pub mod apply;
pub mod attention;
pub mod branches;
pub mod cache;
pub mod chains;
pub mod closures;
pub mod conditions;
pub mod control;
pub mod encoders;
pub mod entries;
pub mod enums;
pub mod extension;
pub mod fallible;
pub mod filled;
pub mod functions;
pub mod gathered;
pub mod generic_models;
pub mod generics;
pub mod handed_on;
pub mod helpers;
pub mod in_place;
pub mod iterators;
pub mod kept;
pub mod layer_kinds;
pub mod layered;
pub mod lent;
pub mod lent_places;
pub mod lent_state;
pub mod limits;
pub mod literals;
pub mod loops;
pub mod made_variants;
pub mod models;
pub mod names;
pub mod operators;
pub mod options;
pub mod own_lists;
pub mod pointers;
pub mod precision;
pub mod private_parts;
pub mod random;
pub mod returns;
pub mod sequences;
pub mod shapes;
pub mod slicing;
pub mod solvers;
pub mod stateful;
pub mod statements;
pub mod std_methods;
pub mod tuple_structs;
