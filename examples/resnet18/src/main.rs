//! ResNet-18, eager against frozen: the same numbers, sooner.
//!
//! Without arguments, the network with weights that anyone can rebuild is compared with PyTorch and timed. With a file
//! of weights and a picture, it says what the picture shows.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use fx_runtime::{Device, Freeze, Tensor, load_weights, nn};
use resnet18::reference::{Difference, Reference};
use resnet18::{Error, ResNet18, classes, image, report, timing, weights};

/// Classes of `ImageNet`.
const CLASSES: usize = 1000;

/// ResNet-18, eager against frozen; or, given weights and an image, the five likeliest classes.
#[derive(Parser)]
struct Cli {
    /// Weights under torchvision's names (.safetensors, or .pt as Python saves them)
    #[arg(long, requires = "image")]
    weights: Option<PathBuf>,
    /// A picture, JPEG or PNG
    #[arg(long, requires = "weights")]
    image: Option<PathBuf>,
    /// Names of the classes, one a line
    #[arg(long, requires = "image")]
    labels: Option<PathBuf>,
    /// Rounds of the timing; in each, eager and frozen make five calls
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match (&cli.weights, &cli.image) {
        (Some(weights), Some(image)) => classify(weights, image, cli.labels.as_ref()),
        _ => compare(cli.rounds),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// Prints the five likeliest classes of a picture.
fn classify(weights: &PathBuf, picture: &PathBuf, labels: Option<&PathBuf>) -> Result<ExitCode, Error> {
    let labels = labels.map(|path| classes::load_labels(path, CLASSES)).transpose()?;
    let picture = image::load(picture)?;
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), CLASSES as i64);
    load_weights(&vs, weights)?;
    let logits = net.freeze(&Freeze::default())?.try_forward(&picture)?;
    report::classes(&mut io::stdout(), &classes::top(&logits, 5, labels.as_deref())?)?;
    Ok(ExitCode::SUCCESS)
}

/// Compares eager and frozen with PyTorch and with each other; fails if the numbers are off.
fn compare(rounds: usize) -> Result<ExitCode, Error> {
    let out = &mut io::stdout();
    let vs = nn::VarStore::new(Device::Cpu);
    let eager = ResNet18::new(&vs.root(), CLASSES as i64);
    weights::fill(&eager);
    let start = Instant::now();
    let frozen = eager.freeze(&Freeze::default())?;
    let freeze_ms = start.elapsed().as_secs_f64() * 1e3;
    let run_eager = |xs: &Tensor| tch::no_grad(|| eager.forward(xs));

    report::heading(out, "One block as written")?;
    writeln!(out, "{}", report::excerpt(include_str!("model.rs"), "impl BasicBlock {\n    /// `[N"))?;
    report::heading(out, "The network as generated")?;
    writeln!(out, "{}", report::excerpt(resnet18::GENERATED, "pub fn try_forward"))?;

    report::heading(out, "Operations")?;
    writeln!(
        out,
        "eager   {}\nfrozen  {}\nfreeze  {freeze_ms:.0} ms",
        report::ops(&eager.graph()?),
        report::ops(&frozen.graph())
    )?;

    report::heading(out, "Largest difference to PyTorch 2.11")?;
    let wanted = Reference::resnet18()?;
    let differences = [run_eager(&wanted.input), frozen.try_forward(&wanted.input)?]
        .map(|output| Difference::between(&output, &wanted.output));
    let [by_eager, by_frozen] = differences;
    let (by_eager, by_frozen) = (by_eager?, by_frozen?);
    writeln!(out, "eager   {by_eager}\nfrozen  {by_frozen}")?;

    report::heading(out, "Time, measured in turns")?;
    let rows = [1, 10].map(|batch| {
        let xs = weights::input(batch, 224);
        (batch, timing::in_turns(rounds, 5, [&|| drop(run_eager(&xs)), &|| drop(frozen.forward(&xs))]))
    });
    report::timings(out, &rows)?;
    let good = by_eager.passes() && by_frozen.passes();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
