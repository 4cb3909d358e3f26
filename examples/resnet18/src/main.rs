//! ResNet-18, eager against frozen: the same numbers, sooner.
//!
//! Without arguments, the network with weights that anyone can rebuild is compared with PyTorch and timed. With a file
//! of weights and a picture, it says what the picture shows.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use fx_runtime::{Device, Freeze, Tensor, load_weights, nn};
use resnet18::model::{ResNet18, ResNet18Frozen};
use resnet18::reference::{Difference, Reference};
use resnet18::{Error, classes, image, report, timing, weights};

/// Classes of `ImageNet`.
const CLASSES: i64 = 1000;

/// ResNet-18, eager against frozen; or, given weights and an image, the five likeliest classes.
#[derive(Parser)]
struct Cli {
    /// Weights under torchvision's names: a .safetensors file
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
        (Some(weights), Some(image)) => classify(weights, image, cli.labels.as_deref()),
        _ => compare(cli.rounds),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// Prints the five likeliest classes of a picture.
fn classify(weights: &Path, picture: &Path, labels: Option<&Path>) -> Result<ExitCode, Error> {
    let labels = labels.map(|path| classes::load_labels(path, CLASSES)).transpose()?;
    let picture = image::load(picture)?;
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), CLASSES);
    load_weights(&vs, weights)?;
    let logits = net.freeze(&Freeze::default())?.try_forward(&picture)?;
    report::classes(&mut io::stdout(), &classes::top(&logits, 5, labels.as_deref())?)?;
    Ok(ExitCode::SUCCESS)
}

/// Compares eager and frozen with PyTorch and with each other; fails if the numbers are off.
fn compare(rounds: usize) -> Result<ExitCode, Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let eager = ResNet18::new(&vs.root(), CLASSES);
    weights::fill(&eager);
    let start = Instant::now();
    let frozen = eager.freeze(&Freeze::default())?;
    let freeze = start.elapsed();

    let out = &mut io::stdout();
    report::heading(out, "A block as written")?;
    writeln!(out, "{}", report::excerpt(include_str!("model.rs"), "impl BasicBlock {\n    /// `[N"))?;
    report::heading(out, "The block as generated")?;
    writeln!(out, "{}", report::excerpt(resnet18::GENERATED_BLOCK, "pub fn try_forward"))?;

    report::heading(out, "Operations")?;
    writeln!(out, "eager   {} operations", report::operations(&eager.graph()?))?;
    writeln!(
        out,
        "frozen  {} kernels and {} other operations",
        report::kernels(&frozen),
        report::plain(resnet18::GENERATED)
    )?;
    writeln!(out, "frozen in {:.0} ms", freeze.as_secs_f64() * 1e3)?;

    let right = numbers(out, &eager, &frozen)?;
    report::heading(out, "Time, measured in turns")?;
    let rows = [1, 10].map(|batch| {
        let xs = weights::input(batch, 224);
        (batch, timing::in_turns(rounds, 5, [&|| drop(run_eager(&eager, &xs)), &|| drop(frozen.forward(&xs))]))
    });
    report::timings(out, &rows)?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints how far both are from PyTorch; are they within the tolerance?
fn numbers(out: &mut impl io::Write, eager: &ResNet18, frozen: &ResNet18Frozen) -> Result<bool, Error> {
    let Reference { input, output } = Reference::resnet18()?;
    let by_eager = Difference::between(&run_eager(eager, &input), &output)?;
    let by_frozen = Difference::between(&frozen.try_forward(&input)?, &output)?;
    report::heading(out, "Largest difference to PyTorch")?;
    writeln!(out, "eager   {by_eager}\nfrozen  {by_frozen}")?;
    Ok(by_eager.passes() && by_frozen.passes())
}

fn run_eager(net: &ResNet18, xs: &Tensor) -> Tensor {
    tch::no_grad(|| net.forward(xs))
}
