//! `cargo fx quantize`: the parameters of a model on codes of eight bits.

use std::path::PathBuf;

use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Calibrate a model for kernels of eight bits, write its parameters, and say which share of it they compute
///
/// The file is text: `net.freeze(&Freeze::new().quantize(&QParamsFile::load(path, &net.graph_module()?)?))` reads it.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed, run or quantized.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo fx quantize --model my_crate::Net --weights net.safetensors --input \
                        1x3x224x224 \\\n    --data batch0.safetensors --data batch1.safetensors --output net.qparams.json")]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    calibration: Calibration,
    /// Where the parameters go
    #[arg(long, value_name = "FILE", default_value = "qparams.json")]
    output: PathBuf,
}

/// What the model is calibrated on.
#[derive(clap::Args)]
pub(crate) struct Calibration {
    /// A batch: a .safetensors file with one tensor for each input of the forward, by its name; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Vec<PathBuf>,
    /// Batches of random values, where no data is given
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub(crate) batches: usize,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let Calibration { data, batches } = &options.calibration;
    let data: Vec<PathBuf> = data.iter().map(absolute).collect();
    let output = absolute(&options.output);
    asked(&options.model, &json!({ "quantize": { "data": data, "batches": batches, "output": output } }), false)
}

/// A path that means the same from any folder.
pub(crate) fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}
