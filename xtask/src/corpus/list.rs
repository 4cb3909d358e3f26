//! What is run: a folder's recipes (`NAME.toml`), or crates that lie in it, whose models `corpus.toml` names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::mirror::entries;
use super::recipe::{self, Recipe};
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
#[serde(deny_unknown_fields)]
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
    pub(super) origin: Origin,
    pub(super) settings: Settings,
    pub(super) models: Vec<Model>,
}

/// Where a crate comes from.
pub(super) enum Origin {
    /// A folder in which it lies as it is to be adopted.
    Folder(PathBuf),
    /// Elsewhere: it is fetched and prepared.
    Recipe(Box<Recipe>),
}

/// The crates of a folder, by name.
pub(super) fn read(folder: &Path) -> Result<Vec<Crate>> {
    let mut crates = recipes(folder)?;
    crates.extend(folders(folder)?);
    if crates.is_empty() {
        return Err(Failure::new(format!("`{}` holds no crate", folder.display()))
            .looked(format!("looked for recipes, for folders with a Cargo.toml, and for `{FILE}`"))
            .help("a recipe is a file `NAME.toml` that says where a crate is from and what its models are")
            .help(format!(
                "`[[model]]` tables in `{FILE}` name a crate, a type, how it is constructed, and its inputs"
            )));
    }
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(twice) = crates.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(Failure::new(format!("the crate `{}` is there twice", twice[0].name))
            .looked(format!("looked in `{}` for recipes and for folders", folder.display()))
            .help("rename the recipe or the folder"));
    }
    Ok(crates)
}

/// The crates that are fetched.
fn recipes(folder: &Path) -> Result<Vec<Crate>> {
    let paths = entries(folder)?.into_iter().map(|entry| entry.path());
    let is_recipe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        path.is_file() && path.extension().is_some_and(|it| it == "toml") && name != FILE && name != "Cargo.toml"
    };
    let of = |path: PathBuf| {
        let recipe = recipe::read(&path)?;
        Ok(Crate {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            settings: recipe.build.clone(),
            models: recipe.models.clone(),
            origin: Origin::Recipe(Box::new(recipe)),
        })
    };
    paths.filter(is_recipe).map(of).collect()
}

/// The crates that lie in the folder, and those that its list names.
fn folders(folder: &Path) -> Result<Vec<Crate>> {
    let path = folder.join(FILE);
    let text = if path.exists() {
        fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?
    } else {
        String::new()
    };
    let file: File = toml::from_str(&text).map_err(|error| {
        Failure::new(format!("`{}` is no list of models", path.display())).looked(error.to_string())
    })?;
    let is_crate = |entry: &fs::DirEntry| entry.path().join("Cargo.toml").is_file();
    let found = entries(folder)?.into_iter().filter(is_crate);
    let mut names: BTreeSet<String> = found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.extend(file.model.iter().map(|entry| entry.krate.clone()));
    let of = |name: String| Crate {
        origin: Origin::Folder(folder.join(&name)),
        settings: file.crates.get(&name).cloned().unwrap_or_default(),
        models: file.model.iter().filter(|entry| entry.krate == name).map(|entry| entry.model.clone()).collect(),
        name,
    };
    Ok(names.into_iter().map(of).collect())
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
        let recipe = "[source]\npackage = \"a\"\nversion = \"1.0.0\"\n[build]\nsource = \"a.rs\"\n[[model]]\ntype = \"a::N\"\nnew = \"a::N\"\ninputs = []\n";
        fs::write(folder.path().join("fetched.toml"), recipe).expect("a recipe");
        let crates = read(folder.path()).expect("it is read");
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["fetched", "listed", "other"]);
        assert_eq!((crates[0].settings.source.as_deref(), crates[0].models.len()), (Some("a.rs"), 1));
        fs::write(folder.path().join("other.toml"), recipe).expect("a recipe");
        assert!(read(folder.path()).is_err_and(|failure| failure.to_string().contains("`other` is there twice")));
        fs::write(folder.path().join("other.toml"), "").expect("a recipe");
        assert!(read(folder.path()).is_err_and(|failure| failure.to_string().contains("is no recipe of a crate")));
        fs::remove_file(folder.path().join("other.toml")).expect("a recipe");
        fs::write(folder.path().join(super::FILE), "[[model]]\ncrate = 1\n").expect("a list");
        assert!(read(folder.path()).is_err_and(|failure| failure.to_string().contains("is no list of models")));
    }
}
