//! Writes all changes or none.

use std::fs;
use std::io;

use super::{Change, Fault, Plan};

impl Plan {
    /// Writes every file that changes; where one cannot be, those that were written are put back.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub(crate) fn write(&self) -> Result<(), Fault> {
        for change in &self.changes {
            check(change).map_err(|source| fault(change, source))?;
        }
        for (at, change) in self.changes.iter().enumerate() {
            if let Err(source) = fs::write(&change.path, &change.after) {
                self.changes.iter().take(at + 1).for_each(put_back);
                return Err(fault(change, source));
            }
        }
        Ok(())
    }
}

/// Whether the file can be written, without a change of it.
fn check(change: &Change) -> io::Result<()> {
    if change.is_new() {
        let folder = change.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        return folder.map_or(Ok(()), fs::create_dir_all);
    }
    fs::OpenOptions::new().append(true).open(&change.path).map(drop)
}

/// What cannot be put back either is left; the fault names the file that was in the way first.
fn put_back(change: &Change) {
    let _ = if change.is_new() { fs::remove_file(&change.path) } else { fs::write(&change.path, &change.before) };
}

fn fault(change: &Change, source: io::Error) -> Fault {
    Fault::Write { path: change.path.clone(), source }
}
