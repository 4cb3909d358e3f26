//! `cargo fx graph`: the nodes of a model.

use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Print the graph of a model, node by node, in torch.fx's grammar
///
/// A small program that constructs the model is built and run; the crate needs `#[traceable]` on the model's forward and
/// the build script that it goes with.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed or traced.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx graph --model my_crate::ResNet18 --new 'ResNet18::new(p, 1000)'\n  cargo fx graph --model \
                  my_crate::Net --frozen --table --input 1x3x224x224"
)]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// The graph as it is frozen, with packed kernels
    #[arg(long)]
    frozen: bool,
    /// A table, with shapes where there are inputs
    #[arg(long)]
    table: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    asked(&options.model, &json!({ "graph": { "table": options.table } }), options.frozen)
}
