//! The commands that look at a user's model, on the example ResNet-18, and what is told where there is none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fx(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-fx")).current_dir(folder).arg("fx").args(args).output().unwrap()
}

/// What it says of an error, with which it ends with 2.
#[track_caller]
fn error(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty() && stderr.starts_with("error: "), "{stderr}");
    stderr
}

/// A package without dependencies, with that file for its source.
fn package(name: &str, file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n");
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    let source = if file == "src/main.rs" { "fn main() {}" } else { "pub struct Net;" };
    fs::write(folder.path().join(file), source).unwrap();
    folder
}

#[test]
fn a_crate_that_is_not_there() {
    let folder = package("my-net", "src/lib.rs");
    let said = |args: &[&str]| error(&fx(folder.path(), args));
    assert!(said(&["graph", "--model", "Net"]).contains("`--model Net` names no crate"));
    let unknown = said(&["graph", "--model", "other::Net"]);
    assert!(unknown.contains("no package of `") && unknown.contains("has a library `other`; its libraries are my_net"));
    assert!(said(&["bench", "--model", "my_net::Net"]).contains("`my-net` does not depend on fx-runtime; add it"));
    assert!(said(&["report", "--package", "other"]).contains("no package `other`; the packages are my-net"));
    assert!(said(&["report"]).contains("no report was written for `my-net`; its build.rs should read"));
    let binary = package("tool", "src/main.rs");
    assert!(
        error(&fx(binary.path(), &["draw", "--model", "tool::Net"]))
            .contains("`tool` has no library; put the model into")
    );
    let empty = tempfile::tempdir().unwrap();
    let nowhere = error(&fx(empty.path(), &["graph", "--model", "a::B"]));
    assert!(nowhere.contains("could not find `Cargo.toml`"), "{nowhere}");
}

#[test]
fn a_crate_that_does_not_compile() {
    let folder = package("broken-net", "src/lib.rs");
    fs::write(folder.path().join("src/lib.rs"), "pub fn f() -> i64 { 0.5 }").unwrap();
    let said = error(&fx(folder.path(), &["report"]));
    assert!(said.contains("the crate `broken_net` does not compile:\n\nerror[E0308]: mismatched types"), "{said}");
}

/// The arguments with the page and two traces behind them.
fn with_traces(arguments: &[&str], page: &str, traces: [&str; 2]) -> Vec<String> {
    let more = [page, "--trace", traces[0], traces[1]];
    arguments.iter().chain(&more).map(|argument| (*argument).to_owned()).collect()
}

