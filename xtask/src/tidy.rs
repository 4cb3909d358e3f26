//! `cargo xtask tidy`: the shape of the source, checked. `cargo test -p xtask` runs it too.
//!
//! All findings are told at once, each with its place.

mod links;
mod pages;
mod source;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

/// `tidy` can be told nothing yet.
#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(workspace: &Workspace, _: &Options) -> Result<()> {
    check(workspace)?;
    eprintln!("tidy: nothing to complain about");
    Ok(())
}

/// Fails with every finding, if there is one.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut findings = Vec::new();
    let summary = pages::summary(&workspace.root);
    for path in files(&workspace.root)? {
        // What is no text is none of ours.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let name = path.strip_prefix(&workspace.root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if has_extension(&path, "rs") && !is_specimen(&name) {
            findings.extend(source::check(&name, &text));
        }
        if has_extension(&path, "md") {
            findings.extend(pages::check(&workspace.root, &name, &text, &summary));
        }
    }
    findings.extend(links::check(&workspace.metadata(&[])?));
    if findings.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("tidy: {} findings", findings.len())).looked_all(findings.iter().map(ToString::to_string)))
}

/// Something that is not as it should be.
#[derive(Debug)]
struct Finding {
    /// The file, relative to the workspace, or a package.
    place: String,
    /// The line, from 1; 0 where the whole is meant.
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.what),
            line => write!(f, "{}:{line}: {}", self.place, self.what),
        }
    }
}

/// Sources that are tests' input or expected output, not code of ours.
fn is_specimen(name: &str) -> bool {
    ["ui", "golden", "goldens", "fixtures", "cases"].iter().any(|folder| name.split('/').any(|part| part == *folder))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// All files of the repository: hidden folders and what is built are left out, but `.ci` and `.cargo` are ours.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| Failure::file("read", &folder, &error))? {
            let path = entry.map_err(|error| Failure::file("read", &folder, &error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_ours = !name.starts_with('.') || name == ".ci" || name == ".cargo";
            if path.is_dir() && is_ours && name != "target" && name != "__pycache__" {
                folders.push(path);
            } else if path.is_file() && name != ".git" && !has_extension(&path, "lock") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::Workspace;

    #[test]
    fn the_workspace_is_tidy() {
        if let Err(failure) = check(&Workspace::of_this_build()) {
            panic!("{failure}");
        }
    }
}
