//! Quantization as torch.fx's graph mode has it: observers, their parameters, and where in a graph they stand.
//!
//! ```text
//! let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx))?;
//! for xs in &batches { observed.forward(xs)?; }                  // calibrate
//! let qparams = observed.convert()?;                             // names -> parameters; a text file
//! let frozen = net.freeze(&Freeze::new().quantize(&qparams))?;   // on kernels of eight bits
//! let int8 = quantize(&net.graph_module()?, &qparams)?;          // the same as a graph
//! let reference = observed.reference(&qparams)?;                 // the same on floats, slow and right
//! ```
//!
//! `prepare` and `prepare_qat` are methods of every traceable type ([`Quantizable`]), and functions on graphs.
//!
//! | module | which question it answers |
//! |---|---|
//! | `observer/` | which parameters fit the values that are seen |
//! | `fake_quantize` | what a model trains with in place of integers |
//! | `config`, `engine` | which node is quantized how, and which kernels there are |
//! | `weighted`, `patterns`, `sites` | where in a graph values are observed |
//! | `prepare`, `file`, `reference` | calibration, its result, and the graph that computes with it |
//! | `int8/` | the graph whose layers compute on integers |
//! | `form` | a frozen type that computes on integers |
//! | `simulated` | the same numbers on floats, where there are no kernels on integers |
//! | `qat/` | the same graph in training: weights and values fake-quantized, batch norms folded |
//! | `accuracy` | how much each site loses |
//! | `equalization/` | channels of alike ranges: cross-layer equalization and smoothing |
//! | `bias_correction` | what rounding moves means by, taken out of biases |
//! | `weight_only` | linear layers and embeddings whose weights alone are integers |
//! | `dynamic/` | linear and recurrent layers whose inputs get their parameters at each call |

mod accuracy;
mod bias_correction;
mod config;
mod dynamic;
mod engine;
mod equalization;
mod fake_quantize;
mod file;
mod form;
mod int8;
mod observer;
mod patterns;
mod prepare;
mod qat;
mod reference;
mod simulated;
mod sites;
mod weight_only;
mod weighted;

pub use self::accuracy::{Accuracy, SiteAccuracy, sqnr};
pub use self::config::{QConfig, QConfigMapping};
pub use self::dynamic::{DynamicGRU, DynamicLSTM, DynamicLinear, quantize_dynamic};
pub use self::fake_quantize::{FakeQuantize, FakeQuantizer, FixedQParamsFakeQuantize, FusedMovingAvgObsFakeQuantize};
pub use self::form::Quantizable;
#[doc(hidden)]
pub use self::form::{Form, unquantized};
pub use self::int8::{Coverage, LayerCoverage, coverage, quantize};
pub use self::observer::{Observer, ObserverConfig, Statistic};
pub use self::prepare::{Prepared, prepare};
pub use self::qat::{PreparedQat, prepare_qat};
pub use self::sites::Site;
pub use self::weight_only::{WeightOnlyEmbedding, WeightOnlyLinear, quantize_weights};
pub use crate::qparams::{
    DType, DynamicFormat, Equalization, QEngine, QParams, QParamsFile, QScheme, QuantRange, WeightFormat, ZeroPoint,
};
