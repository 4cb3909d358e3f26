//! The graph that every other crate speaks: nodes in nested regions, one op table, a verifier and a text form.
//!
//! A [`Graph`] is SSA over typed ids. Control flow is structured: an `if`, `match`, `for` or `while` is one node that
//! owns [regions](Region), so structured Rust comes in and structured Rust goes out. Words are torch.fx's wherever it
//! has one: placeholder, `get_attr`, `call_module`, users, lint, `print_tabular`.
//!
//! ```
//! let graph: fx_ir::Graph = "graph f(x: f32[2]) { %y = relu(x) : f32[2] ; yield %y }".parse()?;
//! assert_eq!(graph.lint(), Ok(()));
//! let y = graph.users(graph.region(graph.body()).params[0])[0];
//! assert_eq!(graph.node(y).op.opcode(), "call_method");
//! assert_eq!(graph.to_line(), "graph f(x: f32[2]) { %y = relu(x) : f32[2] ; yield %y }");
//! # Ok::<(), fx_ir::ParseError>(())
//! ```
//!
//! **Invariant:** this crate knows no Rust syntax and no libtorch; it depends on the standard library alone.

#![cfg_attr(test, allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so"))]

mod alias;
mod binding;
pub mod catalog;
mod control_flow;
mod dot;
mod edit;
mod field_path;
mod for_loop;
mod graph;
mod group;
pub mod host;
mod ids;
mod index;
pub mod layers;
mod layout;
mod lint;
mod listing;
mod map;
mod mermaid;
mod meta;
mod names;
mod nearest;
mod node;
mod number_type;
mod op;
mod operator;
pub mod ops;
mod order;
mod origin;
pub mod pattern;
mod python;
mod python_names;
mod references;
pub mod scalar;
mod spelling;
mod svg;
mod tabular;
pub mod template;
pub mod text;
mod types;

pub use alias::{AliasAnalysis, Writers};
pub use binding::{Binding, Bindings};
pub use edit::{Cursor, EditError, Spot};
pub use for_loop::ForLoop;
pub use graph::{Graph, Region};
pub use host::{Expr, Host, HostOp};
pub use ids::{NodeId, RegionId};
pub use layers::LayerRow;
pub use lint::{Fault, Rule};
pub use listing::Listing;
pub use map::{NodeMap, NodeSet};
pub use meta::{FromMeta, Meta, MetaValue};
pub use names::camel;
pub use nearest::nearest_op;
pub use node::{Arg, Node};
pub use op::{Code, CodeForm, CodeScope, CodeVariable, Effect, ModuleKind, Op};
pub use operator::Operator;
pub use ops::{Class, OpId, OpRow, Scalar, ops};
pub use order::BlockOrder;
pub use origin::{ModuleScope, Origin, Place};
pub use pattern::Pattern;
pub use text::ParseError;
pub use types::{TensorType, Type};
