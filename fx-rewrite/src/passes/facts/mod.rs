//! What passes ask of a graph: when a value is known, where it is written to, how many axes it has.
//!
//! Each is worked out in one walk before a pass changes anything; a pass that makes nodes tells the facts of them.

mod effects;
mod layer;
mod rank;
mod samples;
mod times;

pub(crate) use effects::Effects;
pub(crate) use fx_ir::ops::Rank;
pub(crate) use layer::{
    Contraction, Kind, Sharers, activation_of, by_optional_ref, by_ref, chain, float, optional_tensor, runtime,
};
pub(crate) use rank::Ranks;
pub use samples::are_side_by_side;
pub(crate) use times::Times;
