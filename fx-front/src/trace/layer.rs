//! Layers of `nn`: single ones, chains, and recurrent layers.

pub(in crate::trace) mod leaf;
pub(in crate::trace) mod recurrent;
pub(in crate::trace) mod sequential;
pub(in crate::trace) mod sequential_schema;
