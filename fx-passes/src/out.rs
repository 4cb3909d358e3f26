//! All writing of files: nothing is touched that would not change.

use std::{collections::BTreeSet, fs, io, path::Path};

/// Writes `text` to `path` unless that is what is there already, so that nothing is rebuilt for no reason.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Removes the files of a folder that are not among these; folders stay.
pub(crate) fn keep(folder: &Path, files: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_kept = entry.file_name().to_str().is_some_and(|name| files.contains(name));
        if !is_kept && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
