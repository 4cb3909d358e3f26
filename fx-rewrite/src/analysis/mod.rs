//! Analyses of a graph: when a value is known, where it is written to, how many axes it has.
//!
//! Each is computed in one walk before anything is changed; a pass that makes nodes records the facts of them. Rules and
//! passes read analyses; an analysis knows neither.

#![cfg_attr(test, allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so"))]

mod batch_axis;
mod binding_times;
mod effects;
mod inputs;
mod layer;
mod rank;

pub use batch_axis::are_side_by_side;
pub(crate) use binding_times::{BindingTimes, bindings};
pub(crate) use effects::Effects;
pub use inputs::is_brought;
pub(crate) use layer::{
    Contraction, Kind, LeafCall, SharedWeights, by_optional_ref, by_ref, chain, float, leaf_type, optional_tensor,
    runtime,
};
pub(crate) use rank::Ranks;
