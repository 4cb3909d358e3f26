//! A graph whose layers compute on codes of eight bits: PyTorch's `convert_fx`.
//!
//! A pattern whose inputs, weight and result have parameters becomes one kernel. Between kernels the codes go on as they
//! are; what computes on floats reads dequantized values, and where codes are wanted of a float they are made once. A
//! result that nothing reads as codes stays f32. What has no kernel is computed on floats, neither its inputs nor its
//! weight rounded: more exact than the reference form, and faster.
//!
//! | file | which question it answers |
//! |---|---|
//! | `lowering.rs` | which patterns become kernels, and which form each value has |
//! | `kernels.rs`, `layer.rs`, `request.rs` | which kernel a pattern becomes |
//! | `modules.rs` | kernels as modules that a graph calls |
//! | `coverage.rs` | which share of a model that is, and why the rest is in floats |

mod coverage;
mod kernels;
mod layer;
mod lowering;
mod modules;
mod request;

pub use self::coverage::{Coverage, LayerCoverage, coverage};
use self::lowering::Lowering;
use super::QParamsFile;
use super::patterns::{self, Pattern};
use super::{bias_correction, equalization};
use crate::graph_module::GraphModule;
use crate::{Error, Result};

/// The graph of a live model in inference mode with kernels on codes of eight bits; the module itself stays as it is.
///
/// Its inputs and outputs are those of the module, f32 on the CPU. A node that yields codes has the notes `site`, `scale`,
/// `zero_point` and `value_of` (the node of the module whose value they stand for) in its `meta`. It can be printed, profiled and run, and
/// [`GraphModule::freeze`] brings what is left in floats into packed kernels.
///
/// ```
/// use fx_runtime::graph_module::{GraphModule, Value, value};
/// use fx_runtime::quant::{QConfigMapping, QEngine, prepare, quantize};
/// use fx_runtime::{Device, Kind, Tensor, instance::Tracer, nn};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let fc = nn::linear(vs.root(), 64, 32, nn::LinearConfig::default());
/// let mut t = Tracer::new("net");
/// let xs = t.input("xs", true);
/// let ys = t.module("fc", &fc, &[&xs], 1);
/// let net: GraphModule = t.finish(&[&ys])?;
///
/// let xs = Tensor::randn([2, 64], (Kind::Float, Device::Cpu));
/// let mut observed = prepare(&net, &QConfigMapping::for_engine(QEngine::Fx), QEngine::Fx)?;
/// observed.forward(&[value(&xs)])?;
/// let int8 = quantize(&net, &observed.convert()?)?;
/// let (Value::Tensor(ys), Value::Tensor(exact)) = (int8.run(&[value(&xs)])?, net.run(&[value(&xs)])?) else {
///     panic!("one tensor each")
/// };
/// assert!(fx_runtime::quant::sqnr(&exact, &ys)? > 25.0);
/// # Ok::<(), fx_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Quantization`] if the parameters are another graph's, the module is in training mode, or weights and
/// parameters do not fit each other.
pub fn quantize(module: &GraphModule, qparams: &QParamsFile) -> Result<GraphModule> {
    let _no_grad = tch::no_grad_guard();
    let module = corrected(module, qparams)?;
    let patterns = patterns::patterns(&module, qparams.engine);
    lowered(module, qparams, &patterns)?.finished()
}

/// The module with batch norms folded, channels equalized and biases corrected, if the parameters are its own.
fn corrected(module: &GraphModule, qparams: &QParamsFile) -> Result<GraphModule> {
    let mut equalized = equalized(module, qparams)?;
    bias_correction::correct(&mut equalized, qparams)?;
    Ok(equalized)
}

/// The module with batch norms folded and channels equalized, if the parameters are its own.
pub(super) fn equalized(module: &GraphModule, qparams: &QParamsFile) -> Result<GraphModule> {
    let graph = module.graph();
    if let Some(reason) = qparams.mismatch(&graph.name, &QParamsFile::fingerprint(graph)) {
        return Err(Error::Quantization { site: graph.name.clone(), reason });
    }
    let mut folded = patterns::folded(module)?;
    equalization::equalize(&mut folded, &qparams.equalization)?;
    Ok(folded)
}

/// The graph with a kernel beside each pattern that has one.
fn lowered<'q>(module: GraphModule, qparams: &'q QParamsFile, patterns: &'q [Pattern]) -> Result<Lowering<'q>> {
    let mut lowering = Lowering::new(module, qparams, patterns);
    for (at, pattern) in patterns.iter().enumerate() {
        lowering.pattern(at, pattern)?;
    }
    Ok(lowering)
}
