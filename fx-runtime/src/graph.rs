//! The parts of a graph, for the code that builds one: all of `fx_ir`, under a name that users' crates can reach.

pub use fx_ir::*;
