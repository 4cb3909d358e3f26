//! Blocks, branches, loops, and how their values are joined.

pub(in crate::trace) mod array_pattern;
pub(in crate::trace) mod block;
pub(in crate::trace) mod branch;
pub(in crate::trace) mod carried_types;
pub(in crate::trace) mod chain_value;
pub(in crate::trace) mod condition_chain;
pub(in crate::trace) mod enum_value;
pub(in crate::trace) mod iterable;
pub(in crate::trace) mod iterator_next;
pub(in crate::trace) mod iterator_value;
pub(in crate::trace) mod join;
pub(in crate::trace) mod join_lists;
pub(in crate::trace) mod join_options;
pub(in crate::trace) mod join_shapes;
pub(in crate::trace) mod join_types;
pub(in crate::trace) mod lets;
pub(in crate::trace) mod loops;
pub(in crate::trace) mod matched;
pub(in crate::trace) mod pattern;
pub(in crate::trace) mod question;
pub(in crate::trace) mod refusal;
pub(in crate::trace) mod refutable;
pub(in crate::trace) mod scope;
pub(in crate::trace) mod short_circuit;
pub(in crate::trace) mod surroundings;
pub(in crate::trace) mod unroll;
