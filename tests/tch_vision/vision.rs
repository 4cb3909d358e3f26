//! tch's own vision models, with the lines changed that a user changes: all of each is understood, and frozen it computes
//! what tch's own computes.
//!
//! The sources are those of the `tch` that is built against. They become a crate of their own below the target folder.
#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

mod edits;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use edits::{EVERYWHERE, FILES};
use fx_passes::Build;
use serde_json::Value;

/// The models of `runner.rs`, by the names of their types.
const MODELS: [&str; 13] = [
    "Alexnet",
    "Convmixer",
    "Densenet121",
    "DinoVisionTransformer",
    "EfficientNet",
    "V3",
    "V2",
    "Resnet",
    "BottleneckResnet",
    "V10",
    "V11",
    "Vgg11",
    "Vgg11Bn",
];

#[test]
fn frozen_they_compute_what_tch_computes() {
    let package = package();
    let report = Build::new().report(&package);
    let told: Vec<String> = report.iter().map(ToString::to_string).collect();
    let is_whole = |name: &&str| report.iter().any(|one| one.name == **name && one.known > 0 && one.carried == 0);
    let partly: Vec<&str> = MODELS.into_iter().filter(|name| !is_whole(name)).collect();
    assert!(partly.is_empty(), "{partly:?} are not understood whole:\n{}", told.join("\n"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--color=never", "--target-dir"])
        .arg(target)
        .current_dir(&package)
        .output()
        .expect("cargo runs");
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{told}");
    assert!(output.status.success(), "{told}{errors}");
    // A batch of one image and one of two.
    assert_eq!(told.lines().count(), 2 * MODELS.len(), "{told}");
}

/// The repository's folder.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tests lie in the repository")
}

/// The sources of `tch::vision`.
fn vision() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let tch = packages.iter().find(|package| package["name"] == "tch").expect("tch is built against");
    let manifest = Path::new(tch["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a folder").join("src/vision")
}

/// Writes the crate.
fn package() -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tch_vision");
    let vision = vision();
    for (file, edits) in FILES {
        let mut source = fs::read_to_string(vision.join(format!("{file}.rs"))).expect("a source of tch's");
        for (from, to) in EVERYWHERE {
            source = source.replace(from, to);
        }
        for (from, to) in *edits {
            assert_eq!(source.matches(from).count(), 1, "`{from}` in `{file}.rs` of tch");
            source = source.replace(from, to);
        }
        write(&package.join("src").join(format!("{file}.rs")), &format!("#![allow(warnings)]\n{source}"));
    }
    write(&package.join("src/main.rs"), include_str!("runner.rs"));
    write(&package.join("build.rs"), "fn main() {\n    fx_passes::Build::new().run()\n}\n");
    write(&package.join("Cargo.toml"), &manifest());
    write(&package.join("Cargo.lock"), &fs::read_to_string(root().join("Cargo.lock")).expect("the lock file"));
    package
}

/// A manifest with the workspace's profiles, so that the dependencies that are built already serve here too.
fn manifest() -> String {
    let ours = fs::read_to_string(root().join("Cargo.toml")).expect("the repository's manifest");
    let sections = ours.split("\n[").filter(|one| one.starts_with("profile.") && !one.contains("fx-tests"));
    let profiles: String = sections.map(|section| format!("[{section}\n")).collect();
    let (runtime, passes) = (root().join("fx-runtime"), root().join("fx-passes"));
    format!(
        "[package]\nname = \"tch_vision\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\n\
         [dependencies]\nfx-runtime = {{ path = '{}' }}\ntch = \"=0.24.0\"\n\n\
         [build-dependencies]\nfx-passes = {{ path = '{}' }}\n\n[workspace]\nresolver = \"3\"\n\n{profiles}",
        runtime.display(),
        passes.display(),
    )
}

/// Writes what changed only, so that Cargo does not build the rest again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    fs::write(path, text).expect("the file is written");
}
