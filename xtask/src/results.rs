//! `cargo xtask results`: ours against what a PyTorch user would run instead, measured and written to
//! `benches/RESULTS.md`.
//!
//! Every contender is a process that speaks the protocol of `fx-bench`. For each workload all contenders are started, and
//! then take turns, so that a machine that drifts slows all of them alike. Every time that was taken is kept as JSON
//! beside the report, one file a device and machine, into which later runs put the workloads that they measure.

mod ablation;
mod contender;
mod machine;
mod measure;
mod record;
mod report;
mod workload;

use std::fs;
use std::path::PathBuf;

use crate::failure::{Failure, Result};
use crate::fx_bench;
use crate::progress::Progress;
use crate::workspace::Workspace;
use contender::Command;
use record::Record;
use workload::Workload;

/// What `results` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the models run.
    #[arg(long, default_value = "cpu", value_parser = ["cpu", "cuda"])]
    device: String,
    /// What is measured, `model:batch:dtype`; all models at batches 1, 4, 16 and 64 unless given.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<Workload>,
    /// Variants of ours.
    #[arg(long, value_delimiter = ',')]
    ours: Vec<String>,
    /// Rivals that `benches/rivals.py` knows.
    #[arg(long, value_delimiter = ',')]
    rivals: Vec<String>,
    /// What each part is worth instead: ours without one of them in turns with ours, at batch 1 unless given.
    #[arg(long, conflicts_with_all = ["ours", "rivals", "bench"])]
    ablation: bool,
    /// A Python with torch, torchvision, transformers, onnx and onnxruntime.
    #[arg(long, env = "FX_PYTHON", default_value = "python3")]
    python: PathBuf,
    /// An `fx-bench` that was built before.
    #[arg(long)]
    bench: Option<PathBuf>,
    /// Turns of every contender.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Calls in a turn; fewer where they take long.
    #[arg(long, default_value_t = 7)]
    calls: usize,
    /// Seconds that a contender may take for a workload.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// What this machine is called, where results of several stand side by side (`zen4`: `cpu-zen4.json`).
    #[arg(long)]
    machine: Option<String>,
    /// The folder of RESULTS.md.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measure nothing; write RESULTS.md anew from what is there.
    #[arg(long)]
    render: bool,
}

/// The models of `fx-bench`.
const MODELS: [&str; 6] = ["resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "bert_base", "gpt2"];
const BATCHES: [u32; 4] = [1, 4, 16, 64];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = options.out.clone().unwrap_or_else(|| workspace.root.join("benches"));
    if !options.render {
        let commands = if options.ablation {
            ablation::commands(workspace, &options.device)?
        } else {
            commands(workspace, options)?
        };
        let name = record_name(options);
        let path = folder.join(format!("results/{name}.json"));
        let mut record = Record::read_or_new(&path, &name, machine::describe())?;
        let workloads = workloads(options);
        let progress = Progress::bar("results", workloads.len());
        for workload in workloads {
            progress.line(&format!("results: {workload}"));
            record.put(measure::workload(&workload, &commands, options));
            record.write(&path)?;
            progress.step();
        }
    }
    let path = folder.join("RESULTS.md");
    let text = report::render(&Record::all(&folder.join("results"))?);
    fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))?;
    eprintln!("results: {}", path.display());
    Ok(())
}

/// `cpu`, `cpu-zen4`, `cpu-zen4-ablation`.
fn record_name(options: &Options) -> String {
    let ablation = options.ablation.then_some("ablation");
    let parts = [Some(options.device.as_str()), options.machine.as_deref(), ablation];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

fn workloads(options: &Options) -> Vec<Workload> {
    if !options.workloads.is_empty() {
        return options.workloads.clone();
    }
    let dtype = if options.device == "cpu" { "f32" } else { "f16" };
    let of = |model: &str, batch| Workload { model: model.to_owned(), batch, dtype: dtype.to_owned() };
    let batches = if options.ablation { &BATCHES[..1] } else { &BATCHES };
    MODELS.iter().flat_map(|model| batches.iter().map(|&batch| of(model, batch))).collect()
}

/// How every contender is started.
fn commands(workspace: &Workspace, options: &Options) -> Result<Vec<Command>> {
    let bench = match &options.bench {
        Some(path) => path.clone(),
        None => fx_bench::build(workspace, "")?,
    };
    let script = workspace.root.join("benches/rivals.py");
    let (ours, rivals): (&[&str], &[&str]) = match options.device.as_str() {
        "cpu" => (&["frozen", "eager"], &["eager", "jit", "compile", "ort"]),
        _ => (&["best", "graphs", "frozen", "eager"], &["eager", "eager-graphs", "jit", "compile", "compile-graphs"]),
    };
    let chosen = |given: &[String], default: &[&str]| -> Vec<String> {
        if given.is_empty() { default.iter().map(ToString::to_string).collect() } else { given.to_vec() }
    };
    let ours = chosen(&options.ours, ours).into_iter().map(|variant| Command::ours(&bench, &variant));
    let rivals = chosen(&options.rivals, rivals);
    let rivals = rivals.into_iter().map(|rival| Command::rival(&options.python, &script, &rival));
    Ok(ours.chain(rivals).collect())
}

#[cfg(test)]
mod tests;
