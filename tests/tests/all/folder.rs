//! A folder of one test, and the crates that lie in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder of one test, removed at its end.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("the folder is made"))
    }

    /// A path in it.
    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }
}

/// Every file below `root`, by its path from there, with its bytes.
pub(crate) fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("it lies below").to_string_lossy().into_owned();
            found.insert(name, fs::read(&path).expect("the file"));
        }
    }
    found
}

/// Copies the sources of the crate in `from`, which is all that a build script reads.
pub(crate) fn copy_sources(from: &Path, to: &Path) {
    for (name, bytes) in files(&from.join("src")) {
        let path = to.join("src").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        fs::write(path, bytes).expect("the file is written");
    }
}

/// A crate of the workspace: `tests`, `examples/resnet18`.
pub(crate) fn of_workspace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join(name)
}
