//! The packages that a package depends on by path, as their manifests tell: what other crates of a workspace declare.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use toml::{Table, Value};

use super::Scan;
use crate::diag::Diagnostics;
use crate::index::Index;

/// The tables of a manifest that name what a package's code may use.
const SECTIONS: [&str; 2] = ["dependencies", "dev-dependencies"];

/// The libraries that the package in the folder `root` depends on by path, and its own, which its programs use, by the
/// names by which code calls them. Only those are read that have tensors: that depend on tch or on fx-runtime themselves.
pub fn dependencies(root: &Path) -> BTreeMap<String, Rc<Index>> {
    let manifest = manifest(root);
    let entries = SECTIONS.into_iter().filter_map(|section| table(&manifest, section)).flatten();
    let mut all: BTreeMap<String, Rc<Index>> = entries.filter_map(|(key, value)| named(root, key, value)).collect();
    all.extend(library(root, Path::new(""), None));
    all
}

/// The library that an entry of the manifest in the folder `root` names by its path, or by that of the workspace.
fn named(root: &Path, key: &str, entry: &Value) -> Option<(String, Rc<Index>)> {
    let entry = entry.as_table()?;
    let folder = match entry.get("workspace").and_then(Value::as_bool) {
        Some(true) => of_workspace(root, key)?,
        _ => PathBuf::from(path_of(entry)?),
    };
    // A name that the entry itself gives goes before that of the library.
    library(root, &folder, entry.contains_key("package").then_some(key))
}

/// The library of the package in the folder, which is relative to `root`, by that name or its own.
fn library(root: &Path, folder: &Path, name: Option<&str>) -> Option<(String, Rc<Index>)> {
    let place = root.join(folder);
    let manifest = manifest(&place);
    let text = |of: &str, key: &str| table(&manifest, of).and_then(|of| of.get(key)).and_then(Value::as_str);
    let package = text("package", "name")?;
    let has = |name: &str| table(&manifest, "dependencies").is_some_and(|all| all.contains_key(name));
    // What these two declare is known.
    if ["tch", "fx-runtime"].contains(&package) || !["tch", "fx-runtime"].into_iter().any(has) {
        return None;
    }
    let name = name.or_else(|| text("lib", "name")).unwrap_or(package);
    let file = place.join(text("lib", "path").unwrap_or("src/lib.rs"));
    let mut scan = Scan {
        root: &place,
        index: Index::default(),
        diags: &Diagnostics::new(),
        defaults: Vec::new(),
        impls: Vec::new(),
    };
    scan.read_file(&file, file.parent()?, "crate");
    scan.provided();
    for file in &mut scan.index.files {
        *file = folder.join(&*file).to_string_lossy().replace('\\', "/");
    }
    Some((name.replace('-', "_"), Rc::new(scan.index)))
}

/// The folder of a dependency whose path the workspace says.
fn of_workspace(root: &Path, key: &str) -> Option<PathBuf> {
    let root = fs::canonicalize(root).ok()?;
    root.ancestors().find_map(|folder| {
        let manifest = manifest(folder);
        let all = table(table(&manifest, "workspace")?, "dependencies")?;
        Some(folder.join(path_of(all.get(key)?.as_table()?)?))
    })
}

fn path_of(entry: &Table) -> Option<&str> {
    entry.get("path").and_then(Value::as_str)
}

fn table<'t>(of: &'t Table, name: &str) -> Option<&'t Table> {
    of.get(name).and_then(Value::as_table)
}

/// The manifest in the folder; empty where there is none that can be read, of which Cargo says more.
fn manifest(folder: &Path) -> Table {
    fs::read_to_string(folder.join("Cargo.toml")).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}
