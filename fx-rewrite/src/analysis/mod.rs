//! Analyses of a graph: when a value is known, where it is written to, how many axes it has.
//!
//! Each is computed in one walk before anything is changed; a pass that makes nodes records the facts of them. Rules and
//! passes read analyses; an analysis knows neither.

mod binding_times;
mod effects;
mod layer;
mod rank;
mod samples;

pub(crate) use binding_times::BindingTimes;
pub(crate) use effects::Effects;
pub(crate) use layer::{
    Contraction, Kind, SharedWeights, activation_of, by_optional_ref, by_ref, chain, float, optional_tensor, runtime,
};
pub(crate) use rank::Ranks;
pub use samples::are_side_by_side;
