//! Ops of `tch`, operators on tensors and numbers.

pub(in crate::trace) mod cast;
pub(in crate::trace) mod const_fold;
pub(in crate::trace) mod number_of;
pub(in crate::trace) mod op_call;
pub(in crate::trace) mod op_type;
pub(crate) mod operator;
pub(in crate::trace) mod operator_trait;
pub(in crate::trace) mod tch_scalar;
