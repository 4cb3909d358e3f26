//! The engine behind `fx_pass!`: rules as data, found and applied until none applies.
//!
//! * **What matches.** Ops by identity and layers by type, over canonical arguments: an argument that the pattern does
//!   not list has to be the default, `x.relu()` is also a call of a `ReLU` layer. Commutative ops match in both orders;
//!   one capture in two places is one value. Two captures may be bound to the same value.
//! * **Where.** All of a match lies in one region, between two writes, and nothing inside it is read from outside; reads
//!   of fields may be shared. Ops with an effect cannot be named in a pattern at all.
//! * **In which order.** Nodes in the order of execution, rules in the order in which they are written, until none
//!   applies. Of two matches that overlap, the one whose output comes first is taken.
//! * **What is left.** The replacement stands where the output stood, under its name, with the origins of everything it
//!   replaces.

mod apply;
mod argument;
mod dtype;
mod example;
mod facts;
mod found;
pub mod guard;
mod matcher;
mod mismatch;
mod pattern;
mod rule;
mod rule_set;

pub(crate) use dtype::is_float;
pub(crate) use facts::Facts;
pub(crate) use matcher::{Through, is_quiet};

pub use fx_ir::Operator;

pub use argument::{Argument, IntoArgument};
pub use found::{Found, Value};
pub use mismatch::WhyNot;
pub use pattern::{Pattern, PatternError};
pub use rule::{
    Capture, FieldType, Guard, HostCall, Kind, Let, Param, Rule, Rust, RustForm, Template, Term, Text, Yields,
};
pub use rule_set::{Match, Outcome, Replaced, RuleSet};
