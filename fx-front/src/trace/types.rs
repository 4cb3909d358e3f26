//! What is known of types, and values as operands of nodes.

pub(in crate::trace) mod annotate;
pub(in crate::trace) mod chain;
pub(in crate::trace) mod dropped;
pub(in crate::trace) mod element_kinds;
pub(in crate::trace) mod expectation;
pub(in crate::trace) mod infer;
pub(in crate::trace) mod into_option;
pub(in crate::trace) mod item_path;
pub(in crate::trace) mod label;
pub(in crate::trace) mod module_stack;
pub(in crate::trace) mod node_facts;
pub(in crate::trace) mod operand;
pub(in crate::trace) mod second_value;
pub(in crate::trace) mod struct_literal;
pub(in crate::trace) mod ty;
pub(in crate::trace) mod written;
