//! What eight bits cost each model: SQNR of the result against f32 in dB, without and with corrections.
//!
//! `cargo run -p fx-benches --example sqnr -- resnet18 bert_base`; all models but GPT-2 without a name. A model is calibrated on
//! eight batches by their names, and measured on another one.

use std::error::Error;
use std::io::Write as _;

use clap::{Parser, ValueEnum};
use fx_benches::models::{CALIBRATION, Model, absent_inputs, first_tensor, inputs};
use fx_runtime::graph_module::{GraphModule, Value};
use fx_runtime::quant::{
    ObserverConfig, Prepared, QConfig, QConfigMapping, QEngine, QParamsFile, prepare, quantize, sqnr,
};
use fx_runtime::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What eight bits cost each model, in dB
#[derive(Parser)]
struct Cli {
    /// Names of models
    #[arg(value_parser = Model::named)]
    models: Vec<Model>,
    /// What chooses the range of values
    #[arg(long, default_value = "histogram")]
    observer: Range,
    /// The module that stays in floats, with all below it; may be repeated
    #[arg(long, value_name = "PATH")]
    keep: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Range {
    Histogram,
    MinMax,
    Mse,
}

impl Cli {
    fn mapping(&self) -> QConfigMapping {
        let observer = match self.observer {
            Range::Histogram => ObserverConfig::histogram(),
            Range::MinMax => ObserverConfig::min_max(),
            Range::Mse => ObserverConfig::mse(),
        };
        let mapping = QConfigMapping::for_engine(QEngine::Fx).global(QConfig::with_activation(observer));
        self.keep.iter().fold(mapping, |mapping, path| mapping.module_name(path, None))
    }
}

fn main() -> Result<()> {
    let _no_grad = tch::no_grad_guard();
    let cli = Cli::parse();
    let mut out = std::io::stdout();
    writeln!(out, "{:<14}{:>10}{:>10}{:>10}{:>10}", "model", "plain", "biases", "smoothed", "both")?;
    for model in Model::chosen(&cli.models) {
        write!(out, "{:<14}", model.name)?;
        let measured = Measured::new(model)?;
        let plain = prepare(&measured.graph, &cli.mapping(), QEngine::Fx)?;
        for prepared in [plain.smoothed(0.5, &measured.batches)?, plain].into_iter().rev() {
            for decibels in measured.decibels(prepared)? {
                write!(out, "{decibels:>10.2}")?;
                out.flush()?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A model, its data, and what it computes in floats.
struct Measured {
    graph: GraphModule,
    batches: Vec<Vec<Value>>,
    xs: Vec<Value>,
    exact: Tensor,
}

impl Measured {
    fn new(model: &Model) -> Result<Measured> {
        let (_vs, net) = model.load(Device::Cpu);
        let graph = net.graph()?;
        let absent = absent_inputs(&graph);
        let batch = |number| inputs(&model.input.named(&format!("calib{number}"), 1), absent);
        let xs = inputs(&model.input.batch(1, Device::Cpu, Kind::Float), absent);
        let exact = first_tensor(graph.run(&xs)?);
        Ok(Measured { graph, batches: (0..CALIBRATION).map(batch).collect(), xs, exact })
    }

    /// Without and with corrected biases.
    fn decibels(&self, mut prepared: Prepared) -> Result<[f64; 2]> {
        self.batches.iter().try_for_each(|batch| prepared.forward(batch).map(drop))?;
        let plain = prepared.convert()?;
        let corrected = prepared.bias_correction(&plain, &self.batches)?;
        let of = |qparams: &QParamsFile| -> Result<f64> {
            Ok(sqnr(&self.exact, &first_tensor(quantize(&self.graph, qparams)?.run(&self.xs)?))?)
        };
        Ok([of(&plain)?, of(&corrected)?])
    }
}
