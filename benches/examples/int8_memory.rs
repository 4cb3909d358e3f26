//! What memory each model takes in f32 and in eight bits: that of a process that has frozen it and called it.
//!
//! `cargo run --release -p fx-benches --example int8_memory -- resnet18 bert_base`; all models but GPT-2 without a name. MB of
//! 10^6 bytes that are no file's, by which the process is larger than before it made the model, which is gone by then. In eight
//! bits a model is calibrated on eight batches of one example, and tables of embeddings are kept as eight bits as well.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::process::Command;

use clap::{Parser, ValueEnum};
use fx_benches::models::{MODELS, Model, Quantized, Variant};
use fx_runtime::quant::WeightFormat;
use fx_runtime::{Device, Freeze, Kind, Tensor};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What memory each model takes in f32 and in eight bits
#[derive(Parser)]
struct Cli {
    /// Names of models
    #[arg(value_parser = Model::named)]
    models: Vec<Model>,
    /// Measure this process with one model in this form, and print the MB
    #[arg(long, hide = true)]
    form: Option<Form>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    F32,
    Int8,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let mut out = std::io::stdout();
    if let (Some(form), [model]) = (cli.form, cli.models.as_slice()) {
        return Ok(writeln!(out, "{}", of_this_process(model, form)?)?);
    }
    let is_named = |model: &&Model| match cli.models.as_slice() {
        [] => model.name != "gpt2",
        models => models.iter().any(|named| named.name == model.name),
    };
    writeln!(out, "{:<14}{:>10}{:>10}{:>10}", "model", "f32", "int8", "ratio")?;
    for model in MODELS.iter().filter(is_named) {
        let (floats, codes) = (in_a_process(model, "f32")?, in_a_process(model, "int8")?);
        writeln!(out, "{:<14}{floats:>10.1}{codes:>10.1}{:>10.3}", model.name, codes / floats)?;
    }
    Ok(())
}

fn in_a_process(model: &Model, form: &str) -> Result<f64> {
    let mut process = Command::new(std::env::current_exe()?);
    // What is free counts for nobody: glibc gives back what is more than this.
    process.env("MALLOC_TRIM_THRESHOLD_", "65536");
    let told = process.args([model.name, "--form", form]).output()?;
    let figure = String::from_utf8_lossy(&told.stdout).trim().parse();
    figure.map_err(|_| String::from_utf8_lossy(&told.stderr).into_owned().into())
}

/// By how many MB this process grows by the model and three calls.
fn of_this_process(model: &Model, form: Form) -> Result<f64> {
    let _no_grad = tch::no_grad_guard();
    // The threads and kernels of libtorch come first.
    let picture = Tensor::ones([1, 3, 224, 224], (Kind::Float, Device::Cpu));
    let kernel = Tensor::ones([8, 3, 3, 3], (Kind::Float, Device::Cpu));
    drop(picture.f_conv2d(&kernel, None::<&Tensor>, [1], [1], [1], 1)?.f_sum(Kind::Float)?);
    let before = resident()?;
    let (forward, _) = match form {
        Form::F32 => model.forward(Variant::Frozen, Device::Cpu, Kind::Float, None)?,
        Form::Int8 => {
            let options = Freeze::new().quantize_weights(WeightFormat::Int8);
            model.quantized(Quantized::Static, 1, &options)?
        }
    };
    let xs = model.input.batch(1, Device::Cpu, Kind::Float);
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
