//! `cargo fx bisect`: where a frozen model's numbers part from the live one's.

use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Find the first node at which the frozen model's values leave the tolerance, and the passes that made it
///
/// Exit code: 0 all nodes agree, 1 one does not, 2 the model cannot be built, constructed, frozen or run.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo fx bisect --model my_crate::Net --weights net.safetensors --input 1x3x224x224"
)]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// How far values may lie apart, as a part of their size; 1.3e-5 by default
    #[arg(long, value_name = "NUMBER")]
    relative: Option<f64>,
    /// How far values may lie apart, whatever their size; 1e-4 by default
    #[arg(long, value_name = "NUMBER")]
    absolute: Option<f64>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let ask = json!({ "bisect": { "relative": options.relative, "absolute": options.absolute } });
    asked(&options.model, &ask, false)
}
