//! Files that appear under their names when they are complete.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io};

/// Lets `write` make a file under another name in the same folder, which then gets its own name; several threads and
/// processes may do so at once. What is left of a failure is removed.
pub(crate) fn write_whole<E>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
    cannot_rename: impl FnOnce(io::Error) -> E,
) -> Result<(), E> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}-{}.partial", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let partial = Path::new(&partial);
    let written = write(partial).and_then(|()| fs::rename(partial, path).map_err(cannot_rename));
    if written.is_err() {
        // The first failure is the one to be told.
        let _ = fs::remove_file(partial);
    }
    written
}
