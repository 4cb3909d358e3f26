//! `cargo xtask ci`: what a change must pass, cheap steps first, stopping at the first that fails.

use std::process::Command;
use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Libtorch, Variant, nvrtc};
use crate::workspace::{Workspace, output, run as run_command};
use crate::{codegen, fuzz, tidy};

/// `ci` can be told nothing yet.
#[derive(clap::Args)]
pub(crate) struct Options {}

/// What the steps write below the checkout, libtorch included, with a third to spare.
const DISK_GIB: f64 = 6.0;

type Step = fn(&Workspace, &Libtorch) -> Result<()>;

const STEPS: &[(&str, Step)] = &[
    ("tidy", |workspace, _| tidy::check(workspace)),
    ("codegen --check", |workspace, libtorch| codegen::check(workspace, libtorch)),
    ("fmt", |workspace, _| run_command(&mut workspace.cargo(&["fmt", "--all", "--check", "--", "-l"]))),
    ("clippy", |workspace, libtorch| {
        let args = ["clippy", "--workspace", "--all-targets", "--no-deps", "--", "-D", "warnings"];
        run_command(&mut cargo(workspace, libtorch, &args))
    }),
    ("test", |workspace, libtorch| {
        let mut test = cargo(workspace, libtorch, &["test", "--workspace", "--no-fail-fast"]);
        match nvrtc::ensure(workspace, libtorch) {
            Ok(Some(library)) => run_command(test.env("FX_NVRTC", library)),
            Ok(None) => run_command(&mut test),
            Err(failure) => {
                eprintln!("note: without NVRTC no test compiles the kernels for GPUs: {failure}");
                run_command(&mut test)
            }
        }
    }),
    ("fuzz", |workspace, libtorch| fuzz::check(workspace, libtorch, &fuzz::Options::of_ci())),
    ("doc", |workspace, libtorch| {
        let mut doc = cargo(workspace, libtorch, &["doc", "--workspace", "--no-deps"]);
        // Links to private items are for those who read the documentation of the source itself.
        run_command(doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
    }),
];

pub(crate) fn run(workspace: &Workspace, _: &Options) -> Result<()> {
    let start = Instant::now();
    note_free_disk(workspace);
    let libtorch = timed("setup", || libtorch::ensure(workspace, Variant::Cpu))?;
    for (name, step) in STEPS {
        timed(name, || step(workspace, &libtorch))?;
    }
    eprintln!("ci: all {} steps passed in {} s", STEPS.len() + 1, start.elapsed().as_secs());
    Ok(())
}

/// A cargo command whose build is not built upon: what cargo keeps to compile the next change faster is gigabytes.
fn cargo(workspace: &Workspace, libtorch: &Libtorch, args: &[&str]) -> Command {
    let mut cargo = libtorch.cargo(workspace, args);
    cargo.env("CARGO_INCREMENTAL", "0");
    cargo
}

/// A full disk shows itself as a linker that dies of a bus error; said beforehand, it is understood. `df` tells, and
/// where there is none, nothing is said.
fn note_free_disk(workspace: &Workspace) {
    let free = output(Command::new("df").arg("-Pk").arg(&workspace.root)).ok().and_then(|told| {
        let told = String::from_utf8(told).ok()?;
        told.lines().nth(1)?.split_whitespace().nth(3)?.parse::<f64>().ok()
    });
    if let Some(free) = free.map(|kib| kib / f64::from(1 << 20)).filter(|free| *free < DISK_GIB) {
        let place = workspace.root.display();
        eprintln!("note: {free:.1} GiB are free at {place}, and a build from nothing takes up to {DISK_GIB} GiB");
    }
}

/// Runs one step, printing its name before and its time after.
fn timed<T>(name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("ci: {name}");
    let start = Instant::now();
    let outcome = step();
    let seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(value) => {
            eprintln!("ci: {name} passed in {seconds:.1} s");
            Ok(value)
        }
        Err(failure) => {
            eprintln!("{failure}");
            Err(Failure::new(format!("ci stopped: {name} failed after {seconds:.1} s")))
        }
    }
}
