//! Copies of folders in which only what differs is written, so that Cargo sees no change where there is none.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};

/// What is not copied: what tools have made.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// Makes `to` what `from` is, but for builds and version control in it.
pub(super) fn mirror(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| Failure::file("make", to, &error))?;
    for entry in entries(to)? {
        let name = entry.file_name();
        if !from.join(&name).exists() && !LEFT_OUT.iter().any(|left| name == *left) {
            remove(&entry.path())?;
        }
    }
    for entry in entries(from)? {
        let (path, name) = (entry.path(), entry.file_name());
        if LEFT_OUT.iter().any(|left| name == *left) {
            continue;
        }
        let copy = to.join(&name);
        if path.is_dir() {
            mirror(&path, &copy)?;
            continue;
        }
        write(&copy, fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?)?;
    }
    Ok(())
}

/// Makes a package a workspace of its own where it is of none within its copy, since the copy lies inside of fx's.
pub(super) fn detach(copy: &Path, package: &Path) -> Result<()> {
    let has_workspace = |folder: &Path| {
        fs::read_to_string(folder.join("Cargo.toml"))
            .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")))
    };
    if package.ancestors().take_while(|folder| folder.starts_with(copy)).any(has_workspace) {
        return Ok(());
    }
    let path = package.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
    write(&path, format!("{text}\n[workspace]\n"))
}

/// Writes a file where it is another than before, and the folders around it.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content.as_ref()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))?;
    }
    fs::write(path, content).map_err(|error| Failure::file("write", path, &error))
}

/// What lies in a folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    Ok(entries.flatten().collect())
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(|error| Failure::file("remove", path, &error))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::mirror;

    #[test]
    fn only_what_differs_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for name in ["from/src", "from/target", "to/old"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder in it");
        }
        for (name, text) in [("from/src/a.rs", "a"), ("from/b", "b"), ("from/target/c", "c"), ("to/old/d", "d")] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        mirror(&from, &to).expect("a copy");
        let when = || fs::metadata(to.join("b")).and_then(|data| data.modified()).expect("a time");
        let first = when();
        fs::write(from.join("src/a.rs"), "other").expect("a file");
        mirror(&from, &to).expect("a copy");
        assert_eq!(when(), first);
        assert_eq!(fs::read_to_string(to.join("src/a.rs")).ok().as_deref(), Some("other"));
        assert!(!to.join("old").exists() && !to.join("target").exists());
    }
}
