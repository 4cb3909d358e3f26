//! One run of a build, which gathers and writes files, directives to Cargo and the report.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use fx_front::{
    diag::{Diagnostic, Severity},
    handoff::{self, Items},
    index::Externs,
    scan::{self, FOLDERS},
};

use super::{
    coverage::Coverage,
    generated::{Generated, graph_file},
    why::{self, Why},
};
use crate::{
    out,
    pipeline::{Report, never_applied},
};

/// The state of one run.
#[derive(Default)]
pub(super) struct Run {
    pub(super) items: Items,
    /// The crates whose signatures are known beside the package's own.
    pub(super) externs: Externs,
    pub(super) seen: Vec<(String, fx_ir::Place)>,
    pub(super) report: String,
    /// The lines for Cargo.
    pub(super) directives: Vec<String>,
    pub(super) applied: Vec<Report>,
    /// How much of each item is understood.
    pub(super) coverage: Vec<Coverage>,
    /// What `cargo fx why` is told.
    pub(super) why: Why,
    /// The names of what was traced.
    pub(super) models: BTreeSet<String>,
    /// The files below `fx`.
    pub(super) written: BTreeSet<String>,
}

impl Run {
    /// The run of a build of the package in the folder `root`, whose sources are watched.
    pub(super) fn of(root: &Path) -> Run {
        let mut directives = vec!["cargo::rerun-if-changed=build.rs".to_owned()];
        let folders = FOLDERS.into_iter().filter(|folder| root.join(folder).is_dir());
        directives.extend(folders.map(|folder| format!("cargo::rerun-if-changed={folder}")));
        let externs = scan::dependencies(root);
        let mut run = Run { externs, directives, ..Run::default() };
        let files: Vec<String> = run.externs.values().flat_map(|krate| krate.files.clone()).collect();
        run.watch(&files);
        run
    }

    /// A line for the report and for the user's eyes.
    pub(super) fn warn(&mut self, line: &str) {
        let _ = writeln!(self.report, "{line}");
        self.directives.push(format!("cargo::warning={line}"));
    }

    pub(super) fn write(&mut self, out: &Path, file: &str, text: &str) {
        self.written.insert(file.to_owned());
        if let Err(error) = out::write(&out.join("fx").join(file), text) {
            self.directives.push(format!("cargo::error=cannot write `fx/{file}` below OUT_DIR: {error}"));
        }
    }

    /// Names the files that lie outside the folders that are watched whole, where a `#[path]` leads.
    pub(super) fn watch(&mut self, files: &[String]) {
        let inside =
            |file: &str| FOLDERS.iter().any(|folder| Path::new(file).starts_with(folder)) && !file.contains("..");
        for file in files.iter().filter(|file| !inside(file)) {
            let line = format!("cargo::rerun-if-changed={file}");
            if !self.directives.contains(&line) {
                self.directives.push(line);
            }
        }
    }

    /// Sends each diagnostic where it is shown; returns whether one of them stops the build.
    pub(super) fn distribute(&mut self, diagnostics: Vec<Diagnostic>) -> bool {
        let mut broken = false;
        for diagnostic in diagnostics {
            let _ = writeln!(self.report, "{diagnostic}");
            broken |= diagnostic.severity == Severity::Error;
            if diagnostic.severity == Severity::Note || self.items.report(&diagnostic) {
                continue;
            }
            let level = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
            self.directives.push(format!("cargo::{level}={}", diagnostic.to_string().replace('\n', " ")));
        }
        broken
    }

    /// Says that an item is frozen as it is, because of a bug of ours.
    pub(super) fn warn_of_bug(&mut self, file: &str, bug: &str) {
        let name = file.trim_end_matches(".rs");
        // The fault behind the first line says what is wrong.
        let first = bug.lines().take(2).map(str::trim).collect::<Vec<&str>>().join(": ");
        self.directives
            .push(format!("cargo::warning=a bug of fx: `{name}` is frozen without being optimised: {first}"));
    }

    /// Writes the files of an item; none where the build is broken, or where they were generated wrongly.
    pub(super) fn store(&mut self, out: &Path, file: &str, generated: Result<Option<Generated>, String>) {
        match generated {
            Ok(None) => self.items.withhold(file),
            Ok(Some(generated)) => {
                if !generated.graph.is_empty() {
                    self.write(out, &graph_file(file), &generated.graph);
                }
                generated.report.iter().for_each(|line| self.report += line);
                self.write(out, file, &generated.frozen);
            }
            Err(bug) => {
                self.items.withhold(file);
                let kept = format!("{file}.bug.txt");
                self.write(out, &kept, &bug);
                let first = bug.lines().next().unwrap_or_default();
                self.directives.push(format!(
                    "cargo::error=fx generated `{file}` wrongly, which is a bug of fx, not of yours: {first} (see {})",
                    out.join("fx").join(&kept).display()
                ));
            }
        }
    }

    /// Writes the list of items and the report, removes what an earlier build left, and yields the directives.
    pub(super) fn finish(mut self, out: &Path, tells_silent_rules: bool) -> Vec<String> {
        let warnings = self.coverage.iter().filter_map(|item| item.warning(&out.join("fx/report.txt")));
        self.directives.extend(warnings.map(|line| format!("cargo::warning={line}")));
        for item in &self.coverage {
            let _ = writeln!(self.report, "{}", item.to_string().lines().next().unwrap_or_default());
        }
        if tells_silent_rules {
            for rule in never_applied(&self.applied) {
                let _ = writeln!(self.report, "`{rule}` applied nowhere");
            }
        }
        if let Some(text) = self.why.text() {
            self.write(out, why::FILE, &text);
        }
        let (items, report) = (self.items.to_text(), std::mem::take(&mut self.report));
        for (path, text) in [(handoff::PATH, items), ("fx/report.txt", report)] {
            self.write(out, path.trim_start_matches("fx/"), &text);
        }
        // Two crates of a package may read the same file.
        let mut seen = BTreeSet::new();
        self.directives.retain(|line| seen.insert(line.clone()));
        // What an earlier build wrote for an item that is gone, or has another name now, would be read as this one's.
        if let Err(error) = out::keep(&out.join("fx"), &self.written) {
            self.directives.push(format!("cargo::error=cannot tidy `fx` below OUT_DIR: {error}"));
        }
        self.directives
    }
}
