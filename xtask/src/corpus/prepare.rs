//! Makes of a crate as it was fetched what its recipe says. It happens in memory, so that no half of it is ever built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::mirror::{entries, write};
use super::recipe::{Edit, Glob, Preparation, Recipe};
use super::source;
use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

/// Contents by path, with `/` between names.
type Files = BTreeMap<String, Vec<u8>>;

/// Prepares the crate of that name below a folder, and returns where it lies.
pub(super) fn prepare(workspace: &Workspace, name: &str, recipe: &Recipe, home: &Path) -> Result<PathBuf> {
    let is_taken = |path: &str| is_kept(&recipe.prepare, path);
    let fetched = source::fetch(workspace, &recipe.source, &is_taken, &home.join("source"))?;
    let mut files = Files::new();
    read(&fetched, "", &mut files)?;
    let files = prepared(name, files, &recipe.prepare)?;
    let folder = home.join("prepared");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| Failure::file("remove", &folder, &error))?;
    }
    for (path, content) in files {
        write(&folder.join(path), content)?;
    }
    Ok(folder)
}

/// Reads all files of a folder.
fn read(folder: &Path, prefix: &str, files: &mut Files) -> Result<()> {
    for entry in entries(folder)? {
        let path = entry.path();
        let below = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{below}/"), files)?;
        } else if path.is_file() {
            let content = fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?;
            files.insert(below, content);
        }
    }
    Ok(())
}

/// The steps of a recipe, each of which must find what it is for.
fn prepared(name: &str, mut files: Files, steps: &Preparation) -> Result<Files> {
    for glob in steps.keep.iter().chain(&steps.remove) {
        if !files.keys().any(|path| glob.matches(path)) {
            return Err(stale(name, format!("`{}` names no file", glob.text), &files));
        }
    }
    files.retain(|path, _| is_kept(steps, path) && !is_any(&steps.remove, path));
    for (from, to) in &steps.moves {
        let content = files.remove(from).ok_or_else(|| stale(name, format!("there is no `{from}` to move"), &files))?;
        files.insert(to.0.clone(), content);
    }
    for edit in &steps.edits {
        apply(name, &mut files, edit)?;
    }
    files.extend(steps.files.iter().map(|(path, text)| (path.0.clone(), text.clone().into_bytes())));
    Ok(files)
}

fn is_kept(steps: &Preparation, path: &str) -> bool {
    steps.keep.is_empty() || is_any(&steps.keep, path)
}

fn is_any(globs: &[Glob], path: &str) -> bool {
    globs.iter().any(|glob| glob.matches(path))
}

fn apply(name: &str, files: &mut Files, edit: &Edit) -> Result<()> {
    let (mut has_file, mut has_match) = (false, false);
    for (_, content) in files.iter_mut().filter(|(path, _)| edit.files.matches(path)) {
        has_file = true;
        let Ok(text) = std::str::from_utf8(content) else { continue };
        if edit.find.0.is_match(text) {
            has_match = true;
            *content = edit.find.0.replace_all(text, edit.replace.as_str()).into_owned().into_bytes();
        }
    }
    if !has_file {
        return Err(stale(name, format!("`{}` names no file to edit", edit.files.text), files));
    }
    if !has_match {
        return Err(stale(name, format!("nothing in `{}` matches `{}`", edit.files.text, edit.find.0), files));
    }
    Ok(())
}

