//! The user's workspace, as `cargo metadata` tells it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::Cargo;
use crate::failure::Failure;

/// Packages, and how they depend on each other.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    packages: Vec<Package>,
    #[serde(rename = "workspace_members")]
    members: Vec<String>,
    resolve: Option<Resolve>,
    /// The folder of the outermost Cargo.toml.
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// Where Cargo builds.
    pub(crate) target_directory: PathBuf,
}

/// A package.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// The registry or repository that it is from; none of a folder of this machine.
    pub(crate) source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    root: Option<String>,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    pkg: String,
}

impl Package {
    /// The folder of its Cargo.toml.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// What code calls its library, if it has one.
    pub(crate) fn library(&self) -> Option<String> {
        let is_library = |target: &&Target| target.kind.iter().any(|kind| kind == "lib" || kind == "rlib");
        self.targets.iter().find(is_library).map(|target| target.name.replace('-', "_"))
    }
}

/// Cargo itself: the one that runs us, or the one of the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Workspace {
    pub(crate) fn read(options: &Cargo) -> Result<Workspace, Failure> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]);
        if let Some(path) = &options.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        let output = command.output().map_err(|source| Failure::Start { program: "cargo".into(), source })?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            return Err(Failure::Cargo { what: "tell what this workspace holds".to_owned(), stderr });
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.members.contains(&package.id))
    }

    /// The member whose library has that name in code.
    pub(crate) fn library(&self, name: &str) -> Result<&Package, Failure> {
        if let Some(package) = self.members().find(|package| package.library().as_deref() == Some(name)) {
            return Ok(package);
        }
        let is_called = |package: &&Package| package.name.replace('-', "_") == name;
        if let Some(package) = self.members().find(is_called) {
            return Err(Failure::NoLibrary { package: package.name.clone() });
        }
        // Those with models, or all where there are none.
        let has_models = |package: &&Package| self.dependency(package, "fx_runtime").is_some();
        let mut libraries: Vec<String> = self.members().filter(has_models).filter_map(Package::library).collect();
        if libraries.is_empty() {
            libraries = self.members().filter_map(Package::library).collect();
        }
        Err(Failure::UnknownCrate { name: name.to_owned(), root: self.root.clone(), libraries })
    }

    /// The member of that name; without one that of the folder, or the only one.
    pub(crate) fn member(&self, name: Option<&str>) -> Result<&Package, Failure> {
        let root = self.resolve.as_ref().and_then(|resolve| resolve.root.as_deref());
        let found = match (name, root) {
            (Some(name), _) => self.members().find(|package| package.name == name),
            (None, Some(root)) => self.members().find(|package| package.id == root),
            (None, None) => self.members().next().filter(|_| self.members.len() == 1),
        };
        found.ok_or_else(|| Failure::UnknownPackage {
            name: name.map(str::to_owned),
            members: self.members().map(|package| package.name.clone()).collect(),
        })
    }

    /// What a package has under that name in its code.
    pub(crate) fn dependency(&self, of: &Package, name: &str) -> Option<&Package> {
        let nodes = &self.resolve.as_ref()?.nodes;
        let node = nodes.iter().find(|node| node.id == of.id)?;
        let id = &node.deps.iter().find(|dependency| dependency.name == name)?.pkg;
        self.packages.iter().find(|package| package.id == *id)
    }
}
