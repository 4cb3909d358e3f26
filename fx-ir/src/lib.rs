//! The graph that every other crate speaks: nodes in nested regions, one op table, a verifier and a text form.
//!
//! A [`Graph`] is SSA over typed ids. Control flow is structured: an `if`, `match`, `for` or `while` is one node that
//! owns [regions](Region), so structured Rust comes in and structured Rust goes out. Words are torch.fx's wherever it
//! has one: placeholder, `get_attr`, `call_module`, users, lint, `print_tabular`.
//!
//! **Invariant:** this crate knows no Rust syntax and no libtorch; it depends on the standard library alone.

mod binding;
pub mod catalog;
mod dot;
mod edit;
mod graph;
mod ids;
mod index;
mod lint;
mod names;
mod nearest;
mod node;
mod op;
mod ops;
mod order;
mod tabular;
pub mod text;
mod types;

pub use binding::{Binding, Bindings};
pub use edit::{EditError, Spot};
pub use graph::{Graph, Region};
pub use ids::{NodeId, RegionId};
pub use lint::{Fault, Rule};
pub use nearest::nearest_op;
pub use node::{Arg, Node, Origin, Place};
pub use op::{Code, Effect, ModuleKind, Op};
pub use ops::{Class, OpId, OpRow, ops};
pub use order::BlockOrder;
pub use text::ParseError;
pub use types::{TensorType, Type};
