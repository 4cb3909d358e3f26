//! The program around a crate: a package of its own with one binary a model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::list::{Crate, Model};
use super::mirror::write;
use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

const RUNNER: &str = include_str!("runner.rs");

/// Those of fx's own workspace, so that what it has built is not built again; the crate itself is optimised in each.
const PROFILES: &str = "
[profile.release]
debug = 0
[profile.release.build-override]
opt-level = 2
[profile.dev]
debug = \"line-tables-only\"
[profile.dev.build-override]
opt-level = 1
[profile.dev.package.fx-runtime]
opt-level = 1
";

/// Where a crate and its program lie.
pub(super) struct Package {
    /// The program's folder.
    pub(super) folder: PathBuf,
    /// The adopted crate's folder.
    pub(super) adopted: PathBuf,
}

/// The name of the package of a crate's programs: the crate's folder may be called otherwise than a package can be.
fn package(krate: &Crate) -> String {
    format!("corpus-{}", krate.name.replace(|c: char| !c.is_alphanumeric() && c != '_', "-"))
}

/// The name of the binary of the model at that place.
pub(super) fn binary(krate: &Crate, at: usize) -> String {
    format!("{}-{at}", package(krate))
}

impl Package {
    /// Writes the files of the program.
    pub(super) fn write(&self, workspace: &Workspace, krate: &Crate, name: &str) -> Result<()> {
        write(&self.folder.join("Cargo.toml"), self.manifest(workspace, krate, name))?;
        write(&self.folder.join("src/runner.rs"), RUNNER)?;
        for (at, model) in krate.models.iter().enumerate() {
            write(&self.folder.join(format!("src/m{at}.rs")), main(model))?;
        }
        let lock = workspace.root.join("Cargo.lock");
        let text = std::fs::read_to_string(&lock).map_err(|error| Failure::file("read", &lock, &error))?;
        let own = self.folder.join("Cargo.lock");
        if own.exists() { Ok(()) } else { write(&own, &text) }
    }

    fn manifest(&self, workspace: &Workspace, krate: &Crate, name: &str) -> String {
        let runtime = workspace.root.join("fx-runtime");
        let features: Vec<String> = krate.settings.features.iter().map(|name| format!("'{name}'")).collect();
        let mut text = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nautobins = false\n\n[dependencies]\n\
             {name} = {{ path = '{}', features = [{}], default-features = {} }}\nfx-runtime = {{ path = '{}' }}\ntch = \"=0.24.0\"\n\n\
             [workspace]\n{PROFILES}[profile.dev.package.{}]\nopt-level = 3\n[profile.dev.package.{name}]\nopt-level = 3\n",
            package(krate),
            self.adopted.display(),
            features.join(", "),
            !krate.settings.no_default_features,
            runtime.display(),
            package(krate),
        );
        for at in 0..krate.models.len() {
            let _ = write!(text, "\n[[bin]]\nname = \"{}\"\npath = \"src/m{at}.rs\"\n", binary(krate, at));
        }
        text
    }
}

/// The program of one model.
fn main(model: &Model) -> String {
    let inputs = model.inputs.iter().enumerate().map(|(at, input)| {
        let made =
            input.strip_prefix("= ").map_or_else(|| format!("fx_runtime::random_input({input:?})?"), str::to_owned);
        format!("x{at} = {made}")
    });
    let inputs: Vec<String> = inputs.collect();
    let uses: Vec<String> = model.uses.iter().map(|path| format!("use {path};")).collect();
    format!(
        "//! `{path}`, frozen against eager.\n#![allow(warnings)]\n\nmod runner;\n\nuse fx_runtime::nn::{{self, Module as _, ModuleT as _}};\n\
         use fx_runtime::tch::{{self, Device, Kind, Tensor}};\nuse {path};\n{uses}\n\n\
         runner::model!({frozen}, |p| {new}, [{inputs}], |model| {call});\n",
        path = model.path,
        uses = uses.join("\n"),
        frozen = model.frozen(),
        new = model.new,
        inputs = inputs.join(", "),
        call = model.call(),
    )
}

/// The name of the package whose manifest lies in the folder, if it has a library.
pub(super) fn library(workspace: &Workspace, folder: &Path) -> std::result::Result<String, String> {
    let mut cargo = workspace.cargo(&["metadata", "--format-version", "1", "--no-deps", "--manifest-path"]);
    let manifest = folder.join("Cargo.toml");
    let output = cargo.arg(&manifest).output().map_err(|error| format!("cannot start cargo: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|_| stderr.into_owned())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let same = |package: &&Value| {
        let path = package["manifest_path"].as_str().map(PathBuf::from);
        path.and_then(|path| path.canonicalize().ok()) == manifest.canonicalize().ok()
    };
    let package = packages.filter(|package| package["manifest_path"].is_string()).find(same);
    let package = package.ok_or_else(|| "cargo knows no package there".to_owned())?;
    let mut kinds = package["targets"].as_array().into_iter().flatten().filter_map(|target| target["kind"].as_array());
    let has_library = kinds.any(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "rlib"));
    let name = package["name"].as_str().unwrap_or_default().to_owned();
    if has_library {
        Ok(name)
    } else {
        Err(format!("the package `{name}` has no library, so that no program can use its models"))
    }
}
