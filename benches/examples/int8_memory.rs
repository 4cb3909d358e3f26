//! What each model takes in f32 and in eight bits: the file of the frozen model, and the memory of a process that loads the file
//! and calls the model.
//!
//! `cargo run --release -p fx-benches --example int8_memory -- resnet18 bert_base`; all models but GPT-2 without a name. MB of
//! 10^6 bytes; of a process that part which is no file's, by which it is larger than before. In eight bits a model is calibrated
//! on eight batches of one example, and tables of embeddings are kept as eight bits as well. Linux alone.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use fx_benches::models::Model;
use fx_runtime::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What each model takes in f32 and in eight bits
#[derive(Parser)]
struct Cli {
    /// Names of models
    #[arg(value_parser = Model::named)]
    models: Vec<Model>,
    /// Print the MB that this process grows by a model of this file
    #[arg(long, hide = true)]
    read: Option<PathBuf>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let mut out = std::io::stdout();
    if let (Some(path), [model]) = (&cli.read, cli.models.as_slice()) {
        return Ok(writeln!(out, "{}", of_this_process(model, path)?)?);
    }
    writeln!(
        out,
        "{:<14}{:>24}{:>8}{:>24}{:>8}",
        "model", "file: f32 -> int8", "ratio", "memory: f32 -> int8", "ratio"
    )?;
    let folder = std::env::temp_dir().join(format!("fx-int8-memory-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    for model in Model::chosen(&cli.models) {
        let [floats, codes] = [false, true].map(|quantized| measured(model, quantized, &folder));
        let ((floats_file, floats), (codes_file, codes)) = (floats?, codes?);
        let pair = |floats: f64, codes: f64| format!("{floats:.1} -> {codes:.1}");
        writeln!(
            out,
            "{:<14}{:>24}{:>8.3}{:>24}{:>8.3}",
            model.name,
            pair(floats_file, codes_file),
            codes_file / floats_file,
            pair(floats, codes),
            codes / floats
        )?;
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// The MB of the file, and of a process that reads it.
fn measured(model: &Model, quantized: bool, folder: &Path) -> Result<(f64, f64)> {
    let path = folder.join(format!("{}-{quantized}", model.name));
    model.save(quantized, &path)?;
    let file = fs::metadata(&path)?.len() as f64 * 1e-6;
    let mut process = Command::new(std::env::current_exe()?);
    // What is free counts for nobody: glibc gives back what is more than this.
    process.env("MALLOC_TRIM_THRESHOLD_", "65536");
    let told = process.arg(model.name).arg("--read").arg(path).output()?;
    let figure = String::from_utf8_lossy(&told.stdout).trim().parse();
    Ok((file, figure.map_err(|_| String::from_utf8_lossy(&told.stderr).into_owned())?))
}

/// By how many MB this process grows by the model and three calls.
fn of_this_process(model: &Model, path: &Path) -> Result<f64> {
    let _no_grad = tch::no_grad_guard();
    // The threads and kernels of libtorch come first.
    let picture = Tensor::ones([1, 3, 224, 224], (Kind::Float, Device::Cpu));
    let kernel = Tensor::ones([8, 3, 3, 3], (Kind::Float, Device::Cpu));
    drop(picture.f_conv2d(&kernel, None::<&Tensor>, [1], [1], [1], 1)?.f_sum(Kind::Float)?);
    let xs = model.input.batch(1, Device::Cpu, Kind::Float);
    let before = resident()?;
    let forward = model.read(path)?;
    for _ in 0..3 {
        drop(forward(&xs)?);
    }
    Ok(resident()? - before)
}

/// The MB of this process that are no file's.
fn resident() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? * 1.024e-3)
}
