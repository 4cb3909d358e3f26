//! Layers of `nn`: chains, and recurrent layers.

pub(in crate::trace) mod recurrent;
pub(in crate::trace) mod sequential;
pub(in crate::trace) mod sequential_schema;
