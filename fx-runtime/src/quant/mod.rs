//! Quantization as torch.fx's graph mode has it: observers, their parameters, and where in a graph they stand.
//!
//! | module | which question it answers |
//! |---|---|
//! | `dtype`, `qparams` | which integers stand for which numbers |
//! | `observer/` | which parameters fit the values that are seen |

mod dtype;
mod observer;
mod qparams;

pub use self::dtype::{DType, QScheme, QuantRange};
pub use self::observer::{Observer, ObserverConfig, Statistic};
pub use self::qparams::{QParams, ZeroPoint};