/// A step that does not fit the source.
fn stale(name: &str, said: String, files: &Files) -> Failure {
    let shown: Vec<&str> = files.keys().map(String::as_str).take(12).collect();
    Failure::new(format!("the recipe of `{name}` does not fit its source"))
        .looked(said)
        .looked(format!("of {} files: {}, ..", files.len(), shown.join(", ")))
        .help("an earlier step may have removed or changed it; else the recipe is for another commit or version")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::super::recipe::Recipe;
    use super::prepare;
    use crate::workspace::Workspace;

    /// Runs git in a folder, with an author of its own.
    fn git(folder: &Path, args: &[&str]) -> String {
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(folder).args(author).args(args).output().expect("git runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A repository with two commits, of which the first is meant.
    fn repository(folder: &Path) -> String {
        fs::create_dir_all(folder.join("src/deep")).expect("a folder");
        let files = [
            ("Cargo.toml", "theirs"),
            ("src/main.rs", "fn main() {}\n\nfn old(a: i64) {}\n"),
            ("src/deep/data.rs", ""),
            ("src/deep/net.rs", "use std::old;\n"),
            ("README.md", ""),
        ];
        for (path, text) in files {
            fs::write(folder.join(path), text).expect("a file");
        }
        git(folder, &["init", "--quiet"]);
        git(folder, &["add", "."]);
        git(folder, &["commit", "--quiet", "-m", "first"]);
        let commit = git(folder, &["rev-parse", "HEAD"]);
        fs::remove_file(folder.join("src/main.rs")).expect("a file");
        git(folder, &["commit", "--quiet", "-am", "second"]);
        commit
    }

    fn recipe(source: &str, steps: &str) -> Recipe {
        toml::from_str(&format!("{source}[prepare]\n{steps}")).expect(steps)
    }

    #[test]
    fn a_commit_becomes_a_crate() {
        let folder = tempfile::tempdir().expect("a folder");
        let (theirs, home) = (folder.path().join("theirs"), folder.path().join("home"));
        let commit = repository(&theirs);
        let source = format!("[source]\ngit = '{}'\ncommit = '{commit}'\n", theirs.display());
        let workspace = Workspace::of_this_build();
        let steps = r#"
            keep = ["Cargo.toml", "src/**"]
            remove = ["**/data.rs"]
            move = { "src/main.rs" = "src/lib.rs" }
            edit = [
                { files = "src/**/*.rs", find = '\bold\b', replace = "new" },
                { files = "src/lib.rs", find = '(?ms)^fn main\(.*?\}\n\n', replace = "" },
                { files = "src/lib.rs", find = '(\w+): i64', replace = "$1: f64" },
            ]
            files = { "Cargo.toml" = "ours", "src/own/mod.rs" = "mod a;" }
        "#;
        for _ in 0..2 {
            let found = prepare(&workspace, "nets", &recipe(&source, steps), &home).expect("it is prepared");
            let read = |path: &str| fs::read_to_string(found.join(path)).unwrap_or_else(|_| "none".to_owned());
            let paths = ["Cargo.toml", "src/lib.rs", "src/deep/net.rs", "src/own/mod.rs", "src/main.rs", "README.md"];
            let expected = ["ours", "fn new(a: f64) {}\n", "use std::new;\n", "mod a;", "none", "none"];
            assert_eq!(paths.map(read), expected);
            assert!(!found.join("src/deep/data.rs").exists() && !found.join(".git").exists());
        }
    }

    #[test]
    fn steps_that_find_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (theirs, home) = (folder.path().join("theirs"), folder.path().join("home"));
        let commit = repository(&theirs);
        let source = format!("[source]\ngit = '{}'\ncommit = '{commit}'\n", theirs.display());
        let workspace = Workspace::of_this_build();
        let rows = [
            (
                "edit = [{ files = 'src/*.rs', find = 'nowhere', replace = '' }]",
                "nothing in `src/*.rs` matches `nowhere`",
            ),
            ("edit = [{ files = 'lib/*.rs', find = 'a', replace = '' }]", "`lib/*.rs` names no file to edit"),
            ("remove = ['lib/**']", "`lib/**` names no file"),
            ("keep = ['src/**']\nmove = { 'README.md' = 'a' }", "there is no `README.md` to move"),
        ];
        for (steps, expected) in rows {
            let failure = prepare(&workspace, "nets", &recipe(&source, steps), &home).expect_err(steps).to_string();
            assert!(failure.contains(expected) && failure.contains("the recipe of `nets`"), "{failure}");
            assert!(!home.join("prepared").exists(), "{steps}");
        }
        let missing = source.replace(&commit, &"0".repeat(40));
        let failure = prepare(&workspace, "nets", &recipe(&missing, ""), &home).expect_err("no commit").to_string();
        assert!(failure.contains("cannot fetch 000") && failure.contains("insteadOf"), "{failure}");
    }
}
