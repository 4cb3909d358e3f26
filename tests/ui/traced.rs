//! Cases that need a build script: each becomes a crate with a user's build.rs, and has to be told exactly the words
//! beside it, faults and warnings; `UPDATE_EXPECT=1` writes them anew.
#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use expect_test::expect_file;

const BUILD_SCRIPT: &str = "fn main() {\n    fx_passes::Build::new().run()\n}\n";

#[test]
fn cases() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = cases_in(&ui.join("traced"));
    assert!(!cases.is_empty());
    let workspace = workspace(&cases);
    for case in cases {
        let stderr = case.with_extension("stderr");
        expect_file![stderr].assert_eq(&check(&workspace, &name(&case)));
    }
}

fn cases_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of cases");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut cases: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "rs")).collect();
    cases.sort();
    cases
}

fn name(case: &Path) -> String {
    case.file_stem().expect("a file name").to_string_lossy().into_owned()
}

/// Writes a workspace of its own with a crate for each case.
fn workspace(cases: &[PathBuf]) -> PathBuf {
    let root = root();
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traced");
    let members: Vec<String> = cases.iter().map(|case| format!("{:?}", name(case))).collect();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the repository's manifest");
    // With the same profiles the dependencies that are built already serve here too; those of one package are not for these.
    let sections = manifest.split("\n[").filter(|one| one.starts_with("profile.") && !one.contains(".package."));
    let profiles: String = sections.map(|section| format!("[{section}\n")).collect();
    write(
        &workspace.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n{profiles}", members.join(", ")),
    );
    if let Ok(lock) = fs::read_to_string(root.join("Cargo.lock")) {
        write(&workspace.join("Cargo.lock"), &lock);
    }
    for case in cases {
        let krate = workspace.join(name(case));
        write(&krate.join("Cargo.toml"), &case_manifest(root, &name(case)));
        write(&krate.join("build.rs"), BUILD_SCRIPT);
        write(&krate.join("src/main.rs"), &fs::read_to_string(case).expect("the case"));
    }
    workspace
}

/// The repository's folder.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tests lie in the repository")
}

fn case_manifest(root: &Path, name: &str) -> String {
    let (passes, runtime) = (root.join("fx-passes"), root.join("tests/ui"));
    format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\nfx-runtime = {{ package = \"fx-ui-tests\", path = '{}' }}\n\n\
         [build-dependencies]\nfx-passes = {{ path = '{}' }}\n",
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

/// What a user of the crate is told.
fn check(workspace: &Path, case: &str) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--color=never", "--package", case, "--target-dir"])
        .arg(target)
        .current_dir(workspace)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr).replace(&format!("{case}/src/main.rs"), &format!("{case}.rs"));
    let told = told.replace(&root().to_string_lossy().into_owned(), "..");
    let told: Vec<String> = told.lines().map(without_out_dir).collect();
    let told = told.join("\n");
    // What follows counts the errors.
    let told = told.split("error: could not compile").next().unwrap_or_default();
    let warning = format!("warning: {case}@");
    // Cargo shows the build script's warnings a second time where the crate does not compile.
    let warnings: BTreeSet<&str> = told.lines().filter(|line| line.starts_with(&warning)).collect();
    let is_more = |line: &&str| !line.starts_with(&warning) && !is_progress(line);
    let errors: Vec<&str> = told.lines().filter(is_more).collect();
    let errors = errors.join("\n");
    let of_the_case = errors.trim().split("\n\n").filter(|one| !one.is_empty() && !is_elsewhere(one));
    let told: Vec<&str> = warnings.into_iter().chain(of_the_case).collect();
    assert!(!told.is_empty(), "`{case}` is told nothing");
    format!("{}\n", told.join("\n\n"))
}

/// A line without the name of the folder that cargo has chosen for what the build script writes.
fn without_out_dir(line: &str) -> String {
    match (line.find("(all: "), line.find("/fx/report.txt)")) {
        (Some(start), Some(end)) if start < end => format!("{}(all: $OUT_DIR{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    }
}

/// Whether it is one of the lines in which cargo says what it is at: a verb that ends in the twelfth column.
fn is_progress(line: &str) -> bool {
    let verb = line.get(..12).map(str::trim_start).unwrap_or_default();
    line.get(12..13) == Some(" ") && !verb.is_empty() && verb.chars().all(char::is_alphabetic)
}

/// Is the message about a crate that the case depends on? Cargo shows the warnings of those that lie beside it.
fn is_elsewhere(message: &str) -> bool {
    let place = message.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
    place.is_some_and(|place| place.starts_with(".."))
}
