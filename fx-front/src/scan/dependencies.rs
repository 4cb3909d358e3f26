//! The packages that a package depends on by path, as their manifests tell: what other crates of a workspace declare.

use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use toml::{Table, Value};

use super::Scan;
use crate::diag::Diagnostics;
use crate::index::{Externs, Index};

/// The tables of a manifest that name what a package's code may use.
const SECTIONS: [&str; 2] = ["dependencies", "dev-dependencies"];

/// The root of a package's library.
const LIBRARY: &str = "src/lib.rs";

/// The libraries that the package in the folder `root` depends on by path. Only those are read that have tensors: that
/// depend on tch or on fx-runtime themselves.
pub fn dependencies(root: &Path) -> Externs {
    let manifest = manifest(root);
    let entries = SECTIONS.into_iter().filter_map(|section| table(&manifest, section)).flatten();
    entries.filter_map(|(key, value)| named(root, key, value)).collect()
}

/// Puts the package's own library among the others, once its root has been read: its programs, examples and tests use it.
pub fn add_library(externs: &mut Externs, root: &Path, entry: &Path, index: Index) {
    if entry == Path::new(LIBRARY)
        && let Some(name) = library_name(&manifest(root))
    {
        externs.insert(name.replace('-', "_"), Rc::new(index));
    }
}

/// The library that an entry of the manifest in the folder `root` names by its path, or by that of the workspace.
fn named(root: &Path, key: &str, entry: &Value) -> Option<(String, Rc<Index>)> {
    let entry = entry.as_table()?;
    let folder = match entry.get("workspace").and_then(Value::as_bool) {
        Some(true) => of_workspace(root, key)?,
        _ => PathBuf::from(path_of(entry)?),
    };
    let place = root.join(&folder);
    let manifest = manifest(&place);
    let package = text(&manifest, "package", "name")?;
    let has = |name: &str| table(&manifest, "dependencies").is_some_and(|all| all.contains_key(name));
    // What these two declare is known.
    if ["tch", "fx-runtime"].contains(&package) || !["tch", "fx-runtime"].into_iter().any(has) {
        return None;
    }
    // A name that the entry itself gives goes before that of the library.
    let name = if entry.contains_key("package") { key } else { library_name(&manifest)? };
    let file = place.join(text(&manifest, "lib", "path").unwrap_or(LIBRARY));
    let diags = Diagnostics::new();
    let mut scan = Scan::new(&place, &diags);
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

/// How a library is called that no entry gives another name.
fn library_name(manifest: &Table) -> Option<&str> {
    text(manifest, "lib", "name").or_else(|| text(manifest, "package", "name"))
}

fn text<'t>(manifest: &'t Table, of: &str, key: &str) -> Option<&'t str> {
    table(manifest, of).and_then(|of| of.get(key)).and_then(Value::as_str)
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
