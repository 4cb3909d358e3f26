//! `cargo xtask fx-bench`: builds the binary that a comparison script drives, and prints its path.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, output};

/// `fx-bench` can be told nothing yet.
#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(workspace: &Workspace, _: &Options) -> Result<()> {
    let path = build(workspace, "")?;
    writeln!(std::io::stdout(), "{}", path.display())
        .map_err(|error| Failure::new("cannot print").looked(error.to_string()))
}

/// Builds the binary, its models generated without the passes of these names, and says where it lies.
pub(crate) fn build(workspace: &Workspace, without: &str) -> Result<PathBuf> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    let args = ["build", "--release", "--manifest-path", "benches/Cargo.toml", "--bin", "fx-bench"];
    let mut cargo = libtorch.cargo(workspace, &args);
    let messages = output(cargo.arg("--message-format=json-render-diagnostics").env("FX_WITHOUT", without))?;
    String::from_utf8_lossy(&messages)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| Some(message["executable"].as_str()?.to_owned()))
        .next_back()
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new("cargo built no `fx-bench`").looked("looked in the messages of `cargo build`"))
}
