//! Fetches a crate as its authors have it: a commit of a repository by git, or a package of crates.io by Cargo.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::mirror::write;
use super::recipe::Source;
use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

/// Brings those files of a source below a folder that are taken, and returns where they lie.
pub(super) fn fetch(
    workspace: &Workspace,
    source: &Source,
    is_taken: &dyn Fn(&str) -> bool,
    folder: &Path,
) -> Result<PathBuf> {
    match source {
        Source::Git { url, commit } => checkout(url, commit, is_taken, folder).map_err(|said| {
            Failure::new(format!("cannot fetch {commit} of {url}")).looked(said).help(
                "if the repository is not reachable, git takes a copy elsewhere in its place after \
                 `git config --global url.COPY.insteadOf REPOSITORY`",
            )
        }),
        Source::Registry { package, version } => unpacked(workspace, package, version, &folder.join("registry")),
    }
}

/// Fetches the one commit, of its files only those that are taken, and what is there already not again.
fn checkout(
    url: &str,
    commit: &str,
    is_taken: &dyn Fn(&str) -> bool,
    folder: &Path,
) -> std::result::Result<PathBuf, String> {
    let (repository, tree) = (folder.join("git"), folder.join("tree"));
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(&tree).map_err(|error| error.to_string())?;
    let git = |args: &[&str], stdin: &str| git(&repository, &tree, args, stdin);
    if !repository.exists() {
        git(&["init", "--quiet"], "")?;
    }
    git(&["config", "remote.origin.url", url], "")?;
    if git(&["cat-file", "-e", &format!("{commit}^{{commit}}")], "").is_err() {
        git(&["fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", commit], "")?;
    }
    let paths = git(&["ls-tree", "-r", "-z", "--name-only", commit], "")?;
    let taken: Vec<&str> = paths.split_terminator('\0').filter(|path| is_taken(path)).collect();
    if !taken.is_empty() {
        let args = ["checkout", "--quiet", "--force", commit, "--pathspec-from-file=-", "--pathspec-file-nul"];
        git(&args, &taken.join("\0"))?;
    }
    Ok(tree)
}

/// Runs git and returns what it prints, or what it complains of.
fn git(repository: &Path, tree: &Path, args: &[&str], stdin: &str) -> std::result::Result<String, String> {
    let mut command = Command::new("git");
    command.env("GIT_DIR", repository).env("GIT_WORK_TREE", tree).env_remove("GIT_INDEX_FILE").current_dir(tree);
    // A link might lead out of the folder: it becomes a file with its target in it.
    command.env("GIT_LITERAL_PATHSPECS", "1").args(["-c", "core.symlinks=false", "-c", "core.autocrlf=false"]);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let told = |error: std::io::Error| format!("cannot run git: {error}");
    let mut child = command.spawn().map_err(told)?;
    if let Some(mut pipe) = child.stdin.take() {
        // What git does not read it need not: its status says whether that is an error.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let output = child.wait_with_output().map_err(told)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Asks Cargo for a package that needs the one in question: so it is downloaded, checked and unpacked, but not built.
fn unpacked(workspace: &Workspace, package: &str, version: &str, folder: &Path) -> Result<PathBuf> {
    let manifest = folder.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"corpus-source\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\n{package} = \"={version}\"\n[workspace]\n"
    );
    write(&manifest, &text)?;
    write(&folder.join("lib.rs"), "")?;
    let mut cargo = workspace.cargo(&["metadata", "--quiet", "--format-version", "1", "--manifest-path"]);
    let output = cargo.arg(&manifest).output();
    let output = output.map_err(|error| Failure::new("cannot start cargo").looked(error.to_string()))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let path = packages
        .filter(|found| found["name"] == package && found["version"] == version)
        .find_map(|found| found["manifest_path"].as_str());
    path.and_then(|path| Path::new(path).parent()).map(Path::to_owned).ok_or_else(|| {
        Failure::new(format!("cannot fetch {package} {version} from crates.io"))
            .looked(String::from_utf8_lossy(&output.stderr).trim())
            .help("correct `package` and `version` of the recipe, or fetch once with a network")
    })
}
