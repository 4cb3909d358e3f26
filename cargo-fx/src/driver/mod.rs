//! A small program that constructs a user's model, and asks fx-runtime about it.
//!
//! `workspace.rs` finds the user's crate and what it depends on, `package.rs` writes the program, `build.rs` compiles it with
//! the user's target folder, [`asked`] runs it, and `progress.rs` shows how far it is. Nothing but the call of the constructor is generated.

mod build;
mod package;
mod progress;
mod workspace;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

pub(crate) use build::{Built, build_script_folder, build_script_output};
pub(crate) use workspace::Workspace;

use crate::Outcome;
use crate::failure::Failure;

/// Which model is meant, and how it is constructed.
#[derive(clap::Args)]
pub(crate) struct Model {
    /// The model's type, with the name of its crate: `my_crate::ResNet18`
    #[arg(long = "model", value_name = "PATH")]
    path: String,
    /// An expression that constructs it, where `p` is a `&nn::Path` and the type goes by its last name; it may end in `?`
    ///
    /// By default that is `TYPE::new(p)`.
    #[arg(long, value_name = "EXPRESSION")]
    new: Option<String>,
    /// An input, one for each of the forward's: `1x3x224x224`, `1x16:i64<30522`, `scalar:bf16`
    ///
    /// Sizes, and behind a colon the dtype: f32 (the default), f64, f16, bf16, i64, i32, i8, u8, bool. Values are random, and
    /// the same in each run; integers lie between 0 and the number behind `<`, or else are 0 and 1.
    #[arg(long, value_name = "SHAPE[:DTYPE]")]
    input: Vec<String>,
    /// Weights to load: a .safetensors file; without one they are those of the constructor
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Print JSON instead
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    cargo: Cargo,
}

/// How Cargo is called.
#[derive(clap::Args)]
pub(crate) struct Cargo {
    /// The crate's or the workspace's Cargo.toml; by default the one of this folder
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Features of the crate to switch on, separated by commas
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Do not switch on the crate's default features
    #[arg(long)]
    pub(crate) no_default_features: bool,
    /// The profile to build with; by default `release` for what runs, and `dev` for what does not
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

/// What the program said, and where the files are that it talks about.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    /// The folder of the user's package, from which source lines are named.
    pub(crate) sources: PathBuf,
    /// The folder that its build script wrote to.
    pub(crate) output: Option<PathBuf>,
}

/// Builds the program for a model, and answers with what it says.
pub(crate) fn asked(model: &Model, ask: &Value, is_frozen: bool) -> Result<Outcome, Failure> {
    Ok(answer(model, ask, is_frozen)?.outcome)
}

/// The same with the places of the user's files.
pub(crate) fn answer(model: &Model, ask: &Value, is_frozen: bool) -> Result<Answer, Failure> {
    let (krate, ty) = model.path.split_once("::").ok_or_else(|| Failure::NoCrate { model: model.path.clone() })?;
    let workspace = Workspace::read(&model.cargo)?;
    let package = workspace.library(krate)?;
    let name = ty.rsplit("::").next().unwrap_or(ty);
    let expression = model.new.clone().unwrap_or_else(|| format!("{name}::new(p)"));
    let files = package::files(&workspace, package, &model.cargo, &(&model.path, &expression))?;
    let folder = workspace.target_directory.join("fx/driver");
    files.write(&folder)?;
    let built = build::driver(&workspace, &folder, &model.cargo, &expression)?;
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let question = json!({
        "ask": ask, "inputs": model.input, "frozen": is_frozen, "weights": model.weights.as_ref().map(absolute),
        "json": model.json,
    });
    Ok(Answer {
        outcome: run(&built, &question)?,
        sources: package.folder().to_owned(),
        output: built.output_of(package).map(std::path::Path::to_owned),
    })
}

/// Runs the program; what it has to say of errors it says itself.
fn run(built: &Built, question: &Value) -> Result<Outcome, Failure> {
    let cannot = |source| Failure::Start { program: built.executable.clone(), source };
    let mut command = Command::new(&built.executable);
    let is_watched = io::stderr().is_terminal();
    command.arg(question.to_string()).stdout(Stdio::piped());
    command.stderr(if is_watched { Stdio::piped() } else { Stdio::inherit() });
    if is_watched {
        command.env(progress::ASKED, "1");
    }
    // Where libtorch lies, build scripts have said.
    let variable = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let known = std::env::var_os(variable).unwrap_or_default();
    let paths = built.libraries.iter().cloned().chain(std::env::split_paths(&known));
    if let Ok(paths) = std::env::join_paths(paths) {
        command.env(variable, paths);
    }
    let mut child = command.spawn().map_err(cannot)?;
    let watcher = child.stderr.take().map(|stderr| thread::spawn(|| progress::show(stderr)));
    let output = child.wait_with_output().map_err(cannot)?;
    // Its last words come before ours.
    watcher.map(thread::JoinHandle::join);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(Outcome { text, code }),
        None => Err(Failure::Ended { status: output.status }),
    }
}
