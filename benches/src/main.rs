//! `fx-bench`: one model, ready to be timed by a script on the other end of stdin and stdout.
//!
//! `FX_VARIANT` chooses the generated forward (`frozen`, the default) or the model's own (`eager`), and what the first was
//! frozen with (`tuned`, `graphs`, `best`, `composed`, `direct`, `contiguous`), or the graph of the live model (`frozen_graph`,
//! `interpreted`).

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use fx_benches::models::{Bits, Model, Quantized, Variant};
use fx_benches::protocol::Contender;
use fx_runtime::{Device, Kind};
use serde_json::json;

/// Serves one model to a script that compares contenders.
#[derive(Parser)]
#[command(name = "fx-bench")]
struct Cli {
    /// Name of the model
    #[arg(long, value_parser = Model::named)]
    model: Model,
    /// Batch size
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    batch: i64,
    /// Floating-point type of weights and input, or how the model is quantized
    #[arg(long, default_value = "f32")]
    dtype: Dtype,
    /// Fewer bits in linear layers of the generated forward
    #[arg(long)]
    bits: Option<Bits>,
    /// Where the model runs
    #[arg(long, default_value = "cpu")]
    device: Place,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dtype {
    F32,
    F16,
    Bf16,
    /// Static, calibrated on batches of the input's shape
    Int8,
    /// Linear layers whose inputs become codes at each call
    Int8Dynamic,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Place {
    Cpu,
    Cuda,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let device = device(cli.device)?;
    let (kind, quantized) = match cli.dtype {
        Dtype::F32 => (Kind::Float, None),
        Dtype::F16 => (Kind::Half, None),
        Dtype::Bf16 => (Kind::BFloat16, None),
        Dtype::Int8 => (Kind::Float, Some(Quantized::Static)),
        Dtype::Int8Dynamic => (Kind::Float, Some(Quantized::Dynamic)),
    };
    let variant = variant(std::env::var("FX_VARIANT").ok().as_deref())?;
    let start = Instant::now();
    let (forward, freeze) = match quantized {
        Some(quantized) => cli.model.quantized(quantized, cli.batch)?,
        None => cli.model.forward(variant, device, kind, cli.bits)?,
    };
    let ready = json!({
        "model": cli.model.name,
        "variant": format!("{variant:?}").to_lowercase(),
        "threads": tch::get_num_threads(),
        "load_ms": start.elapsed().saturating_sub(freeze).as_secs_f64() * 1e3,
        "freeze_ms": freeze.as_secs_f64() * 1e3,
        "versions": { "fx": env!("CARGO_PKG_VERSION"), "tch": "0.24" },
    });
    let xs = cli.model.input.batch(cli.batch, device, kind);
    let contender = Contender { call: &|| forward(&xs), synchronize: &|| synchronize(device) };
    contender.serve(&ready, io::stdin().lock(), &mut io::stdout())
}

fn variant(name: Option<&str>) -> Result<Variant, String> {
    let Some(name) = name else { return Ok(Variant::Frozen) };
    let found = Variant::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, variant)| variant);
    found.ok_or_else(|| {
        let names = Variant::ALL.map(|(known, _)| known).join(", ");
        format!("FX_VARIANT is `{name}`; it may be one of {names}")
    })
}

fn device(place: Place) -> Result<Device, String> {
    match place {
        Place::Cpu => Ok(Device::Cpu),
        // Asking for the capabilities opens libtorch's CUDA half, which nothing else links.
        Place::Cuda if fx_runtime::capabilities().cuda_devices > 0 => {
            tch::Cuda::cudnn_set_benchmark(true);
            Ok(Device::Cuda(0))
        }
        Place::Cuda => Err(format!("no CUDA device can be used here:\n{}", fx_runtime::capabilities())),
    }
}

fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(i64::try_from(index).unwrap_or(0));
    }
}
