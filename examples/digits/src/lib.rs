//! Handwritten digits in floats, quantized after training (PTQ), and trained quantization-aware (QAT).
//!
//! One model is trained in floats. Then it goes on for as many epochs in three ways, each from the same weights, with the same
//! pictures in the same order and at the same rates: in floats, by QAT at 8 bits and by QAT at 4 bits. PTQ starts from the
//! model that went on in floats, so that QAT has not trained longer, and has the observers, of four for values and two for
//! weights, that are best on the validation pictures. Weights and activations both have that many bits.
//!
//! What to read from the table, and what not:
//!
//! * Nothing that runs here chooses by the test pictures. The model itself was chosen as one that 4 bits hurt, with all
//!   accuracies in sight: separable convolutions, with one scale for a whole weight. An ordinary convolutional net with a scale
//!   for each channel lost nothing to PTQ at 4 bits, and QAT gained nothing there.
//! * All float models find every training picture, so that there is little left to learn: at 8 bits PTQ, QAT and floats
//!   differ in at most a few of 359 pictures, and their order means nothing.
//! * A share of 96 % of 359 pictures has a standard error of one percentage point.

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

const ENGINE: QEngine = QEngine::Qnnpack;

/// How long is trained.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Epochs of the first model.
    pub first: u64,
    /// Epochs of each that goes on from it.
    pub further: u64,
}

/// One model, made from several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How it was made.
    pub name: String,
    /// The shares of right answers on the validation pictures, from 0 to 1, one for each seed.
    pub validation: Vec<f64>,
    /// The same on the test pictures.
    pub test: Vec<f64>,
}

/// The accuracies of all models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In the order in which they were made.
    pub rows: Vec<Row>,
}

impl Report {
    /// The mean accuracy on the test pictures of the model of that name.
    pub fn test(&self, name: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.name == name).map(|row| mean(&row.test))
    }

    fn add(&mut self, name: impl Into<String>, model: &GraphModule, data: &Data) -> Result<()> {
        let name = name.into();
        let position = self.rows.iter().position(|row| row.name == name).unwrap_or(self.rows.len());
        if position == self.rows.len() {
            self.rows.push(Row { name, validation: Vec::new(), test: Vec::new() });
        }
        self.rows[position].validation.push(accuracy(model, &data.validation)?);
        self.rows[position].test.push(accuracy(model, &data.test)?);
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few seeds")]
fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// A table of percentages: means, and the test pictures' by seed.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:16}  {:>10}  {:>5}  test by seed", "model, in %", "validation", "test")?;
        for Row { name, validation, test } in &self.rows {
            let seeds: Vec<String> = test.iter().map(|share| format!("{:.1}", 100.0 * share)).collect();
            let (validation, test) = (100.0 * mean(validation), 100.0 * mean(test));
            writeln!(f, "{name:16}  {validation:>10.2}  {test:>5.2}  {}", seeds.join(" "))?;
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

/// Trains and quantizes all models, once from each seed.
///
/// # Errors
///
/// If libtorch refuses or a model cannot be quantized.
pub fn run(budget: Budget, seeds: &[i64]) -> Result<Report> {
    // The model is too small for more.
    tch::set_num_threads(1);
    let data = Data::read()?;
    let mut report = Report::default();
    for &seed in seeds {
        tch::manual_seed(seed);
        models(budget, &data, &mut report)?;
    }
    Ok(report)
}

fn models(budget: Budget, data: &Data, report: &mut Report) -> Result<()> {
    let first = Live::new(None)?;
    train(&first.graph, &first.vs, &data.train, budget.first, 0.05)?;
    report.add("float", &first.graph, data)?;

    let float = Live::new(Some(&first))?;
    train(&float.graph, &float.vs, &data.train, budget.further, 0.02)?;
    report.add("float, continued", &float.graph, data)?;
    for bits in [8, 4] {
        report.add(format!("PTQ {bits} bits"), &ptq(&float.graph, bits, data)?, data)?;
        let live = Live::new(Some(&first))?;
        let qat = prepare_qat(&live.graph, &mapping(qat_qconfig(bits)), ENGINE)?;
        train(&qat, &live.vs, &data.train, budget.further, 0.02)?;
        report.add(format!("QAT {bits} bits"), &qat.reference(&qat.convert()?)?, data)?;
    }
    Ok(())
}

fn mapping(qconfig: QConfig) -> QConfigMapping {
    QConfigMapping::new().global(qconfig)
}

/// Integers of that many bits for weights, one scale for all channels, as kernels of mobile CPUs have it.
fn weight(observer: ObserverConfig, bits: u32) -> ObserverConfig {
    let half = 1 << (bits - 1);
    observer.dtype(DType::QInt8).qscheme(QScheme::PerTensorSymmetric).quant_range(-half, half - 1)
}

fn qat_qconfig(bits: u32) -> QConfig {
    let activation = ObserverConfig::moving_average_min_max().quant_range(0, (1 << bits) - 1);
    QConfig { activation, weight: weight(ObserverConfig::moving_average_min_max(), bits) }
}

/// The model quantized after training, with the observers that are best on the validation pictures.
fn ptq(float: &GraphModule, bits: u32, data: &Data) -> Result<GraphModule> {
    let observers = [
        ObserverConfig::min_max(),
        ObserverConfig::histogram(),
        ObserverConfig::percentile(99.9),
        ObserverConfig::mse(),
    ];
    let of_weights = [ObserverConfig::min_max(), ObserverConfig::mse()];
    let pairs = observers.iter().flat_map(|observer| of_weights.iter().map(move |of_weight| (observer, of_weight)));
    let mut best: Option<(f64, GraphModule)> = None;
    for (observer, of_weight) in pairs {
        let activation = observer.clone().quant_range(0, (1 << bits) - 1);
        let qconfig = QConfig { activation, weight: weight(of_weight.clone(), bits) };
        let quantized = calibrated(float, qconfig, &data.train)?;
        let found = accuracy(&quantized, &data.validation)?;
        if best.as_ref().is_none_or(|(known, _)| found > *known) {
            best = Some((found, quantized));
        }
    }
    best.map(|(_, quantized)| quantized).ok_or_else(|| "there is no observer".into())
}

/// Observes all training pictures, a hundred at a time.
fn calibrated(float: &GraphModule, qconfig: QConfig, part: &Part) -> Result<GraphModule> {
    let mut prepared = prepare(float, &mapping(qconfig), ENGINE)?;
    for pictures in part.pictures.split(100, 0) {
        prepared.forward(&[value(pictures)])?;
    }
    Ok(prepared.reference(&prepared.convert()?)?)
}
