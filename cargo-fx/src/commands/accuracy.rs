//! `cargo fx accuracy`: what a model loses on codes of eight bits.

use std::path::PathBuf;

use serde_json::json;

use super::quantize::{Calibration, absolute};
use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Compare each value of a model in floats with the same one on codes of eight bits, and say what to leave in floats
///
/// Two figures for each site: its signal over noise with all before it quantized, and what is lost there alone.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed, run or quantized.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo fx accuracy --model my_crate::Net --input 1x3x224x224 --qparams \
                        net.qparams.json --keep 3")]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    calibration: Calibration,
    /// The parameters, as `cargo fx quantize` writes them; without it they are those of this calibration
    #[arg(long, value_name = "FILE")]
    qparams: Option<PathBuf>,
    /// How many layers to look for that should stay in floats
    #[arg(long, default_value_t = 1, value_name = "N")]
    keep: usize,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let Calibration { data, batches } = &options.calibration;
    let data: Vec<PathBuf> = data.iter().map(absolute).collect();
    let qparams = options.qparams.as_ref().map(absolute);
    let ask = json!({ "accuracy": { "data": data, "batches": batches, "qparams": qparams, "keep": options.keep } });
    asked(&options.model, &ask, false)
}
