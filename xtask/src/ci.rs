//! `cargo xtask ci`: what a change must pass, cheap steps first, stopping at the first that fails.

use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Libtorch, Variant, nvrtc};
use crate::workspace::{Workspace, run as run_command};
use crate::{codegen, tidy};

/// `ci` can be told nothing yet.
#[derive(clap::Args)]
pub(crate) struct Options {}

type Step = fn(&Workspace, &Libtorch) -> Result<()>;

const STEPS: &[(&str, Step)] = &[
    ("tidy", |workspace, _| tidy::check(workspace)),
    ("codegen --check", |workspace, libtorch| codegen::check(workspace, libtorch)),
    ("fmt", |workspace, _| run_command(&mut workspace.plain_cargo(&["fmt", "--all", "--check", "--", "-l"]))),
    ("clippy", |workspace, libtorch| {
        let args = ["clippy", "--workspace", "--all-targets", "--no-deps", "--", "-D", "warnings"];
        run_command(&mut workspace.cargo(libtorch, &args))
    }),
    ("test", |workspace, libtorch| {
        let mut test = workspace.cargo(libtorch, &["test", "--workspace"]);
        match nvrtc::ensure(workspace, libtorch) {
            Ok(Some(library)) => run_command(test.env("FX_NVRTC", library)),
            Ok(None) => run_command(&mut test),
            Err(failure) => {
                eprintln!("note: without NVRTC no test compiles the kernels for GPUs: {failure}");
                run_command(&mut test)
            }
        }
    }),
    ("doc", |workspace, libtorch| {
        let mut doc = workspace.cargo(libtorch, &["doc", "--workspace", "--no-deps"]);
        // Links to private items are for those who read the documentation of the source itself.
        run_command(doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
    }),
];

pub(crate) fn run(workspace: &Workspace, _: &Options) -> Result<()> {
    let start = Instant::now();
    let libtorch = timed("setup", || libtorch::ensure(workspace, Variant::Cpu))?;
    for (name, step) in STEPS {
        timed(name, || step(workspace, &libtorch))?;
    }
    eprintln!("ci: all {} steps passed in {} s", STEPS.len() + 1, start.elapsed().as_secs());
    Ok(())
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
