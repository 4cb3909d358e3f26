//! `cargo fx profile`: how long each node of a model takes.

use std::path::PathBuf;

use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Run a model node by node, and say how long each takes: mean, share, calls, spread, source lines
///
/// With `--trace` a second series of runs is written as a trace, which Perfetto, Holistic Trace Analysis and `cargo fx diff`
/// open.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed or run.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx profile --model my_crate::Net --input 1x3x224x224 --trace eager.json.gz\n  cargo fx profile --model \
                  my_crate::Net --input 1x3x224x224 --frozen --trace frozen.json.gz\n  cargo fx diff eager.json.gz frozen.json.gz"
)]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// The frozen model, kernel by kernel
    #[arg(long)]
    frozen: bool,
    /// Runs that are not measured
    #[arg(long, default_value_t = 3, value_name = "N")]
    warm_up: usize,
    /// Runs that are
    #[arg(long, default_value_t = 10, value_name = "N")]
    runs: usize,
    /// Write a trace: `.json`, or packed as `.json.gz`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let trace = options.trace.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let ask = json!({ "profile": { "warm_up": options.warm_up, "runs": options.runs, "trace": trace } });
    asked(&options.model, &ask, options.frozen)
}
