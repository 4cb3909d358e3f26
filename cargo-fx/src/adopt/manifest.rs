//! The manifest: which package it is of, and the dependencies that it gets.

use std::fs;
use std::path::{Path, PathBuf};

use semver::{Version, VersionReq};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value, value};

use super::fault::Fault;

/// The version of tch that fx works with.
const TCH: &str = "0.24.0";
/// The version of fx's own crates, which this one is of.
const OURS: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// What the user says of versions.
#[derive(Clone, Copy)]
pub(super) struct Wishes<'a> {
    /// The folder of a checkout of fx that is to be used in place of the registry.
    pub(super) checkout: Option<&'a Path>,
    /// Whether a requirement of another tch is rewritten.
    pub(super) upgrade: bool,
}

/// A package's manifest.
pub(super) struct Manifest {
    pub(super) path: PathBuf,
    pub(super) text: String,
    document: DocumentMut,
}

impl Manifest {
    /// The one that is named, or else that of this folder or of the nearest above it.
    pub(super) fn read(named: Option<&Path>) -> Result<Manifest, Fault> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => nearest().ok_or(Fault::NoManifest)?,
        };
        let manifest = Manifest::at(path)?;
        if manifest.document.get("package").is_none() {
            return Err(Fault::NoPackage { path: manifest.path });
        }
        Ok(manifest)
    }

    fn at(path: PathBuf) -> Result<Manifest, Fault> {
        let text = fs::read_to_string(&path).map_err(|source| Fault::Read { path: path.clone(), source })?;
        match text.parse() {
            Ok(document) => Ok(Manifest { path, text, document }),
            Err(error) => Err(Fault::Toml { path, message: error.to_string().trim_end().to_owned() }),
        }
    }

    /// The package's folder.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The build script's path from the folder on; none where there is no such file yet.
    pub(super) fn build_script(&self) -> Result<String, Fault> {
        match self.package("build") {
            Some(Item::Value(Value::Boolean(said))) if !said.value() => {
                Err(Fault::NoBuildScript { path: self.path.clone() })
            }
            Some(Item::Value(Value::String(path))) => Ok(path.value().clone()),
            _ => Ok("build.rs".to_owned()),
        }
    }

    fn package(&self, key: &str) -> Option<&Item> {
        self.document.get("package")?.get(key)
    }

    /// The manifest above that has the package's shared settings.
    fn workspace(&self) -> Option<Manifest> {
        let folder = fs::canonicalize(self.folder()).ok()?;
        let all = folder.ancestors().map(|folder| folder.join("Cargo.toml")).filter(|path| path.is_file());
        all.filter_map(|path| Manifest::at(path).ok()).find(|manifest| manifest.document.contains_key("workspace"))
    }

    /// The edition, or that of the workspace.
    fn check_edition(&self) -> Result<(), Fault> {
        let text = |item: &Item| item.as_str().map(str::to_owned);
        let edition = match self.package("edition") {
            Some(item) if item.get("workspace").is_some() => self
                .workspace()
                .and_then(|above| text(above.document.get("workspace")?.get("package")?.get("edition")?)),
            Some(item) => text(item),
            None => None,
        };
        match edition.as_deref() {
            None | Some("2015") => Err(Fault::Edition { path: self.path.clone(), edition: "2015".to_owned() }),
            Some(_) => Ok(()),
        }
    }

    /// The manifests that change, each with its new text: the package's own, and that of the workspace where it says tch's
    /// version.
    pub(super) fn adopted(mut self, wishes: Wishes<'_>) -> Result<Vec<(PathBuf, String, String)>, Fault> {
        self.check_edition()?;
        let above = self.upgraded_tch(wishes.upgrade)?;
        let is_new = !self.document.contains_key("build-dependencies");
        add(&mut self.document, "dependencies", "fx-runtime", wishes.checkout)?;
        add(&mut self.document, "build-dependencies", "fx-passes", wishes.checkout)?;
        if is_new {
            keep_end(&mut self.document);
        }
        let all = [Some(self), above].into_iter().flatten();
        Ok(all.map(|manifest| (manifest.path, manifest.text, manifest.document.to_string())).collect())
    }

    /// Checks tch's version, and writes another where that is wished; yields the workspace's manifest where it holds it.
    fn upgraded_tch(&mut self, upgrade: bool) -> Result<Option<Manifest>, Fault> {
        let none = || Fault::NoTch { path: self.path.clone() };
        let places = ["dependencies", "dev-dependencies"];
        let place = places.into_iter().find(|place| tch_of(&self.document, &[place]).is_some()).ok_or_else(none)?;
        let own = tch_of(&self.document, &[place]).ok_or_else(none)?;
        if own.get("workspace").is_none() {
            settle(&mut self.document, &[place], &self.path, upgrade)?;
            return Ok(None);
        }
        let missing = || Fault::NoWorkspaceTch { path: self.path.clone() };
        let mut above = self.workspace().ok_or_else(missing)?;
        let place = ["workspace", "dependencies"];
        tch_of(&above.document, &place).ok_or_else(missing)?;
        // A package that is its own workspace is one file.
        if fs::canonicalize(&self.path).is_ok_and(|path| path == above.path) {
            settle(&mut self.document, &place, &self.path, upgrade)?;
            return Ok(None);
        }
        settle(&mut above.document, &place, &above.path, upgrade)?;
        Ok(Some(above))
    }
}

fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("Cargo.toml")).find(|path| path.is_file())
}

fn tch_of<'d>(document: &'d DocumentMut, place: &[&str]) -> Option<&'d Item> {
    place.iter().try_fold(document.as_item(), |item, key| item.get(key))?.get("tch")
}

/// Refuses a requirement that fx's version of tch does not meet, or writes that version in its place.
fn settle(document: &mut DocumentMut, place: &[&str], path: &Path, upgrade: bool) -> Result<(), Fault> {
    // Both are one library in two crates.
    ["tch", "torch-sys"].into_iter().try_for_each(|name| settle_one(document, place, name, (path, upgrade)))
}

fn settle_one(
    document: &mut DocumentMut,
    place: &[&str],
    name: &str,
    (path, upgrade): (&Path, bool),
) -> Result<(), Fault> {
    let known = Version::new(0, 24, 0);
    let item = place.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
    let Some(item) = item.and_then(|table| table.get_mut(name)).filter(|item| !item.is_none()) else { return Ok(()) };
    let written = item.as_str().or_else(|| item.get("version").and_then(Item::as_str));
    let elsewhere = ["path", "git"].into_iter().find(|key| item.get(key).is_some());
    let fits = written.is_some_and(|text| VersionReq::parse(text).is_ok_and(|wanted| wanted.matches(&known)));
    if fits && elsewhere.is_none() {
        return Ok(());
    }
    let found = match (elsewhere, written) {
        (Some(key), _) => format!("by `{key}`"),
        (None, Some(text)) => text.to_owned(),
        (None, None) => "of no version".to_owned(),
    };
    if !upgrade {
        return Err(Fault::TchVersion { path: path.to_owned(), found, known: TCH });
    }
    let version = format!("={TCH}");
    match item.as_table_like_mut() {
        None => *item = value(version),
        Some(table) => {
            for key in ["path", "git", "branch", "rev", "tag"] {
                table.remove(key);
            }
            table.insert("version", value(version));
        }
    }
    Ok(())
}

/// Puts what stands at the end of the file before the new last table, so that comments stay behind what they stood behind.
fn keep_end(document: &mut DocumentMut) {
    let end = document.trailing().as_str().unwrap_or_default().to_owned();
    if let Some(table) =
        document.get_mut("build-dependencies").and_then(Item::as_table_mut).filter(|_| end.contains('#'))
    {
        table.decor_mut().set_prefix(format!("{end}\n"));
        document.set_trailing("");
    }
}

/// Adds a dependency on one of fx's crates, unless there is one.
fn add(document: &mut DocumentMut, place: &str, name: &str, checkout: Option<&Path>) -> Result<(), Fault> {
    let table = document.entry(place).or_insert_with(|| Item::Table(Table::new()));
    let Some(table) = table.as_table_like_mut().filter(|table| !table.contains_key(name)) else { return Ok(()) };
    table.insert(name, dependency(name, checkout)?);
    Ok(())
}

fn dependency(name: &str, checkout: Option<&Path>) -> Result<Item, Fault> {
    let Some(checkout) = checkout else { return Ok(value(OURS)) };
    let missing = || Fault::NoCheckout { path: checkout.to_owned() };
    let folder = fs::canonicalize(checkout.join(name)).map_err(|_| missing())?;
    if !folder.join("Cargo.toml").is_file() {
        return Err(missing());
    }
    let mut table = InlineTable::new();
    table.insert("path", folder.display().to_string().into());
    Ok(Item::Value(Value::InlineTable(table)))
}
