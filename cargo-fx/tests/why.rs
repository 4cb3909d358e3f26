//! `cargo fx why` on the example ResNet-18.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn why(args: &[&str]) -> Output {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(env!("CARGO_BIN_EXE_cargo-fx")).current_dir(root).args(["fx", "why"]).args(args).output().unwrap()
}

/// What it prints, and how it ends.
fn told(args: &[&str]) -> (String, Option<i32>) {
    let output = why(args);
    let text = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    (String::from_utf8_lossy(text).into_owned(), output.status.code())
}

#[test]
fn near_misses_have_their_lines_and_reasons() {
    let (text, code) = told(&["relu_twice", "--model", "resnet18::ResNet18", "--rows", "3"]);
    assert_eq!(code, Some(1), "it applies nowhere: {text}");
    for part in [
        "activations.relu-twice: ",
        "x.relu().relu() => x.relu()",
        "`ResNet18`: applied nowhere, 9 near misses",
        "(src/model.rs:63): `add` is `add`, not `relu` (1 operation fits)",
        "and 6 more: `--rows 9`",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(!text.contains("`BasicBlock`"), "only the model that was asked about: {text}");
    let (text, _) = told(&["relu_twice", "--package", "resnet18", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["rules"][0]["name"], "activations.relu-twice");
    let models = json["models"].as_array().unwrap();
    let net = models.iter().find(|model| model["model"] == "ResNet18").unwrap();
    assert_eq!((&net["applied"], net["near"].as_array().unwrap().len()), (&0.into(), 9));
    assert_eq!(net["near"][0]["source"][0], "src/model.rs:102");
}

#[test]
fn names_that_are_not_there() {
    let (text, code) = told(&["relu-twise", "--package", "resnet18"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("there is no rule `relu-twise`; did you mean activations.relu-twice"), "{text}");
    assert!(text.contains("\n  norms.") && text.contains("\n  fold-batch-norm\n"), "all are listed: {text}");
    let (text, code) = told(&["relu-twice", "--model", "resnet18::Net"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("no `#[traceable]` model `Net`; its models are") && text.contains("ResNet18"), "{text}");
}

#[test]
fn a_pass_without_rules_is_told() {
    let (text, _) = told(&["fold_batch_norm", "--package", "resnet18"]);
    assert!(text.contains("a pass in Rust, without rules: `cargo fx view`"), "{text}");
}

#[test]
fn help() {
    let output = why(&["--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["Exit code: 0 the rule applied", "--json", "--rows <N>", "Examples:", "<RULE>"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}
