//! `cargo fx bench`: how much faster a model is when it is frozen.

use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Time a model live against frozen, in turns, with medians, minima and quartiles
///
/// Both are run node by node; the generated frozen type is a little faster than the frozen graph.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed, frozen or run.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo fx bench --model my_crate::Net --input 1x3x224x224 --rounds 10")]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// How often it is the turn of each
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: usize,
    /// Calls that are timed in a turn, behind one that is not
    #[arg(long, default_value_t = 5, value_name = "N")]
    calls: usize,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    asked(&options.model, &json!({ "bench": { "rounds": options.rounds, "calls": options.calls } }), false)
}
