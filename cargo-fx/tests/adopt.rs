//! `cargo fx adopt` on small crates: the files before and after, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "a snapshot is written where it is expected")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use expect_test::{Expect, expect};

fn cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/adopt")
}

fn adopt(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-fx")).current_dir(folder).args(["fx", "adopt"]).args(args).output().unwrap()
}

/// What it prints; it ends with 0.
#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = adopt(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What it says of an error, with which it ends with 2 and no file is changed.
#[track_caller]
fn refused(folder: &Path, args: &[&str], said: Expect) {
    let before = files(folder);
    let output = adopt(folder, args);
    assert_eq!(output.status.code(), Some(2));
    said.assert_eq(&String::from_utf8(output.stderr).unwrap().replace(&folder.display().to_string(), "CRATE"));
    assert_eq!(files(folder), before);
}

/// All files below a folder by their paths.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// A copy of files.
fn copied(files: &BTreeMap<String, String>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// The crate `package` of a case becomes what lies beside it; a second time nothing changes. Yields what is said.
#[track_caller]
fn check(case: &str, package: &str) -> String {
    let before = files(&cases().join(case).join("before"));
    let folder = copied(&before);
    let place = folder.path().join(package);
    let diff = printed(&place, &["--dry-run"]);
    assert_eq!(files(folder.path()), before, "a dry run writes nothing");
    let said = printed(&place, &[]);
    let after = files(folder.path());
    for (name, text) in &after {
        let shown =
            Path::new(name).strip_prefix(package).map_or(format!("../{name}"), |name| name.display().to_string());
        let is_told = diff.contains(&format!("+++ b/{shown}\n"));
        assert_eq!(is_told, before.get(name) != Some(text), "{name} in the diff:\n{diff}");
    }
    let golden = cases().join(case).join("after");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let _ = fs::remove_dir_all(&golden);
        for (name, text) in &after {
            fs::create_dir_all(golden.join(name).parent().unwrap()).unwrap();
            fs::write(golden.join(name), text).unwrap();
        }
    }
    let expected = files(&golden);
    assert_eq!(after.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, text) in &after {
        assert_eq!(text, &expected[name], "{name}");
    }
    assert_eq!(printed(&place, &[]), "nothing to do: the crate is adopted already\n");
    assert_eq!(files(folder.path()), after);
    said
}

