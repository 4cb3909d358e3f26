//! `cargo xtask setup`: libtorch is there afterwards, and `cargo build` finds it.

use crate::failure::Result;
use crate::libtorch::{self, Variant};
use crate::shim;
use crate::workspace::Workspace;

/// What `setup` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Fetch the full CUDA set (2.5 GB) rather than what the CPU needs (530 MB).
    #[arg(long)]
    cuda: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let variant = if options.cuda { Variant::Cuda } else { Variant::Cpu };
    let libtorch = libtorch::ensure(workspace, variant)?;
    if options.cuda {
        shim::build(workspace, &libtorch)?;
    }
    eprintln!("libtorch {} in {} ({})", libtorch::VERSION, libtorch.home.display(), libtorch.source);
    eprintln!("`cargo build` and `cargo test` find it; the first build of tch takes about 4 minutes on 2 cores.");
    Ok(())
}
