//! What is run: `corpus.toml` in the folder of the crates, and the folders that it does not name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::{Failure, Result};

/// The file that says which models to construct.
pub(super) const FILE: &str = "corpus.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<Entry>,
    /// Features and the like, by crate.
    #[serde(default, rename = "crate")]
    crates: BTreeMap<String, Settings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "crate")]
    krate: String,
    #[serde(flatten)]
    model: Model,
}

/// How a crate is built.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The folder of the package within the crate's folder; by default that folder.
    pub(super) package: Option<String>,
    #[serde(default)]
    pub(super) features: Vec<String>,
    #[serde(default, rename = "no-default-features")]
    pub(super) no_default_features: bool,
    /// The repository and the commit, or whatever names the source, for the table.
    pub(super) source: Option<String>,
}

/// A model, and how it is constructed and called.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Model {
    /// The type by its path: `my_crate::models::Net`.
    #[serde(rename = "type")]
    pub(super) path: String,
    /// An expression that constructs it, where `p` is a `&nn::Path`; it may end in `?`.
    pub(super) new: String,
    /// Inputs `x0`, `x1`, ..: as `cargo fx --input` takes them, or `= ` and an expression.
    pub(super) inputs: Vec<String>,
    /// The call, of `model`; by default `model.forward(&x0, &x1, ..)`.
    pub(super) call: Option<String>,
    /// Paths that the expressions need: traits, configurations.
    #[serde(default, rename = "use")]
    pub(super) uses: Vec<String>,
    /// The frozen type, where it has another path than the model's with `Frozen` behind it.
    pub(super) frozen: Option<String>,
}

impl Model {
    /// The last name of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or(&self.path)
    }

    /// Its path from the crate on.
    pub(super) fn within(&self) -> &str {
        self.path.split_once("::").map_or(&self.path, |(_, path)| path)
    }

    /// The path of its frozen type.
    pub(super) fn frozen(&self) -> String {
        self.frozen.clone().unwrap_or_else(|| format!("{}Frozen", self.path))
    }

    /// The call of it, as Rust.
    pub(super) fn call(&self) -> String {
        let inputs: Vec<String> = (0..self.inputs.len()).map(|at| format!("&x{at}")).collect();
        self.call.clone().unwrap_or_else(|| format!("model.forward({})", inputs.join(", ")))
    }
}

/// A crate with the models of it that are run.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) settings: Settings,
    pub(super) models: Vec<Model>,
}

/// The crates of a folder, by name.
pub(super) fn read(folder: &Path) -> Result<Vec<Crate>> {
    let path = folder.join(FILE);
    let text = if path.exists() {
        fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?
    } else {
        String::new()
    };
    let file: File = toml::from_str(&text).map_err(|error| {
        Failure::new(format!("`{}` is no list of models", path.display())).looked(error.to_string())
    })?;
    let mut names: BTreeSet<String> = folders(folder)?;
    names.extend(file.model.iter().map(|entry| entry.krate.clone()));
    if names.is_empty() {
        return Err(Failure::new(format!("`{}` holds no crate", folder.display()))
            .looked(format!("looked for folders with a Cargo.toml, and for `{FILE}`"))
            .help("`[[model]]` tables in it name a crate, a type, how it is constructed, and its inputs"));
    }
    let of = |name: String| Crate {
        folder: folder.join(&name),
        settings: file.crates.get(&name).cloned().unwrap_or_default(),
        models: file.model.iter().filter(|entry| entry.krate == name).map(|entry| entry.model.clone()).collect(),
        name,
    };
    Ok(names.into_iter().map(of).collect())
}

fn folders(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    let is_crate = |entry: &fs::DirEntry| entry.path().join("Cargo.toml").is_file();
    Ok(entries.flatten().filter(is_crate).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::read;

    #[test]
    fn crates_and_their_models() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["listed", "other", "no-crate"] {
            fs::create_dir(folder.path().join(name)).expect("a folder in it");
        }
        for name in ["listed", "other"] {
            fs::write(folder.path().join(name).join("Cargo.toml"), "").expect("a manifest");
        }
        let list = "[crate.listed]\nfeatures = [\"tch\"]\n[[model]]\ncrate = \"listed\"\ntype = \"listed::a::Net\"\nnew = \"Net::new(p)\"\ninputs = [\"1x3\", \"2:i64\"]\n";
        fs::write(folder.path().join(super::FILE), list).expect("a list");
        let crates = read(folder.path()).expect("it is read");
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["listed", "other"]);
        assert_eq!(crates[0].settings.features, ["tch"]);
        let model = &crates[0].models[0];
        assert_eq!((model.within(), model.name()), ("a::Net", "Net"));
        assert_eq!((model.name(), model.call().as_str()), ("Net", "model.forward(&x0, &x1)"));
        assert_eq!(model.frozen(), "listed::a::NetFrozen");
        fs::write(folder.path().join(super::FILE), "[[model]]\ncrate = 1\n").expect("a list");
        assert!(read(folder.path()).is_err_and(|failure| failure.to_string().contains("is no list of models")));
    }
}
