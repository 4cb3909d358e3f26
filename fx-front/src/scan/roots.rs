//! The root files of a package's crates.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders that hold the roots of a package's crates.
pub const FOLDERS: [&str; 4] = ["src", "examples", "tests", "benches"];

/// The root files of the package's crates, in a fixed order.
pub fn roots(root: &Path) -> Vec<PathBuf> {
    let fixed = ["src/lib.rs", "src/main.rs"].into_iter().map(PathBuf::from).filter(|path| root.join(path).is_file());
    let mut all: Vec<PathBuf> = fixed.collect();
    for folder in ["src/bin", "examples", "tests", "benches"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(PathBuf::from(folder).join(entry.ok()?.file_name())))
            .filter_map(|path| {
                let is_source = path.extension().is_some_and(|extension| extension == "rs");
                let nested = path.join("main.rs");
                if is_source { Some(path) } else { root.join(&nested).is_file().then_some(nested) }
            })
            .collect();
        found.sort();
        all.extend(found);
    }
    all
}
