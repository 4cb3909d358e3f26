//! What is generated is a function of the sources: the same bytes in any folder, in any run, and no word of where or when.

use std::path::Path;

use fx_passes::Build;

use crate::folder::{Folder, copy_sources, files, of_workspace};

#[path = "../../passes.rs"]
mod passes;

/// Sources of the workspace, generated in a folder of any name and depth; yields what cargo is told, without the folder's
/// name: a warning says where the report lies.
fn generate(krate: &str, folder: &Path) -> Vec<String> {
    copy_sources(&of_workspace(krate), folder);
    let told = Build::new().generate(folder, &folder.join("out"));
    told.iter().map(|line| line.replace(folder.to_string_lossy().as_ref(), "")).collect()
}

#[test]
fn two_folders_give_the_same_bytes() {
    for krate in ["tests", "examples/resnet18", "examples/fusion_tutorial"] {
        let folder = Folder::new();
        let (here, there) = (folder.join("here"), folder.join("a/much/deeper/place"));
        let told = generate(krate, &here);
        assert_eq!(told, generate(krate, &there), "{krate}");
        let (warnings, told): (Vec<_>, Vec<_>) = told.into_iter().partition(|line| line.starts_with("cargo::warning="));
        assert_eq!(told, ["cargo::rerun-if-changed=build.rs", "cargo::rerun-if-changed=src"], "{krate}");
        assert!(warnings.iter().all(|line| line.contains("operations are not understood")), "{warnings:?}");
        let (first, second) = (files(&here.join("out/fx")), files(&there.join("out/fx")));
        assert!(first.contains_key("items") && first.len() > 3, "{krate}: {:?}", first.keys());
        assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>(), "{krate}");
        for (name, bytes) in &first {
            assert!(*bytes == second[name], "{krate}: `{name}` differs");
        }
    }
}

#[test]
fn nothing_tells_where_or_when_it_was_made() {
    let folder = Folder::new();
    let root = folder.join("package");
    generate("tests", &root);
    let year = 1970 + std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs() / 31_556_952;
    for (name, bytes) in files(&root.join("out/fx")) {
        let text = String::from_utf8(bytes).expect("text");
        for word in [root.to_string_lossy().as_ref(), env!("CARGO_MANIFEST_DIR"), "/tmp", "/home", &year.to_string()] {
            assert!(!text.contains(word), "`{name}` has `{word}`");
        }
        // What is included lies at `concat!(env!("OUT_DIR"), "/fx/..")`.
        // The word of the host operation that divides is no path either.
        let text = text.replace("\"/fx/", "").replace("\"/\"", "");
        assert!(!text.contains("\"/") && !text.contains("(/"), "`{name}` has an absolute path");
    }
}

/// Maps with another order in every instance would show here.
#[test]
fn many_runs_give_the_same_bytes() {
    let folder = Folder::new();
    let root = folder.join("package");
    copy_sources(&of_workspace("tests"), &root);
    let mut first = None;
    for run in 0..8 {
        let out = folder.join(&run.to_string());
        Build::new().generate(&root, &out);
        let found = files(&out);
        assert!(*first.get_or_insert_with(|| found.clone()) == found, "run {run} differs");
    }
}

#[test]
fn the_crate_itself_was_generated_so() {
    let folder = Folder::new();
    let root = folder.join("package");
    copy_sources(&of_workspace("tests"), &root);
    passes::build().generate(&root, &root.join("out"));
    let built = Path::new(env!("OUT_DIR")).join("fx");
    for (name, bytes) in files(&root.join("out/fx")) {
        assert!(std::fs::read(built.join(&name)).is_ok_and(|found| found == bytes), "`{name}` differs in OUT_DIR");
    }
}
