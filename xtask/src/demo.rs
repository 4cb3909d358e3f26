//! `cargo xtask demo`: the ResNet-18 example, eager against frozen.

use crate::failure::Result;
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, run as run_command};

/// What `demo` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Handed on to the example.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    run_command(libtorch.cargo(workspace, &["run", "--release", "--package", "resnet18", "--"]).args(&options.args))
}
