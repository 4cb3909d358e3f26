//! The program as a shell runs it: what it prints, writes, and ends with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use expect_test::expect;

fn sample(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fx-trace/tests/hta/traces");
    folder.join(format!("{name}.json.gz")).display().to_string()
}

fn fx(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-fx")).args(args).output().unwrap()
}

/// What it prints; it ends with 0.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = fx(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_table_and_two_charts() {
    let text = printed(&["fx", "diff", &sample("base"), &sample("changed"), "--iteration", "1010", "--device", "cpu"]);
    let head: Vec<&str> = text.lines().take(2).collect();
    expect![[r"
        base against changed
          1 and 1 iterations; times are means of one, without what runs inside"]]
    .assert_eq(&head.join("\n"));
    assert!(text.contains("names: 3 added, 1 deleted, 0 increased, 0 decreased, 4 unchanged"), "{text}");
    assert!(text.contains("Ops Count Comparison") && text.contains("Ops Duration Comparison"), "{text}");
}

/// The figures of HTA's documentation for its own pair of traces.
#[test]
fn as_hta() {
    let text = printed(&["diff", &sample("control"), &sample("test"), "--hta-compat", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 432);
    let lists = ["added", "deleted", "increased", "decreased", "unchanged"];
    let counts = lists.map(|list| json["ops_diff"][list].as_array().unwrap().len());
    assert_eq!(counts, [32, 138, 35, 65, 162]);
    assert_eq!(json["rows"][0]["name"], "## all2all_data:indices_weights ##");
    assert_eq!(json["rows"][0]["control"]["total_duration"], 34.0);
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (html, svg) = (path("diff.html"), path("diff.svg"));
    let (html_arg, svg_arg) = (html.display().to_string(), svg.display().to_string());
    printed(&["diff", &sample("control"), &sample("test"), "--html", &html_arg, "--svg", &svg_arg]);
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
    assert!(read(&html).contains("<h1>control against test</h1>"));
    assert!(read(&svg).contains("Ops Duration Comparison"));
    assert!(read(&path("diff-counts.svg")).contains("Ops Count Comparison"));
    let png = path("diff.png");
    let output = fx(&["diff", &sample("control"), &sample("test"), "--png", &png.display().to_string()]);
    if output.status.success() {
        for path in [&png, &path("diff-counts.png")] {
            assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"), "{}", path.display());
        }
    } else {
        assert!(String::from_utf8_lossy(&output.stderr).contains("has no fonts"));
    }
    let nowhere = path("none/diff.html").display().to_string();
    let output = fx(&["diff", &sample("base"), &sample("base"), "--html", &nowhere]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write `"));
}

#[test]
fn how_it_ends() {
    let code = |args: &[&str]| fx(args).status.code();
    let (base, changed) = (sample("base"), sample("changed"));
    assert_eq!(code(&["diff", &base, &changed]), Some(0));
    assert_eq!(code(&["diff", &base, &changed, "--fail-on-diff"]), Some(1));
    assert_eq!(code(&["diff", &base, &base, "--fail-on-diff"]), Some(0));
    assert_eq!(code(&["diff", &base, &base, "--fail-on-diff", "--hta-compat"]), Some(0));
    assert_eq!(code(&["diff", &base]), Some(2));
    assert_eq!(code(&["diff", &base, &base, "--iteration", "7"]), Some(2));
}

#[test]
fn faults_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.json").display().to_string();
    fs::write(&path, "{\"traceEvents\": [{\"ph\": \"X\"").unwrap();
    let output = fx(&["diff", &path, &sample("base")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap().replace(&path, "FILE");
    expect![[r"
        error: `FILE` ends at byte 27 inside the list of events, after 0 whole events: it was cut off while it was written or copied; write or copy it again
    "]]
    .assert_eq(&message);
    assert!(output.stdout.is_empty());
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["fx", "completions", shell]);
        assert!(
            script.contains("cargo-fx")
                && script.contains("hta-compat")
                && script.contains("view")
                && script.contains("why"),
            "{shell}: {script}"
        );
    }
    assert_eq!(fx(&["completions", "cmd"]).status.code(), Some(2));
}

/// A trace that cannot be read is told before anything is built.
#[test]
fn a_view_of_a_trace_that_is_not_there() {
    let output = fx(&["view", "--model", "my_crate::Net", "--trace", "none.json", "none.json"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: ") && message.contains("none.json"), "{message}");
    assert_eq!(fx(&["view", "--model", "my_crate::Net", "--trace", "one.json"]).status.code(), Some(2));
}

/// Every option is explained.
#[test]
fn help() {
    let text = printed(&["fx", "diff", "--help"]);
    for part in [
        "Examples:",
        "Exit code: 0 done",
        "--hta-compat\n          Compute",
        "Usage: cargo fx diff [OPTIONS] <CONTROL> <TEST>",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let text = printed(&["fx", "view", "--help"]);
    for part in ["--trace <CONTROL> <TEST>", "with 0 of them no times are shown", "needs no other file and no network"]
    {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}
