//! What each lever is worth: ours with one of them off, against ours with all of them on.

use std::fs;

use super::contender::Command;
use crate::failure::{Failure, Result};
use crate::fx_bench;
use crate::workspace::Workspace;

/// The contender that has them all.
pub(super) const ALL: &str = "fx frozen";

/// One thing that makes the frozen model fast, and how it is switched off.
struct Lever {
    name: &'static str,
    /// Passes that the build leaves out.
    without: &'static str,
    /// The variant of `fx-bench`, where it is not that of the contender that has them all.
    variant: Option<&'static str>,
}

impl Lever {
    const fn at_build(name: &'static str, without: &'static str) -> Self {
        Self { name, without, variant: None }
    }

    const fn at_freeze(name: &'static str, variant: &'static str) -> Self {
        Self { name, without: "", variant: Some(variant) }
    }
}

const LEVERS: [Lever; 10] = [
    Lever::at_freeze("packed kernels", "composed"),
    Lever::at_freeze("layout", "contiguous"),
    Lever::at_freeze("Winograd and AMX", "direct"),
    Lever::at_freeze("slices of batches", "whole"),
    Lever::at_build("folding", "fold-batch-norm,fold-layer-scale,fold-leading-norm,fold-scale"),
    Lever::at_build("epilogues", "fuse-epilogue"),
    Lever::at_build("merged linears", "merge-linears"),
    Lever::at_build("attention", "attention"),
    Lever::at_build("activations", "activations"),
    Lever::at_build("groups", "group-pointwise"),
];

/// Only a GPU has it, where it is on unless switched off.
const GRAPHS: Lever = Lever::at_freeze("CUDA graphs", "frozen");

/// Builds `fx-bench` once for every list of passes; each is kept below `target/levers`.
pub(super) fn commands(workspace: &Workspace, device: &str) -> Result<Vec<Command>> {
    let folder = workspace.root.join("target/levers");
    fs::create_dir_all(&folder).map_err(|error| Failure::file("make", &folder, &error))?;
    let on_gpu = device != "cpu";
    let all = if on_gpu { "graphs" } else { "frozen" };
    let none = Lever::at_freeze(ALL, all);
    let graphs = on_gpu.then_some(&GRAPHS);
    let mut commands = Vec::new();
    for lever in [&none].into_iter().chain(&LEVERS).chain(graphs) {
        let kept = folder.join(if lever.without.is_empty() { "all" } else { lever.name });
        // The first of them is built before it is used again.
        if !lever.without.is_empty() || commands.is_empty() {
            eprintln!("results: building without {}", if lever.without.is_empty() { "nothing" } else { lever.without });
            let built = fx_bench::build(workspace, lever.without)?;
            fs::copy(&built, &kept).map_err(|error| Failure::file("write", &kept, &error))?;
        }
        commands.push(Command::ours(&kept, lever.variant.unwrap_or(all)).called(lever.name));
    }
    Ok(commands)
}
