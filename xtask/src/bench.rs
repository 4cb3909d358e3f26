//! `cargo xtask bench`: the criterion benches.

use crate::failure::Result;
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, run as run_command};

/// What `bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Handed on to criterion: a name filter, `--save-baseline`, and so on.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    run_command(
        libtorch
            .cargo(workspace, &["bench", "--manifest-path", "benches/Cargo.toml", "--benches", "--"])
            .args(&options.args),
    )
}
