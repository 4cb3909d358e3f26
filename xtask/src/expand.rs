//! `cargo xtask expand`: prints the code that an example's build script generated.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, output};

/// What `expand` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The package whose generated code is printed.
    #[arg(default_value = "resnet18")]
    package: String,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    let args = ["check", "--package", &options.package, "--message-format=json-render-diagnostics"];
    let messages = output(&mut libtorch.cargo(workspace, &args))?;
    let folder = out_dir(&String::from_utf8_lossy(&messages), &options.package).ok_or_else(|| no_code(options))?;
    let folder = folder.join("fx");
    let mut files = rust_files(&folder).map_err(|_| no_code(options).looked(format!("in `{}`", folder.display())))?;
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| Failure::file("read", &file, &error))?;
        let name = file.strip_prefix(&folder).unwrap_or(&file);
        writeln!(std::io::stdout(), "// {}\n{text}", name.display())
            .map_err(|error| Failure::new("cannot print").looked(error.to_string()))?;
    }
    Ok(())
}

/// The folder that the package's build script wrote to, from cargo's messages.
fn out_dir(messages: &str, package: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "build-script-executed")
        .filter(|message| message["package_id"].as_str().is_some_and(|id| is_package(id, package)))
        .find_map(|message| Some(PathBuf::from(message["out_dir"].as_str()?)))
}

/// Whether a package id (`path+file:///…/resnet18#0.1.0`, `…/dir#name@0.1.0`) is that of `package`.
fn is_package(id: &str, package: &str) -> bool {
    let Some((url, fragment)) = id.rsplit_once('#') else {
        return false;
    };
    match fragment.split_once('@') {
        Some((name, _)) => name == package,
        None => url.rsplit('/').next() == Some(package),
    }
}

fn rust_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn no_code(options: &Options) -> Failure {
    Failure::new(format!("no code was generated for `{}`", options.package))
        .looked("looked for the folder `fx` in the OUT_DIR of its build script")
        .help("its build.rs should read `fn main() { fx_passes::Build::new().run() }`")
}

#[cfg(test)]
mod tests {
    use super::{is_package, out_dir};

    #[test]
    fn package_ids() {
        assert!(is_package("path+file:///x/examples/resnet18#0.1.0", "resnet18"));
        assert!(is_package("path+file:///x/tests#fx-tests@0.1.0", "fx-tests"));
        assert!(!is_package("path+file:///x/resnet180#0.1.0", "resnet18"));
    }

    #[test]
    fn finds_the_folder_among_messages() {
        let messages = "not json\n{\"reason\":\"build-script-executed\",\"package_id\":\"path+file:///a/b#0.1.0\",\"out_dir\":\"/o\"}";
        assert_eq!(out_dir(messages, "b"), Some("/o".into()));
        assert_eq!(out_dir(messages, "c"), None);
    }
}
