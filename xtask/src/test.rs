//! `cargo xtask test`: every test of the workspace, doc examples too.

use crate::failure::Result;
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, run as run_command};

/// What `test` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Handed on to `cargo test`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    run_command(libtorch.cargo(workspace, &["test", "--workspace"]).args(&options.args))
}
