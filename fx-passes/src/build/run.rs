//! What one run of a build gathers, and where what it tells is shown.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use fx_front::{
    diag::{Diagnostic, Severity},
    handoff::Items,
};

use super::{roots::FOLDERS, understood::Understood};
use crate::{out, pipeline::Report};

/// What one run gathers.
#[derive(Default)]
pub(super) struct Run {
    pub(super) items: Items,
    pub(super) seen: Vec<(String, fx_ir::Place)>,
    pub(super) report: String,
    pub(super) told: Vec<String>,
    pub(super) applied: Vec<Report>,
    /// What became of each item.
    pub(super) understood: Vec<Understood>,
    /// The names of what was traced.
    pub(super) models: BTreeSet<String>,
    /// The files below `fx`.
    pub(super) written: BTreeSet<String>,
}

impl Run {
    /// A line for the report and for the user's eyes.
    pub(super) fn tell(&mut self, line: &str) {
        let _ = writeln!(self.report, "{line}");
        self.told.push(format!("cargo::warning={line}"));
    }

    pub(super) fn write(&mut self, out: &Path, file: &str, text: &str) {
        self.written.insert(file.to_owned());
        if let Err(error) = out::write(&out.join("fx").join(file), text) {
            self.told.push(format!("cargo::error=cannot write `fx/{file}` below OUT_DIR: {error}"));
        }
    }

    /// Names the files that lie outside the folders that are watched whole, where a `#[path]` leads.
    pub(super) fn watch(&mut self, files: &[String]) {
        let inside =
            |file: &str| FOLDERS.iter().any(|folder| Path::new(file).starts_with(folder)) && !file.contains("..");
        for file in files.iter().filter(|file| !inside(file)) {
            let line = format!("cargo::rerun-if-changed={file}");
            if !self.told.contains(&line) {
                self.told.push(line);
            }
        }
    }

    /// Sends each diagnostic where it is shown; is there one that stops the build?
    pub(super) fn distribute(&mut self, diagnostics: Vec<Diagnostic>) -> bool {
        let mut broken = false;
        for diagnostic in diagnostics {
            let _ = writeln!(self.report, "{diagnostic}");
            broken |= diagnostic.severity == Severity::Error;
            if diagnostic.severity == Severity::Note || self.items.report(&diagnostic) {
                continue;
            }
            let level = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
            self.told.push(format!("cargo::{level}={}", diagnostic.to_string().replace('\n', " ")));
        }
        broken
    }
}
