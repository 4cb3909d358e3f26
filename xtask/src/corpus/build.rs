//! Builds the program around a crate, and finds whose fault it is where that fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::list::Crate;
use super::package::{Package, binary};
use crate::failure::{Failure, Result};
use crate::libtorch::Libtorch;
use crate::workspace::Workspace;

/// What Cargo says of a build.
#[derive(Default)]
pub(super) struct Built {
    /// The programs by the places of their models.
    pub(super) programs: BTreeMap<usize, PathBuf>,
    /// The folders of libraries that they are linked with.
    pub(super) libraries: Vec<PathBuf>,
    /// The first error of each program that does not compile.
    pub(super) broken: BTreeMap<usize, String>,
    /// The first error of anything else.
    pub(super) fault: Option<String>,
    /// What the crate's build script reported.
    pub(super) report: Option<String>,
}

/// What builds and where to.
pub(super) struct Builder<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) libtorch: &'a Libtorch,
    /// The folder that Cargo builds into, which the workspace's own dependencies may lie in already.
    pub(super) target: PathBuf,
    pub(super) profile: &'a str,
}

impl Builder<'_> {
    /// Builds all programs of a crate that can be built.
    pub(super) fn build(&self, package: &Package, krate: &Crate) -> Result<Built> {
        let args = ["build", "--bins", "--keep-going", "--profile", self.profile];
        let (mut built, messages) = (Built::default(), self.cargo(&args, &package.folder)?);
        for message in &messages.all {
            let linked = message["linked_paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
            built
                .libraries
                .extend(linked.map(|path| PathBuf::from(path.split_once('=').map_or(path, |(_, path)| path))));
            if message["reason"] == "build-script-executed" && is_of(&message["package_id"], &package.adopted) {
                let folder = message["out_dir"].as_str().map(PathBuf::from);
                built.report = folder.and_then(|folder| fs::read_to_string(folder.join("fx/report.txt")).ok());
            }
            let target = message["target"]["name"].as_str().unwrap_or_default();
            let place = (0..krate.models.len()).find(|&at| binary(krate, at) == target);
            match (message["reason"].as_str(), place) {
                (Some("compiler-artifact"), Some(at)) => {
                    let path = message["executable"].as_str().map(PathBuf::from);
                    built.programs.extend(path.map(|path| (at, path)));
                }
                (Some("compiler-message"), _) if message["message"]["level"] == "error" => {
                    let said = said(&message["message"]);
                    match place {
                        Some(at) => built.broken.entry(at).or_insert(said),
                        None => built.fault.get_or_insert(format!("{target}: {said}")),
                    };
                }
                _ => {}
            }
        }
        if built.programs.len() < krate.models.len() && built.fault.is_none() && built.broken.is_empty() {
            built.fault = Some(messages.stderr);
        }
        Ok(built)
    }

    /// The first error of a crate as it was found, if it does not compile.
    pub(super) fn check(&self, folder: &Path) -> Result<Option<String>> {
        let messages = self.cargo(&["check", "--lib", "--profile", self.profile], folder)?;
        let mut errors = messages.all.iter().map(|message| &message["message"]).filter(|it| it["level"] == "error");
        Ok(if messages.is_done { None } else { Some(errors.next().map_or(messages.stderr.clone(), said)) })
    }

    fn cargo(&self, args: &[&str], folder: &Path) -> Result<Messages> {
        let mut cargo = self.libtorch.cargo(self.workspace, args);
        cargo.args(["--message-format=json", "--color=never", "--manifest-path"]).arg(folder.join("Cargo.toml"));
        cargo.env("CARGO_TARGET_DIR", &self.target);
        let output = cargo.output().map_err(|error| Failure::new("cannot start cargo").looked(error.to_string()))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let errors = stderr.lines().skip_while(|line| !line.starts_with("error"));
        Ok(Messages {
            all: stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            stderr: errors.collect::<Vec<_>>().join(" "),
            is_done: output.status.success(),
        })
    }
}

/// Returns whether the package is the one in that folder.
fn is_of(id: &Value, folder: &Path) -> bool {
    let id = id.as_str().unwrap_or_default();
    let path = id.rsplit_once('#').map_or(id, |(path, _)| path);
    path.strip_prefix("path+file://").is_some_and(|path| Path::new(path) == folder)
}

struct Messages {
    all: Vec<Value>,
    /// What was told of errors outside of code.
    stderr: String,
    is_done: bool,
}

/// An error in one line, with its place.
fn said(message: &Value) -> String {
    let text = message["message"].as_str().unwrap_or_default();
    let code = message["code"]["code"].as_str().map(|code| format!("{code} ")).unwrap_or_default();
    let spans = message["spans"].as_array();
    let span = spans.and_then(|spans| spans.iter().find(|span| span["is_primary"] == true));
    let place = span.and_then(|span| Some(format!(" ({}:{})", span["file_name"].as_str()?, span["line_start"])));
    format!("{code}{text}{}", place.unwrap_or_default())
}
