//! ResNet-18 after static quantization: what it loses, what it weighs, and how much sooner it answers.
//!
//! The model is calibrated twice, with the observers that a mapping chooses by default and with minima and maxima, and the
//! two files of parameters are compared.

mod memory;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use comfy_table::{Table, presets};
use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::quant::{
    ObserverConfig, Prepared, QConfig, QConfigMapping, QEngine, QParams, QParamsFile, ZeroPoint, coverage, prepare,
    quantize, sqnr,
};
use fx_runtime::{Device, Freeze, Tensor, nn};
use resnet18::model::ResNet18Frozen;
use resnet18::timing::{Samples, in_turns};
use resnet18::{ResNet18, weights};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// ResNet-18 on codes of eight bits
#[derive(Parser)]
struct Cli {
    /// Rounds of the timing; in each, both models make five calls
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Where the two files of parameters are written, and the frozen models; these go to the system's folder without it
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Load this frozen model, run it, and print what memory it takes
    #[arg(long, hide = true)]
    load: Option<PathBuf>,
}

/// Timed calls of each model in a round.
const CALLS: usize = 5;

/// Pictures that the model is calibrated on.
const CALIBRATION: usize = 8;

fn main() -> ExitCode {
    let (cli, out) = (Cli::parse(), &mut io::stdout());
    let done = match &cli.load {
        Some(path) => memory::of_this_process(path, out),
        None => run(&cli, out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, out: &mut impl Write) -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 1000);
    weights::fill(&net);
    let graph = net.graph_module()?;
    let _no_grad = tch::no_grad_guard();
    let picture = [value(weights::input(1, 224))];

    let engine = QEngine::default();
    let observed = calibrated(&graph, &QConfigMapping::for_engine(engine), engine)?;
    let qparams = observed.convert()?;
    let int8 = quantize(&graph, &qparams)?;

    writeln!(out, "Accuracy at each value that is rounded\n\n{}", observed.accuracy(&qparams, &picture)?)?;
    let (exact, found) = (tensor(graph.run(&picture)?)?, tensor(int8.run(&picture)?)?);
    writeln!(out, "{:.1} dB of the int8 kernels against f32", sqnr(&exact, &found)?)?;
    writeln!(out, "{}", coverage(&graph, &qparams, &picture)?)?;

    let (floats, codes) = (net.freeze(&Freeze::new())?, net.freeze(&Freeze::new().quantize(&qparams))?);
    let folder = cli.folder.clone().unwrap_or_else(|| std::env::temp_dir().join("quantized_resnet18"));
    let files = sizes(out, &folder, &floats, &codes)?;
    memory::compared(out, &files)?;
    timings(out, cli.rounds, &floats, &codes)?;

    let extremes = QConfig::with_activation(ObserverConfig::min_max());
    let other = calibrated(&graph, &QConfigMapping::for_engine(engine).global(extremes), engine)?.convert()?;
    if let Some(folder) = &cli.folder {
        save(folder, "histogram.json", &qparams)?;
        save(folder, "min_max.json", &other)?;
    }
    difference(out, &qparams, &other)
}

fn calibrated(graph: &GraphModule, mapping: &QConfigMapping, engine: QEngine) -> Result<Prepared> {
    let mut observed = prepare(graph, mapping, engine)?;
    for number in 0..CALIBRATION {
        observed.forward(&[value(weights::pictures(&format!("calib{number}"), 1, 224))])?;
    }
    Ok(observed)
}

fn tensor(result: Value) -> Result<Tensor> {
    match result {
        Value::Tensor(tensor) => Ok(tensor.shallow_clone()),
        other => Err(format!("{other} is no tensor").into()),
    }
}

fn save(folder: &Path, name: &str, qparams: &QParamsFile) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    Ok(qparams.save(folder.join(name))?)
}

/// Bytes of both frozen models as they are saved, and where that is.
fn sizes(out: &mut impl Write, folder: &Path, floats: &ResNet18Frozen, int8: &ResNet18Frozen) -> Result<[PathBuf; 2]> {
    std::fs::create_dir_all(folder)?;
    let saved = |name: &str, model: &ResNet18Frozen| -> Result<(PathBuf, f64)> {
        let path = folder.join(name);
        model.save(&path)?;
        let bytes = megabytes(std::fs::metadata(&path)?.len());
        Ok((path, bytes))
    };
    let ((of_floats, floats), (of_codes, codes)) =
        (saved("f32.safetensors", floats)?, saved("int8.safetensors", int8)?);
    writeln!(out, "Files\n\nf32 {floats:.1} MB, int8 {codes:.1} MB: {:.2} of it\n", codes / floats)?;
    Ok([of_floats, of_codes])
}

#[expect(clippy::cast_precision_loss, reason = "it is printed with one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Calls both frozen models in turns.
fn timings(out: &mut impl Write, rounds: usize, floats: &ResNet18Frozen, int8: &ResNet18Frozen) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["batch", "", "f32 ms", "int8 ms", "f32 / int8"]);
    for batch in [1, 8] {
        let pictures = weights::input(batch, 224);
        // An error is one here, and not a panic while the time is taken.
        drop((floats.try_forward(&pictures)?, int8.try_forward(&pictures)?));
        let (slow, fast) = (|| drop(floats.forward(&pictures)), || drop(int8.forward(&pictures)));
        let [slow, fast] = in_turns(rounds.max(1), CALLS, [&slow, &fast]);
        for (name, of) in [("median", Samples::median as fn(&Samples) -> f64), ("minimum", Samples::min)] {
            let (slow, fast) = (of(&slow), of(&fast));
            let cells = [format!("{slow:.2}"), format!("{fast:.2}"), format!("{:.2}x", slow / fast)];
            table.add_row([batch.to_string(), name.to_owned()].into_iter().chain(cells));
        }
    }
    let unoptimised = "an unoptimised build, which slows f32 down most: `cargo run --release` gives figures that count";
    let note = if cfg!(debug_assertions) { format!(" ({unoptimised})") } else { String::new() };
    Ok(writeln!(out, "Time{note}\n\n{table}\n")?)
}

/// The values whose parameters differ.
fn difference(out: &mut impl Write, one: &QParamsFile, other: &QParamsFile) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["site", "histogram", "", "minimum, maximum", ""]);
    let mut same = 0;
    for (name, of) in &one.sites {
        match other.sites.get(name) {
            Some(found) if found == of => same += 1,
            Some(found) => {
                table.add_row([vec![name.clone()], cells(of), cells(found)].concat());
            }
            None => {
                table.add_row([vec![name.clone()], cells(of), vec!["-".to_owned(); 2]].concat());
            }
        }
    }
    Ok(writeln!(out, "Parameters by two ways to observe; {same} sites are the same\n\n{table}")?)
}

/// Scale and zero point.
fn cells(of: &QParams) -> Vec<String> {
    let zero = match &of.zero_point {
        ZeroPoint::Int(zero) => format!("{zero:?}"),
        ZeroPoint::Float(zero) => format!("{zero:?}"),
    };
    vec![of.scale.iter().map(|scale| format!("{scale:.6}")).collect::<Vec<_>>().join(" "), zero]
}
