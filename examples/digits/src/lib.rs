//! Handwritten digits in floats, quantized after training (PTQ), and trained quantization-aware (QAT).
//!
//! One model is trained in floats. Then it goes on for as many epochs in three ways, each from the same weights, with the same
//! pictures in the same order and at the same rates: in floats, by QAT at 8 bits and by QAT at 4 bits. PTQ starts from the
//! model that went on in floats, so that QAT has not trained longer, and has the observer among four that is best on the
//! validation pictures. Weights and activations both have that many bits. The test pictures are looked at once, at the end.

pub mod data;
pub mod model;
pub mod train;

use std::fmt;

use fx_runtime::GraphModule;
use fx_runtime::graph_module::value;
use fx_runtime::quant::{DType, ObserverConfig, QConfig, QConfigMapping, QEngine, QScheme, prepare, prepare_qat};
use tch::{Device, nn};

use self::data::{Data, Part};
use self::model::Digits;
use self::train::{accuracy, train};

/// What can go wrong: libtorch, a quantization, or the file of pictures.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const ENGINE: QEngine = QEngine::Onednn;

/// How long is trained.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Epochs of the first model.
    pub first: u64,
    /// Epochs of each that goes on from it.
    pub further: u64,
}

/// One line of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How the model was made.
    pub name: String,
    /// Its share of right answers on the validation pictures, from 0 to 1.
    pub validation: f64,
    /// The same on the test pictures.
    pub test: f64,
}

/// The accuracies of all models.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// In the order in which they were made.
    pub rows: Vec<Row>,
}

impl Report {
    /// The accuracy on the test pictures of the model whose line begins so.
    pub fn test(&self, name: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.name.starts_with(name)).map(|row| row.test)
    }

    fn add(&mut self, name: impl Into<String>, model: &GraphModule, data: &Data) -> Result<()> {
        let (validation, test) = (accuracy(model, &data.validation)?, accuracy(model, &data.test)?);
        self.rows.push(Row { name: name.into(), validation, test });
        Ok(())
    }
}

/// A table.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:36}  {:>10}  {:>7}", "model", "validation", "test")?;
        for Row { name, validation, test } in &self.rows {
            writeln!(f, "{name:36}  {:>8.2} %  {:>5.2} %", 100.0 * validation, 100.0 * test)?;
        }
        Ok(())
    }
}

/// A model with variables of its own.
struct Live {
    vs: nn::VarStore,
    graph: GraphModule,
}

impl Live {
    /// With fresh weights, or those of another.
    fn new(of: Option<&Live>) -> Result<Live> {
        let mut vs = nn::VarStore::new(Device::Cpu);
        let graph = Digits::new(&vs.root()).graph_module()?;
        of.map_or(Ok(()), |of| vs.copy(&of.vs))?;
        Ok(Live { vs, graph })
    }
}

/// Trains and quantizes all models.
///
/// # Errors
///
/// If libtorch refuses or a model cannot be quantized.
pub fn run(budget: Budget) -> Result<Report> {
    tch::manual_seed(1);
    let data = Data::read()?;
    let mut report = Report { rows: Vec::new() };
    let first = Live::new(None)?;
    train(&first.graph, &first.vs, &data.train, budget.first, 0.05)?;
    report.add("float", &first.graph, &data)?;

    let float = Live::new(Some(&first))?;
    train(&float.graph, &float.vs, &data.train, budget.further, 0.02)?;
    report.add("float, continued", &float.graph, &data)?;
    for bits in [8, 4] {
        let (observer, quantized) = ptq(&float.graph, bits, &data)?;
        report.add(format!("PTQ {bits} bits ({observer})"), &quantized, &data)?;
        let live = Live::new(Some(&first))?;
        let qat = prepare_qat(&live.graph, &mapping(qat_qconfig(bits)), ENGINE)?;
        train(&qat, &live.vs, &data.train, budget.further, 0.02)?;
        report.add(format!("QAT {bits} bits"), &qat.reference(&qat.convert()?)?, &data)?;
    }
    Ok(report)
}

fn mapping(qconfig: QConfig) -> QConfigMapping {
    QConfigMapping::new().global(qconfig)
}

/// Integers of that many bits for weights, a scale for each channel.
fn weight(observer: ObserverConfig, bits: u32) -> ObserverConfig {
    let half = 1 << (bits - 1);
    observer.dtype(DType::QInt8).qscheme(QScheme::PerChannelSymmetric).quant_range(-half, half - 1)
}

fn qat_qconfig(bits: u32) -> QConfig {
    let activation = ObserverConfig::moving_average_min_max().quant_range(0, (1 << bits) - 1);
    QConfig { activation, weight: weight(ObserverConfig::moving_average_per_channel_min_max(0), bits) }
}

/// The model quantized after training, with the observer that is best on the validation pictures.
fn ptq(float: &GraphModule, bits: u32, data: &Data) -> Result<(&'static str, GraphModule)> {
    let observers = [
        ("min-max", ObserverConfig::min_max()),
        ("histogram", ObserverConfig::histogram()),
        ("percentile", ObserverConfig::percentile(99.9)),
        ("MSE", ObserverConfig::mse()),
    ];
    let mut best: Option<(f64, &'static str, GraphModule)> = None;
    for (name, observer) in observers {
        let activation = observer.quant_range(0, (1 << bits) - 1);
        let qconfig = QConfig { activation, weight: weight(ObserverConfig::per_channel_min_max(0), bits) };
        let quantized = calibrated(float, qconfig, &data.train)?;
        let found = accuracy(&quantized, &data.validation)?;
        if best.as_ref().is_none_or(|(known, ..)| found > *known) {
            best = Some((found, name, quantized));
        }
    }
    best.map(|(_, name, quantized)| (name, quantized)).ok_or_else(|| "there is no observer".into())
}

/// Observes all training pictures, a hundred at a time.
fn calibrated(float: &GraphModule, qconfig: QConfig, part: &Part) -> Result<GraphModule> {
    let mut prepared = prepare(float, &mapping(qconfig), ENGINE)?;
    for pictures in part.pictures.split(100, 0) {
        prepared.forward(&[value(pictures)])?;
    }
    Ok(prepared.reference(&prepared.convert()?)?)
}
