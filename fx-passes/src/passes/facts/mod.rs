//! What passes ask of a graph: when a value is known, where it is written to, how many axes it has.
//!
//! Each is worked out in one walk before a pass changes anything; a pass that makes nodes tells the facts of them.

mod effects;
mod layer;
mod rank;
mod times;

pub(super) use effects::Effects;
pub(super) use layer::{Contraction, Holes, Kind, chain};
pub(super) use rank::Ranks;
pub(super) use times::Times;
