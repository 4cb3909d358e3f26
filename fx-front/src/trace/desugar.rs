//! Sugar and jumps become a small core: syntax is rewritten into plain loops, `if`s and `match`es before it is traced.

pub(in crate::trace) mod iterator_adaptors;
pub(in crate::trace) mod iterator_chain;
pub(in crate::trace) mod iterator_consumers;
pub(in crate::trace) mod jumps;
pub(in crate::trace) mod labels;
pub(in crate::trace) mod let_chains;
pub(in crate::trace) mod loop_break_value;
pub(in crate::trace) mod match_guards;
pub(in crate::trace) mod match_tuple;
pub(in crate::trace) mod ok_or;
pub(in crate::trace) mod returns;
pub(in crate::trace) mod zip;
