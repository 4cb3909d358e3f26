//! All writing of files: nothing is touched that would not change.

use std::{fs, io, path::Path};

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
