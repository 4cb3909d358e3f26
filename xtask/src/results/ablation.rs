//! An ablation: ours without one of the things that make it fast, against ours with all of them.

use std::fs;

use super::contender::Command;
use crate::failure::{Failure, Result};
use crate::fx_bench;
use crate::workspace::Workspace;

/// The contender that has them all.
pub(super) const ALL: &str = "fx frozen";

/// One thing that makes the frozen model fast, and how it is switched off.
struct Ablation {
    name: &'static str,
    /// Passes that the build leaves out.
    without: &'static str,
    /// The variant of `fx-bench`, where it is not that of the contender that has them all.
    variant: Option<&'static str>,
}

impl Ablation {
    const fn at_build(name: &'static str, without: &'static str) -> Self {
        Self { name, without, variant: None }
    }

    const fn at_freeze(name: &'static str, variant: &'static str) -> Self {
        Self { name, without: "", variant: Some(variant) }
    }
}

const ABLATIONS: [Ablation; 10] = [
    Ablation::at_freeze("packed kernels", "composed"),
    Ablation::at_freeze("layout", "contiguous"),
    Ablation::at_freeze("Winograd and AMX", "direct"),
    Ablation::at_freeze("slices of batches", "whole"),
    Ablation::at_build("folding", "fold-batch-norm,fold-layer-scale,fold-leading-norm,fold-scale"),
    Ablation::at_build("epilogues", "fuse-epilogue"),
    Ablation::at_build("merged linears", "merge-linears"),
    Ablation::at_build("attention", "attention"),
    Ablation::at_build("activations", "activations"),
    Ablation::at_build("groups", "group-pointwise"),
];

/// Only a GPU has it, where it is on unless switched off.
const GRAPHS: Ablation = Ablation::at_freeze("CUDA graphs", "frozen");

/// Builds `fx-bench` once for every list of passes; each is kept below `target/ablation`.
pub(super) fn commands(workspace: &Workspace, device: &str) -> Result<Vec<Command>> {
    let folder = workspace.root.join("target/ablation");
    fs::create_dir_all(&folder).map_err(|error| Failure::file("make", &folder, &error))?;
    let on_gpu = device != "cpu";
    let all = if on_gpu { "graphs" } else { "frozen" };
    let none = Ablation::at_freeze(ALL, all);
    let graphs = on_gpu.then_some(&GRAPHS);
    let mut commands = Vec::new();
    for ablation in [&none].into_iter().chain(&ABLATIONS).chain(graphs) {
        let kept = folder.join(if ablation.without.is_empty() { "all" } else { ablation.name });
        // The first of them is built before it is used again.
        if !ablation.without.is_empty() || commands.is_empty() {
            eprintln!(
                "results: building without {}",
                if ablation.without.is_empty() { "nothing" } else { ablation.without }
            );
            let built = fx_bench::build(workspace, ablation.without)?;
            fs::copy(&built, &kept).map_err(|error| Failure::file("write", &kept, &error))?;
        }
        commands.push(Command::ours(&kept, ablation.variant.unwrap_or(all)).called(ablation.name));
    }
    Ok(commands)
}