#[test]
fn blocks_enums_and_closures() {
    expect![[r#"
        edited    Cargo.toml: dependencies
        edited    build.rs: the build's call of fx
        edited    src/blocks.rs: 2 × `tch::nn`, 3 × `Module`, 2 × `pub(crate)`
        edited    src/closures.rs: 6 × `tch::nn`, 1 × `Module`, 3 × `#[traceable]`
        edited    src/lib.rs: 2 × `tch::nn`, 1 × `Module`, 1 × `#[traceable]`
        traceable net (src/closures.rs:15)
        traceable head (src/closures.rs:22)
        traceable with_head (src/closures.rs:27)
        traceable Net (src/lib.rs:32)
        next: `cargo build`, then `cargo fx report` says what of each model is understood
    "#]]
    .assert_eq(&check("vision", ""));
}

#[test]
fn chains_of_closures_private_parts_and_exports() {
    expect![[r#"
        edited    Cargo.toml: dependencies
        wrote     build.rs: the build's call of fx
        edited    src/gates.rs: 1 × `tch::nn`, 2 × `Module`, 4 × `#[traceable]`
        edited    src/lib.rs: 1 × `pub use`
        edited    src/net/base.rs: 1 × `tch::nn`, 1 × `Module`, 1 × `#[traceable]`
        edited    src/net/mod.rs: 1 × `pub(crate)`, 1 × `pub use`
        edited    src/net/parts.rs: 1 × `tch::nn`, 5 × `Module`, 1 × `pub(crate)`
        edited    src/towers.rs: 1 × `tch::nn`, 1 × `#[traceable]`
        edited    src/wide.rs: 1 × `tch::nn`, 1 × `Module`, 1 × `#[traceable]`
        traceable Gates (src/gates.rs:9)
        traceable Gates (src/gates.rs:18)
        traceable Scales (src/gates.rs:30)
        traceable Scales (src/gates.rs:37)
        traceable Net (src/net/base.rs:16)
        traceable tower (src/towers.rs:9)
        traceable Wide (src/wide.rs:15)
        next: `cargo build`, then `cargo fx report` says what of each model is understood
    "#]]
    .assert_eq(&check("towers", ""));
}

#[test]
fn a_member_of_a_workspace() {
    expect![[r#"
        edited    Cargo.toml: dependencies
        wrote     build.rs: the build's call of fx
        edited    src/main.rs: 1 × `tch::nn`
        edited    src/policy.rs: 1 × `tch::nn`, 2 × `Module`, 1 × `#[traceable]`
        traceable Policy (src/policy.rs:24)
        next: `cargo build`, then `cargo fx report` says what of each model is understood
    "#]]
    .assert_eq(&check("member", "agent"));
}

#[test]
fn a_diff() {
    let folder = copied(&BTreeMap::from([
        ("Cargo.toml".to_owned(), manifest("0.24.0", "2021")),
        ("src/lib.rs".to_owned(), "use tch::nn;\n\npub struct Net(nn::Linear);\n".to_owned()),
    ]));
    // A snapshot keeps no space at the end of a line.
    let said: String =
        printed(folder.path(), &["--dry-run"]).lines().map(|line| [line.trim_end(), "\n"].concat()).collect();
    expect![[r#"
        --- a/Cargo.toml
        +++ b/Cargo.toml
        @@ -5,3 +5,7 @@
 
         [dependencies]
         tch = "0.24.0"
        +fx-runtime = "0.1"
        +
        +[build-dependencies]
        +fx-passes = "0.1"
        --- /dev/null
        +++ b/build.rs
        @@ -0,0 +1,3 @@
        +fn main() {
        +    fx_passes::Build::new().run()
        +}
        --- a/src/lib.rs
        +++ b/src/lib.rs
        @@ -1,3 +1,4 @@
        -use tch::nn;
        +use fx_runtime::nn;
 
        +#[derive(fx_runtime::Module)]
         pub struct Net(nn::Linear);
    "#]]
    .assert_eq(&said);
}

fn manifest(tch: &str, edition: &str) -> String {
    format!(
        "[package]\nname = \"net\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n\n[dependencies]\ntch = \"{tch}\"\n"
    )
}

/// A crate of one file.
fn package(manifest: &str, lib: &str) -> tempfile::TempDir {
    let files = [("Cargo.toml".to_owned(), manifest.to_owned()), ("src/lib.rs".to_owned(), lib.to_owned())];
    copied(&BTreeMap::from(files))
}

const NET: &str = "use tch::nn;\npub struct Net(nn::Linear);\n";

#[test]
fn another_tch() {
    let folder = package(&manifest("0.17", "2021"), NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` depends on tch 0.17, and fx works with tch 0.24.0: update the crate to it, or let `--upgrade-tch` write that version into the manifest and mend what does not compile then
    "#]],
    );
    printed(folder.path(), &["--upgrade-tch"]);
    let after = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
    assert!(after.contains("tch = \"=0.24.0\"\n") && after.contains("fx-runtime = \"0.1\"\n"), "{after}");
    let folder = package(
        &manifest("0.17", "2021").replace("\"0.17\"", "{ git = \"https://example.org/tch\", rev = \"1\" }"),
        NET,
    );
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` depends on tch by `git`, and fx works with tch 0.24.0: update the crate to it, or let `--upgrade-tch` write that version into the manifest and mend what does not compile then
    "#]],
    );
    printed(folder.path(), &["--upgrade-tch"]);
    assert!(fs::read_to_string(folder.path().join("Cargo.toml")).unwrap().contains("tch = { version = \"=0.24.0\" }"));
}

#[test]
fn what_is_in_the_way() {
    let folder = package(&manifest("0.24", "2021"), "use tch::nn;\n\nfn f( {}\n");
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: src/lib.rs:3: cannot parse string into token stream; no file was changed
    "#]],
    );
    let folder = package(&manifest("0.24", "2015"), NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` is of edition 2015, and fx writes code of edition 2018 and later: write `edition = "2021"`
    "#]],
    );
    let folder = package(&manifest("0.24", "2021").replace("tch =", "other ="), NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` does not depend on tch; fx compiles models that are written with it
    "#]],
    );
    let folder = package("[workspace]\nmembers = []\n", NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` is of a workspace and has no package; crates are adopted one by one: name the Cargo.toml of one by `--manifest-path`
    "#]],
    );
    let folder = package("[package\n", NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` is no TOML: TOML parse error at line 1, column 9
          |
        1 | [package
          |         ^
        unclosed table, expected `]`
    "#]],
    );
    let folder = package(&manifest("0.24", "2021").replace("edition", "build = false\nedition"), NET);
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: `CRATE/Cargo.toml` says `build = false`, and fx runs in a build script: remove that line
    "#]],
    );
    let folder = package(&manifest("0.24", "2021"), NET);
    fs::write(folder.path().join("build.rs"), "include!(\"other.rs\");\n").unwrap();
    refused(
        folder.path(),
        &[],
        expect![[r#"
        error: build.rs: there is no `fn main` with a body to call fx in; add `fx_passes::Build::new().run();` where the script begins
    "#]],
    );
    refused(
        folder.path(),
        &["--fx-path", "nowhere"],
        expect![[r#"
        error: `--fx-path nowhere` is no checkout of fx: it has no fx-runtime/Cargo.toml
    "#]],
    );
}

/// A checkout is named by its whole path, from wherever it was said.
#[test]
fn a_checkout() {
    let folder = package(&manifest("0.24", "2021"), NET);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    printed(folder.path(), &["--fx-path", &root.display().to_string()]);
    let after = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
    let path = root.canonicalize().unwrap().join("fx-runtime").display().to_string();
    assert!(after.contains(&format!("fx-runtime = {{ path = \"{path}\" }}")), "{after}");
}
