//! The files of the program: a Cargo.toml with the user's own versions, and a `main` of one call.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Cargo;
use super::workspace::{Package, Workspace};
use crate::failure::Failure;

/// The name of the program's package.
pub(super) const NAME: &str = "fx-driver";

/// The files by their paths.
pub(super) struct Files {
    files: Vec<(&'static str, String)>,
}

/// What the program is of: the model's path, and the expression that constructs it.
pub(super) fn files(
    workspace: &Workspace,
    package: &Package,
    cargo: &Cargo,
    (path, expression): &(&String, &String),
) -> Result<Files, Failure> {
    let runtime = workspace.dependency(package, "fx_runtime");
    let runtime = runtime.ok_or_else(|| Failure::NoRuntime { package: package.name.clone() })?;
    let library = package.library().unwrap_or_else(|| package.name.clone());
    let features: Vec<String> = cargo.features.iter().map(|feature| quoted(feature)).collect();
    let mut dependencies = format!(
        "{} = {{ {}, features = [{}], default-features = {} }}\n",
        package.name,
        place(package),
        features.join(", "),
        !cargo.no_default_features
    );
    // The expression may name both.
    for (name, package) in [("fx-runtime", Some(runtime)), ("tch", workspace.dependency(package, "tch"))] {
        if let Some(package) = package.filter(|package| package.name == name) {
            let _ = writeln!(dependencies, "{name} = {{ {} }}", place(package));
        }
    }
    let manifest = format!(
        "# Written by `cargo fx`, anew each time.\n[package]\nname = \"{NAME}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         publish = false\n\n[dependencies]\n{dependencies}\n[workspace]\n\n{}",
        profiles(&workspace.root)
    );
    // `?` takes any error, and the type of `p` is known to the expression.
    let main = format!(
        "//! Constructs `{path}` of the crate `{library}`.\n#![allow(unused)]\n\nuse {path};\n\n\
         fn main() -> std::process::ExitCode {{\n    fx_runtime::command(|p| {{\n        \
         let model = {expression};\n        Ok(model.graph_module()?)\n    }})\n}}\n"
    );
    let mut files = vec![("Cargo.toml", manifest), ("src/main.rs", main)];
    if let Ok(lock) = fs::read_to_string(workspace.root.join("Cargo.lock")) {
        files.push(("Cargo.lock", lock));
    }
    Ok(Files { files })
}

impl Files {
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        for (name, text) in &self.files {
            let path = folder.join(name);
            let cannot = |source| Failure::Write { path: path.clone(), source };
            fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(cannot)?;
            // What is as it was is left alone, so that Cargo sees no change.
            if fs::read_to_string(&path).is_ok_and(|known| known == *text) {
                continue;
            }
            fs::write(&path, text).map_err(cannot)?;
        }
        Ok(())
    }
}

/// Where a package is from, as a dependency says it.
fn place(package: &Package) -> String {
    let git = package.source.as_deref().and_then(|source| source.strip_prefix("git+"));
    match (&package.source, git) {
        (None, _) => format!("path = {}", quoted(&package.folder().display().to_string())),
        (Some(_), Some(git)) => {
            let (url, revision) = git.split_once('#').unwrap_or((git, ""));
            let url = url.split('?').next().unwrap_or(url);
            format!("git = {}, rev = {}", quoted(url), quoted(revision))
        }
        (Some(_), None) => format!("version = {}", quoted(&format!("={}", package.version))),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The tables `[profile..]` of the outermost Cargo.toml: with others everything would be compiled twice.
fn profiles(root: &Path) -> String {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    profiles_of(&manifest)
}

fn profiles_of(manifest: &str) -> String {
    let mut kept = String::new();
    let mut is_profile = false;
    for line in manifest.lines() {
        if line.trim_start().starts_with('[') {
            is_profile = line.trim_start().starts_with("[profile");
        }
        if is_profile {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{profiles_of, quoted};

    #[test]
    fn profiles_alone_are_kept() {
        let manifest = "[package]\nname = \"a\"\n[profile.dev]\ndebug = 0\n\n[lints]\nworkspace = true\n[profile.release.build-override]\nopt-level = 2\n";
        assert_eq!(
            profiles_of(manifest),
            "[profile.dev]\ndebug = 0\n\n[profile.release.build-override]\nopt-level = 2\n"
        );
    }

    #[test]
    fn paths_of_windows_are_strings() {
        assert_eq!(quoted(r#"C:\a "b""#), r#""C:\\a \"b\"""#);
    }
}
