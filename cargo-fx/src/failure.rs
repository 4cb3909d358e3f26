//! Why a command did not do what it was asked.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Ends the program with [`Failure::CODE`].
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A crate cannot be adopted.
    #[error(transparent)]
    Adopt(#[from] crate::adopt::Fault),
    /// A trace cannot be read or compared.
    #[error(transparent)]
    Trace(#[from] fx_trace::Error),
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A chart cannot be drawn.
    #[error("cannot draw the chart as PNG: {reason}; `--svg` writes it without drawing")]
    Draw {
        /// What the drawing library says.
        reason: String,
    },
    /// Letters cannot be drawn.
    #[error(
        "this machine has no fonts to draw a chart with; install one (Debian, Ubuntu: `apt install fonts-dejavu-core`), or use `--svg`"
    )]
    NoFonts,
    /// Standard output cannot be written.
    #[error("cannot print: {0}")]
    Print(io::Error),
    /// JSON cannot be read or written.
    #[error("cannot read or write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The user's fx-runtime is of another version.
    #[error(
        "the model's fx-runtime answers in version {found} of the form, and this `cargo fx` shows version {known}; use a `cargo-fx` of \
         the version of fx-runtime: `cargo install cargo-fx`"
    )]
    OtherVersion {
        /// The version of the answer.
        found: u64,
        /// The one that is shown.
        known: u64,
    },
    /// A model without its crate.
    #[error("`--model {model}` names no crate; write its path from the crate on, `my_crate::{model}`")]
    NoCrate {
        /// What was given.
        model: String,
    },
    /// No package of the workspace has that library.
    #[error(
        "no package of `{}` has a library `{name}`; {}", .root.display(),
        listed("its libraries are", .libraries, "none has one: models go into src/lib.rs")
    )]
    UnknownCrate {
        /// The crate.
        name: String,
        /// Where was looked.
        root: PathBuf,
        /// Those that there are.
        libraries: Vec<String>,
    },
    /// A package has binaries alone, which nothing can depend on.
    #[error(
        "the package `{package}` has no library; put the model into its src/lib.rs, and let src/main.rs use it from there"
    )]
    NoLibrary {
        /// The package.
        package: String,
    },
    /// No such package, or none is named where there are several.
    #[error("{}; {}", unknown_package(.name.as_deref()), listed("the packages are", .members, "the workspace has none"))]
    UnknownPackage {
        /// What was asked for.
        name: Option<String>,
        /// Those that there are.
        members: Vec<String>,
    },
    /// A crate without models of fx.
    #[error(
        "the package `{package}` does not depend on fx-runtime; add it, and annotate the model with `#[traceable]`"
    )]
    NoRuntime {
        /// The package.
        package: String,
    },
    /// No build script wrote a report.
    #[error(
        "no report was written for `{package}`; its build.rs should read `fn main() {{ fx_passes::Build::new().run() }}`"
    )]
    NoReport {
        /// The package.
        package: String,
    },
    /// The build script generated nothing under that name.
    #[error("the build script of `{package}` generated no `{item}`; it has: {items}")]
    NoItem {
        /// The package.
        package: String,
        /// The name that was asked for.
        item: String,
        /// Those that there are.
        items: String,
    },
    /// No rule bears the name.
    #[error(
        "there is no rule `{name}`;{} The rules, and the passes without, are:\n  {}",
        proposed(.close), .known.join("\n  ")
    )]
    UnknownRule {
        /// What was asked for.
        name: String,
        /// Those with a name like it, the likest first.
        close: Vec<String>,
        /// All.
        known: Vec<String>,
    },
    /// The crate has no such model.
    #[error("the crate has no `#[traceable]` model `{name}`; {}", listed("its models are", .known, "it has none"))]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// What constructs the model does not compile.
    #[error("the model cannot be constructed by `{expression}`, given `--model` and `--new`:\n\n{rendered}")]
    Expression {
        /// The expression.
        expression: String,
        /// What rustc says.
        rendered: String,
    },
    /// The user's crate, or one that it depends on, does not compile.
    #[error("the crate `{krate}` does not compile:\n\n{rendered}")]
    Compile {
        /// The crate.
        krate: String,
        /// What rustc says.
        rendered: String,
    },
    /// Cargo fails, and not because of code.
    #[error("cargo cannot {what}:\n\n{stderr}")]
    Cargo {
        /// What was asked of it.
        what: String,
        /// What it says.
        stderr: String,
    },
    /// A program cannot be started.
    #[error("cannot run `{}`: {source}", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The model's program was stopped.
    #[error("the program that runs the model was stopped ({status}); it may need more memory than there is")]
    Ended {
        /// How.
        status: std::process::ExitStatus,
    },
}

fn unknown_package(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("the workspace has no package `{name}`"),
        None => "this folder is of no one package; name it by `--package`".to_owned(),
    }
}

fn proposed(close: &[String]) -> String {
    if close.is_empty() { String::new() } else { format!(" did you mean {}?", close.join(" or ")) }
}

fn listed(intro: &str, names: &[String], without: &str) -> String {
    if names.is_empty() { without.to_owned() } else { format!("{intro} {}", names.join(", ")) }
}

impl Failure {
    /// Bad input, as clap ends for bad arguments.
    pub(crate) const CODE: u8 = 2;
}
