//! A frozen model needs no more memory than the model as written: the peak of a process that serves it, as Linux counts.
//!
//! Only memory of the process's own counts, not the pages of libtorch's code, of which each variant touches others. One
//! part in fifty is the noise of that count from run to run.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that fails may panic, and one that passes tells how far"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

/// The peak in MiB of a process that answers three calls, from when it was ready.
fn peak(model: &str, batch: u32, variant: &str) -> f64 {
    let mut process = Command::new(env!("CARGO_BIN_EXE_fx-bench"))
        .args(["--model", model, "--batch", &batch.to_string()])
        .env("FX_VARIANT", variant)
        // What is freed goes back at once, so that the count is of what is in use.
        .envs([("MALLOC_MMAP_THRESHOLD_", "65536"), ("MALLOC_ARENA_MAX", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("fx-bench starts");
    let mut answers = BufReader::new(process.stdout.take().expect("its answers"));
    let mut commands = process.stdin.take().expect("its commands");
    let mut answer = || answers.read_line(&mut String::new()).expect("an answer");
    answer();
    fs::write(format!("/proc/{}/clear_refs", process.id()), "5").expect("the peak is forgotten");
    writeln!(commands, "run 3").expect("a command");
    answer();
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).expect("its status");
    writeln!(commands, "quit").expect("a command");
    process.wait().expect("it ends");
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("the field");
        let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
        kib.expect("a number") / 1024.0
    };
    field("VmHWM:") - field("RssFile:")
}

#[test]
fn frozen_needs_no_more_than_eager() {
    // Without optimisation the weights of the larger models take a minute to make.
    let models: &[&str] = if cfg!(debug_assertions) {
        &["resnet18", "mobilenet_v2"]
    } else {
        &["resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2"]
    };
    for model in models {
        for batch in [1, 4] {
            let (frozen, eager) = (peak(model, batch, "frozen"), peak(model, batch, "eager"));
            assert!(frozen <= eager * 1.02, "{model}, batch {batch}: frozen {frozen:.0} MiB, eager {eager:.0} MiB");
            println!("{model}, batch {batch}: frozen {frozen:.0} MiB, eager {eager:.0} MiB");
        }
    }
}
