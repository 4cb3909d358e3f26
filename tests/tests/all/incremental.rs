//! Cargo runs the build script again exactly when a source has changed, and rewrites only the files that differ.
//!
//! A crate of its own is built by Cargo. rustc leaves its models out, since they would need libtorch; the build script
//! reads them all the same, and it is the build script that is in question.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use fx_passes::Build;

use crate::folder::{Folder, of_workspace};

const BUILD_SCRIPT: &str = "fn main() {\n    fx_passes::Build::new().run()\n}\n";
const LIB: &str = "//! A crate.\n#[cfg(any())]\nmod net;\n";
const NET: &str = "use fx_runtime::{Module, Tensor, nn, traceable};\nmod layers;\n\n\
                   #[derive(Debug, Module)]\npub struct Net {\n    fc: nn::Linear,\n}\n\n\
                   #[traceable]\nimpl Net {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        \
                   self.fc.forward(xs).relu()\n    }\n}\n";
const LAYERS: &str = "use fx_runtime::{Module, Tensor, nn, traceable};\n\n\
                      #[derive(Debug, Module)]\npub struct Head {\n    fc: nn::Linear,\n}\n\n\
                      #[traceable]\nimpl Head {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        \
                      self.fc.forward(xs)\n    }\n}\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    fs::write(path, text).expect("the file is written");
}

/// A package with a model in `src/net.rs` and one in `src/net/layers.rs`.
fn package(root: &Path) {
    write(&root.join("build.rs"), BUILD_SCRIPT);
    write(&root.join("src/lib.rs"), LIB);
    write(&root.join("src/net.rs"), NET);
    write(&root.join("src/net/layers.rs"), LAYERS);
}

/// The package with a manifest that shares the workspace's profiles and versions, so that what is built serves here too.
fn cargo_package() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("incremental");
    let manifest = fs::read_to_string(of_workspace("Cargo.toml")).expect("the workspace's manifest");
    let profiles = manifest.find("[profile").map_or("", |at| &manifest[at..]);
    let passes = of_workspace("fx-passes");
    write(
        &root.join("Cargo.toml"),
        &format!(
            "[package]\nname = \"fx-incremental\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[build-dependencies]\n\
             fx-passes = {{ path = '{}' }}\n\n[workspace]\nresolver = \"3\"\n\n{profiles}",
            passes.display()
        ),
    );
    if let Ok(lock) = fs::read_to_string(of_workspace("Cargo.lock")) {
        write(&root.join("Cargo.lock"), &lock);
    }
    package(&root);
    root
}

/// Builds, and says whether the build script ran.
fn build(root: &Path) -> bool {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--verbose", "--offline", "--color=never", "--target-dir"])
        .arg(target)
        .current_dir(root)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    told.lines().any(|line| {
        line.contains("Running") && line.contains("/fx-incremental-") && line.contains("build-script-build")
    })
}

/// Does a build leave the build script alone? One that somebody edits fx beside does not, so that it is tried again.
fn rests(root: &Path) -> bool {
    (0..3).any(|_| !build(root))
}

#[test]
fn cargo_runs_the_build_script_when_a_source_changed() {
    let root = cargo_package();
    build(&root);
    assert!(rests(&root), "nothing changed");
    for file in ["src/net.rs", "src/net/layers.rs", "src/lib.rs"] {
        let path = root.join(file);
        let text = fs::read_to_string(&path).expect("the source");
        // Cargo compares times in whole seconds on some file systems.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        write(&path, &format!("{text}// changed\n"));
        assert!(build(&root), "`{file}` changed");
        assert!(rests(&root), "nothing changed since `{file}`");
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    write(&root.join("README.md"), "not a source\n");
    assert!(rests(&root), "no source changed");
}

/// When each file below `out` was written.
fn times(out: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let entries = fs::read_dir(out.join("fx")).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| (path.clone(), fs::metadata(&path).and_then(|file| file.modified()).expect("a time"))).collect()
}

#[test]
fn only_what_differs_is_written() {
    let folder = Folder::new();
    let (root, out) = (folder.join("package"), folder.join("out"));
    package(&root);
    Build::new().generate(&root, &out);
    let before = times(&out);
    std::thread::sleep(std::time::Duration::from_millis(20));
    Build::new().generate(&root, &out);
    assert_eq!(times(&out), before);
    write(&root.join("src/net/layers.rs"), &LAYERS.replace("forward(xs)\n", "forward(xs).sigmoid()\n"));
    Build::new().generate(&root, &out);
    let changed: Vec<String> = times(&out)
        .into_iter()
        .filter(|(path, time)| before.get(path) != Some(time))
        .map(|(path, _)| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    // The report counts operations, and there is one more.
    assert_eq!(changed, ["Head.rs", "Head_graph.rs", "items", "report.txt"]);
}

#[test]
fn every_source_is_watched() {
    let folder = Folder::new();
    let root = folder.join("package");
    package(&root);
    write(&root.join("src/lib.rs"), "mod net;\n#[path = \"../beside/more.rs\"]\nmod more;\n");
    write(&root.join("beside/more.rs"), "//! More.\n");
    write(&root.join("examples/one.rs"), "fn main() {}\n");
    let told = Build::new().generate(&root, &folder.join("out"));
    let watched = |path: &str| format!("cargo::rerun-if-changed={path}");
    assert_eq!(told, ["build.rs", "src", "examples", "src/../beside/more.rs"].map(watched));
}
