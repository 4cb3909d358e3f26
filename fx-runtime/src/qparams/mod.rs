//! Quantization parameters as data: which integers stand for which numbers, and the file that says so of a model.
//!
//! The layer below freezing, which reads it; how parameters are learned is [`quant`](crate::quant)'s.

mod dtype;
mod engine;
mod equalization;
mod file;
mod params;
mod weight;

pub use self::dtype::{DType, QScheme, QuantRange};
pub use self::engine::QEngine;
pub use self::equalization::Equalization;
pub use self::file::QParamsFile;
pub(crate) use self::file::fault;
pub use self::params::{QParams, ZeroPoint};
pub(crate) use self::params::{Rule, calculate_qparams, wrapped};
pub(crate) use self::weight::Coded;
pub use self::weight::{DynamicFormat, WeightFormat};
