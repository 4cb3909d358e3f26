//! Why a command did not do what it was asked.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Ends the program with [`Failure::CODE`].
#[derive(Debug, Error)]
pub(crate) enum Failure {
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
    /// Standard output cannot be written.
    #[error("cannot print: {0}")]
    Print(io::Error),
    /// A result cannot be made JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Failure {
    /// Bad input, as clap ends for bad arguments.
    pub(crate) const CODE: u8 = 2;
}
