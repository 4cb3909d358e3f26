//! Why a crate cannot be adopted; each says what is in the way, where, and what to do.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Nothing was written.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}; no file was changed", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is no Rust.
    #[error("{file}:{line}: {message}; no file was changed")]
    Syntax {
        /// The file.
        file: String,
        /// Its line.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A manifest is no TOML.
    #[error("`{}` is no TOML: {message}", .path.display())]
    Toml {
        /// The manifest.
        path: PathBuf,
        /// What the parser says, with the line.
        message: String,
    },
    /// No manifest in this folder or above.
    #[error("no Cargo.toml in this folder or above it; name one by `--manifest-path`")]
    NoManifest,
    /// A manifest of a workspace alone.
    #[error(
        "`{}` is of a workspace and has no package; crates are adopted one by one: name the Cargo.toml of one by `--manifest-path`",
        .path.display()
    )]
    NoPackage {
        /// The manifest.
        path: PathBuf,
    },
    /// A crate that does not depend on tch.
    #[error("`{}` does not depend on tch; fx compiles models that are written with it", .path.display())]
    NoTch {
        /// The manifest.
        path: PathBuf,
    },
    /// Another version of tch.
    #[error(
        "`{}` depends on tch {found}, and fx works with tch {known}: update the crate to it, or let `--upgrade-tch` write \
         that version into the manifest and mend what does not compile then", .path.display()
    )]
    TchVersion {
        /// The manifest.
        path: PathBuf,
        /// What it asks for.
        found: String,
        /// The one that fx works with.
        known: &'static str,
    },
    /// The version of tch is the workspace's.
    #[error(
        "`{}` takes tch from the workspace, and no `[workspace.dependencies]` above it has it; name the version in the crate",
        .path.display()
    )]
    NoWorkspaceTch {
        /// The manifest.
        path: PathBuf,
    },
    /// An edition in which generated code does not compile.
    #[error("`{}` is of edition {edition}, and fx writes code of edition 2018 and later: write `edition = \"2021\"`", .path.display())]
    Edition {
        /// The manifest.
        path: PathBuf,
        /// The edition.
        edition: String,
    },
    /// No build script is allowed.
    #[error("`{}` says `build = false`, and fx runs in a build script: remove that line", .path.display())]
    NoBuildScript {
        /// The manifest.
        path: PathBuf,
    },
    /// A build script without a `main` of its own.
    #[error(
        "{file}: there is no `fn main` with a body to call fx in; add `fx_passes::Build::new().run();` where the script begins"
    )]
    NoMain {
        /// The build script.
        file: String,
    },
    /// `--fx-path` leads nowhere.
    #[error("`--fx-path {}` is no checkout of fx: it has no fx-runtime/Cargo.toml", .path.display())]
    NoCheckout {
        /// What was given.
        path: PathBuf,
    },
}