/// Slow where fx-runtime is not built yet for a program of its own.
#[test]
fn the_example() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let about = |command: &str, rest: &[&str]| {
        let model = [command, "--model", "resnet18::ResNet18", "--profile", "dev"];
        fx(&root, &[&model, rest].concat())
    };
    let printed = |output: Output, code: i32| {
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let new = ["--new", "ResNet18::new(p, 10)", "--input", "1x3x64x64"];
    let with = |more: &[&'static str]| [&new[..], more].concat();

    let graph: serde_json::Value = serde_json::from_str(&printed(about("graph", &with(&["--json"])), 0)).unwrap();
    assert_eq!(graph["name"], "ResNet18");
    let frozen = printed(about("graph", &with(&["--frozen", "--table"])), 0);
    assert!(frozen.contains("f32[1, 64, 32, 32]") && !frozen.contains("bn1"), "{frozen}");
    assert!(printed(about("draw", &with(&["--form", "dot"])), 0).starts_with("digraph"));
    assert!(
        printed(about("bench", &with(&["--rounds", "1", "--calls", "2"])), 0)
            .contains("times as fast, by the medians of 2")
    );
    assert!(printed(about("bisect", &with(&[])), 0).contains("all nodes agree"));
    assert!(printed(about("bisect", &with(&["--absolute", "0", "--relative", "0"])), 1).contains("fold-batch-norm"));

    let folder = tempfile::tempdir().unwrap();
    let trace = |name: &str| folder.path().join(name).display().to_string();
    let (eager, after) = (trace("eager.json.gz"), trace("frozen.json.gz"));
    let profile = |path: &str, more: &[&str]| {
        let rest = [&new[..], &["--runs", "2", "--trace", path], more].concat();
        printed(about("profile", &rest), 0)
    };
    assert!(profile(&eager, &[]).contains("`ResNet18`: 2 runs"));
    profile(&after, &["--frozen"]);
    let page = trace("diff.html");
    let diff = printed(fx(&root, &["diff", &eager, &after, "--html", &page, "--rows", "100"]), 0);
    assert!(diff.contains("conv1 (Conv + bn1 + relu) replaced conv1, bn1, relu: "), "{diff}");
    assert!(diff.contains("aten::batch_norm, 20 of them: "), "{diff}");
    assert!(fs::read_to_string(page).unwrap().contains("<li>bn1 by conv1 (Conv + bn1 + relu)</li>"));

    let page = trace("view.html");
    let view = with_traces(&with(&["--runs", "1", "-o"]), &page, [&eager, &after]);
    let said = printed(about("view", &view.iter().map(String::as_str).collect::<Vec<_>>()), 0);
    assert!(said.contains("71 nodes before the passes, 26 after"), "{said}");
    let text = fs::read_to_string(&page).unwrap();
    for part in [
        "let ys = self.bn2.forward(&self.conv2.forward(&ys));",
        ".run_add(&ys, &skip)",
        "<h1>eager against frozen</h1>",
    ] {
        assert!(text.contains(part), "`{part}` is not in the page");
    }
    let nowhere = error(&about("view", &with(&["--runs", "0", "-o", "/none/view.html"])));
    assert!(nowhere.contains("cannot write `/none/view.html`"), "{nowhere}");

    let parameters = trace("qparams.json");
    let quantized = printed(
        about(
            "quantize",
            &with(&["--batches", "2", "--output"]).iter().copied().chain([&*parameters]).collect::<Vec<_>>(),
        ),
        0,
    );
    let head = "calibrated on random values: the figures say nothing of real data; give some with `--data`\n25 values and 21 weights: ";
    assert!(
        quantized.starts_with(head) && quantized.contains("100.0 % of the FLOPs on codes of eight bits"),
        "{quantized}"
    );
    let accuracy = printed(
        about(
            "accuracy",
            &with(&["--batches", "2", "--keep", "2", "--qparams"])
                .iter()
                .copied()
                .chain([&*parameters])
                .collect::<Vec<_>>(),
        ),
        0,
    );
    assert!(accuracy.contains("layer4_1_conv2") && accuracy.contains("to leave in floats first: "), "{accuracy}");
    let other = about("accuracy", &["--new", "ResNet18::new(p, 11)", "--input", "1x3x64x64", "--qparams", &parameters]);
    assert!(error(&other).contains("has 10 scales along axis 0, the value is [11, 512]"));

    let mistake = error(&about("graph", &["--new", "ResNet18::new(p, 10, 3)"]));
    assert!(
        mistake.contains("cannot be constructed by `ResNet18::new(p, 10, 3)`") && mistake.contains("error[E0061]"),
        "{mistake}"
    );
    let shape = error(&about("bench", &["--new", "ResNet18::new(p, 10)", "--input", "1x4x8x8"]));
    assert!(shape.contains("at `conv1` (src/model.rs:102)"), "{shape}");
    let missing = error(&about("bench", &["--new", "ResNet18::new(p, 10)"]));
    assert!(missing.contains("give one `--input`"), "{missing}");
    let report = printed(fx(&root, &["report", "--package", "resnet18"]), 0);
    assert!(report.contains("`ResNet18` (src/model.rs:101): 43 of 43 operations understood"), "{report}");
    let expand = |rest: &[&str]| fx(&root, &[&["expand", "--package", "resnet18"], rest].concat());
    assert!(printed(expand(&[]), 0).lines().any(|item| item == "ResNet18"));
    assert!(printed(expand(&["ResNet18"]), 0).contains("pub struct ResNet18Frozen {"));
    assert!(printed(expand(&["ResNet18", "--graph"]), 0).contains("pub fn graph_module(&self)"));
    let unknown = error(&expand(&["ResNet19"]));
    assert!(unknown.contains("generated no `ResNet19`; it has: ") && unknown.contains("ResNet18"), "{unknown}");
}
