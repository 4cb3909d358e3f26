//! The workspace that the commands work on: its root, its packages, and cargo run in it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};

/// The checkout that this binary was built from.
pub(crate) struct Workspace {
    /// The folder of the workspace's Cargo.toml.
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// The workspace that this crate is a member of.
    pub(crate) fn of_this_build() -> Self {
        let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        Self { root: here.parent().map_or_else(|| here.clone(), Path::to_path_buf) }
    }

    /// Where `setup` puts libtorch; `.cargo/config.toml` names the same folder.
    pub(crate) fn libtorch(&self) -> PathBuf {
        self.root.join(".libtorch")
    }

    /// A cargo command that needs no libtorch.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).args(args);
        cargo
    }

    /// `cargo metadata` of the workspace, with or without its dependencies.
    pub(crate) fn metadata(&self, args: &[&str]) -> Result<Value> {
        let mut cargo = self.cargo(&["metadata", "--format-version", "1"]);
        serde_json::from_slice(&output(cargo.args(args))?)
            .map_err(|error| Failure::new("cannot read what `cargo metadata` printed").looked(error.to_string()))
    }
}

/// Runs a command to its end, its output going to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` failed: {status}", shown(command))))
}

/// Runs a command to its end and hands over what it printed; its errors go to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output =
        command.stderr(std::process::Stdio::inherit()).output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Failure::new(format!("`{}` failed: {}", shown(command), output.status)))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot start `{}`", shown(command))).looked(error.to_string())
}

/// A command line as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
