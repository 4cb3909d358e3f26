//! Builds, and reads what Cargo says while it does.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Cargo;
use super::package::NAME;
use super::workspace::{Package, Workspace, cargo};
use crate::failure::Failure;

/// A program that was built.
pub(crate) struct Built {
    pub(crate) executable: PathBuf,
    /// The folders of libraries that it is linked with.
    pub(crate) libraries: Vec<PathBuf>,
    /// What build scripts have written, by the ids of their packages.
    outputs: Vec<(String, PathBuf)>,
}

impl Built {
    /// The folder that the build script of that package wrote to, if it has one.
    pub(super) fn output_of(&self, package: &Package) -> Option<&Path> {
        self.outputs.iter().find(|(id, _)| *id == package.id).map(|(_, folder)| folder.as_path())
    }
}

/// Builds the program in that folder, with the user's target folder and the configuration of the user's workspace.
pub(super) fn driver(
    workspace: &Workspace,
    folder: &Path,
    options: &Cargo,
    expression: &str,
) -> Result<Built, Failure> {
    let mut command = cargo();
    command.arg("build").arg("--manifest-path").arg(folder.join("Cargo.toml"));
    command.args(["--profile", options.profile.as_deref().unwrap_or("release")]);
    command.arg("--target-dir").arg(&workspace.target_directory).current_dir(&workspace.root);
    let messages = messages(command, expression)?;
    let is_driver = |message: &&Value| message["target"]["name"] == NAME && message["executable"].is_string();
    let executable = messages.iter().find(is_driver).and_then(|message| message["executable"].as_str());
    let executable = executable.ok_or_else(|| Failure::Cargo {
        what: "build the program that constructs the model".to_owned(),
        stderr: "it says of no program that it was built".to_owned(),
    })?;
    let linked = messages.iter().filter_map(|message| message["linked_paths"].as_array()).flatten();
    let folder = |path: &Value| {
        let path = path.as_str()?;
        Some(PathBuf::from(path.split_once('=').map_or(path, |(_, path)| path)))
    };
    let output =
        |message: &Value| Some((message["package_id"].as_str()?.to_owned(), message["out_dir"].as_str()?.into()));
    let outputs = messages.iter().filter(|message| message["reason"] == "build-script-executed").filter_map(output);
    Ok(Built {
        executable: executable.into(),
        libraries: linked.filter_map(folder).collect(),
        outputs: outputs.collect(),
    })
}

/// What the build script of a package wrote to that file below `OUT_DIR/fx`, run with these environment variables.
pub(crate) fn build_script_output(
    package: &Package,
    options: &Cargo,
    file: &str,
    environment: &[(&str, &str)],
) -> Result<String, Failure> {
    let text = fs::read_to_string(build_script_folder(package, options, environment)?.join(file));
    text.map_err(|_| Failure::NoReport { package: package.name.clone() })
}

/// The folder `OUT_DIR/fx` of a package's build script, run with these environment variables.
pub(crate) fn build_script_folder(
    package: &Package,
    options: &Cargo,
    environment: &[(&str, &str)],
) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    command.arg("check").arg("--manifest-path").arg(package.folder().join("Cargo.toml"));
    command
        .args(["--lib", "--profile", options.profile.as_deref().unwrap_or("dev")])
        .args(["--features", &options.features.join(",")])
        .envs(environment.iter().copied());
    if options.no_default_features {
        command.arg("--no-default-features");
    }
    let messages = messages(command, "")?;
    let is_ours =
        |message: &&Value| message["reason"] == "build-script-executed" && message["package_id"] == package.id.as_str();
    let folder = messages.iter().find(is_ours).and_then(|message| message["out_dir"].as_str());
    let folder = folder.map(|folder| PathBuf::from(folder).join("fx")).filter(|folder| folder.is_dir());
    folder.ok_or_else(|| Failure::NoReport { package: package.name.clone() })
}

/// What Cargo says, message by message; if something does not compile, rustc's words, and the expression where it is that.
pub(crate) fn messages(mut command: Command, expression: &str) -> Result<Vec<Value>, Failure> {
    command.arg("--message-format=json").stdout(Stdio::piped());
    // Progress is for who watches; what went wrong is told below.
    let is_watched = io::stderr().is_terminal();
    command.stderr(if is_watched { Stdio::inherit() } else { Stdio::piped() });
    let start = |source| Failure::Start { program: "cargo".into(), source };
    let output = command.spawn().map_err(start)?.wait_with_output().map_err(start)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if output.status.success() {
        return Ok(messages);
    }
    let errors = messages
        .iter()
        .filter(|message| message["reason"] == "compiler-message" && message["message"]["level"] == "error");
    let rendered: String = errors.clone().filter_map(|message| message["message"]["rendered"].as_str()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    let Some(first) = errors.clone().next() else {
        return Err(Failure::Cargo { what: "build".to_owned(), stderr });
    };
    let name = first["target"]["name"].as_str().unwrap_or_default().to_owned();
    let rendered = rendered.trim_end().to_owned();
    Err(if name == NAME {
        Failure::Expression { expression: expression.to_owned(), rendered }
    } else {
        Failure::Compile { krate: name, rendered }
    })
}
