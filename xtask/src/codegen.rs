//! `cargo xtask codegen`: fx-ir's op catalog, from PyTorch's operator list and tch's sources.
//!
//! tch names its methods after operators by a rule of its own; [`pairing`] applies that rule and then holds the two
//! signatures against each other, so that a row never pairs a method with another overload's schema.

mod handwritten;
mod pairing;
mod render;
mod schema;
mod tch;

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Libtorch, Variant};
use crate::workspace::Workspace;

/// The one file that is written.
const TABLE: &str = "fx-ir/src/catalog/table.rs";

/// How many differing lines `--check` shows.
const SHOWN: usize = 8;

/// What `codegen` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing; fail when the committed table is not what would be written.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    if options.check {
        return check(workspace, &libtorch);
    }
    let path = workspace.root.join(TABLE);
    let table = table(workspace, &libtorch)?;
    if committed(&path) != table {
        fs::write(&path, &table).map_err(|error| Failure::file("write", &path, &error))?;
    }
    eprintln!("{TABLE}: {} rows", table.lines().filter(|line| line.starts_with("    row(")).count());
    Ok(())
}

/// Fails when the committed table is not what would be written, and says where they differ.
pub(crate) fn check(workspace: &Workspace, libtorch: &Libtorch) -> Result<()> {
    let table = table(workspace, libtorch)?;
    let committed = committed(&workspace.root.join(TABLE));
    if committed == table {
        return Ok(());
    }
    let differences = differences(&committed, &table);
    let more = differences.len().saturating_sub(SHOWN);
    Err(Failure::new(format!("`{TABLE}` is not what `cargo xtask codegen` writes"))
        .looked_all(differences.into_iter().take(SHOWN))
        .looked(format!("and {more} lines more"))
        .help("run `cargo xtask codegen` and commit the file"))
}

/// The text of the table.
fn table(workspace: &Workspace, libtorch: &Libtorch) -> Result<String> {
    let list = libtorch::native_functions(libtorch).ok_or_else(|| {
        Failure::new("this libtorch is without PyTorch's operator list")
            .looked(format!("looked for `native_functions.yaml` in and beside `{}`", libtorch.home.display()))
            .help("unset LIBTORCH: `cargo xtask setup` fetches one that has it")
    })?;
    let schemas = schema::parse_list(&read(&list)?);
    let sources = tch_sources(workspace)?;
    let mut methods = tch::parse_generated(&read(&sources.join("wrappers/tensor_fallible_generated.rs"))?)?;
    tch::apply_prefixes(&mut methods, &read(&sources.join("wrappers/tensor_generated.rs"))?);
    let written = tch::handwritten_files(&sources)?;
    let mut rows = pairing::pair(&methods, &schemas);
    for file in written {
        rows.extend(handwritten::rows(&tch::parse_handwritten(&read(&file)?)?));
    }
    rows.sort_by(|a, b| a.method.cmp(&b.method));
    rows.dedup_by(|a, b| a.method == b.method);
    Ok(render::table(&rows))
}

/// The folder of tch's sources, in cargo's registry.
fn tch_sources(workspace: &Workspace) -> Result<PathBuf> {
    let metadata = workspace.metadata(&[])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "tch" && package["version"] == "0.24.0")
        .find_map(|package| package["manifest_path"].as_str())
        .ok_or_else(|| {
            Failure::new("the workspace does not depend on tch 0.24.0")
                .looked("looked among the packages of `cargo metadata`")
                .help("fx-runtime should depend on `tch = \"=0.24.0\"`")
        })?;
    Ok(Path::new(manifest).with_file_name("src"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))
}

/// The committed table; an absent one differs from any.
fn committed(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The lines that only one of two sorted texts has, each with a sign.
fn differences(old: &str, new: &str) -> Vec<String> {
    use std::collections::BTreeSet;
    let [before, after]: [BTreeSet<&str>; 2] = [old.lines().collect(), new.lines().collect()];
    let gone = before.difference(&after).map(|line| format!("- {}", line.trim()));
    let come = after.difference(&before).map(|line| format!("+ {}", line.trim()));
    gone.chain(come).collect()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn differences_bear_signs() {
        assert_eq!(differences("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
    }
}
