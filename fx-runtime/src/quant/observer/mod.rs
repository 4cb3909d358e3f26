//! Observers: what is remembered of the values at a place, and the quantization parameters that follow from it.
//!
//! The classes, their arguments and their numbers, bit for bit, are those of `torch.ao.quantization.observer` in torch
//! 2.11; [`ObserverConfig`] is what `with_args` makes there. [`ObserverConfig::percentile`] and [`ObserverConfig::mse`]
//! are of our own.
//!
//! | data | here | PyTorch |
//! |---|---|---|
//! | none at all | an error | scale 1, zero point 0 and a warning |
//! | empty tensors | ignored | ignored |
//! | NaN | an error when it is observed | an assertion later, of some observers |
//! | infinite, histogram | ignored | ignored, with a warning |
//! | infinite, the others | an error when parameters are asked for | an infinite scale |
//! | a constant `c` | a scale of `|c|` over the steps, of 0 `eps` | the same |

mod config;
mod extremes;
mod histogram;
mod search;

use std::fmt;

use tch::Tensor;

pub use self::config::{ObserverConfig, Statistic};
pub(crate) use self::extremes::Extremes;
pub(crate) use self::histogram::RunningHistogram;
use super::QParams;
use crate::{Error, Result};

/// Remembers something of the values that it sees.
pub trait Observer: fmt::Debug {
    /// PyTorch's name of the class, for instance `MinMaxObserver`.
    fn name(&self) -> &'static str;

    /// Takes a value in, of any shape; an empty one is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if it holds NaN, [`Error::Torch`] if libtorch refuses.
    fn observe(&mut self, xs: &Tensor) -> Result<()>;

    /// The quantization parameters for what was seen.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if nothing was seen, if it was not finite, or if the observer knows no parameters.
    fn calculate_qparams(&self) -> Result<QParams>;

    /// Forgets what was seen.
    fn reset(&mut self);
}

/// The same parameters whatever is seen: PyTorch's `FixedQParamsObserver`.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) QParams);

impl Observer for Fixed {
    fn name(&self) -> &'static str {
        "FixedQParamsObserver"
    }

    fn observe(&mut self, _: &Tensor) -> Result<()> {
        Ok(())
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        Ok(self.0.clone())
    }

    fn reset(&mut self) {}
}

/// Sees nothing and knows no parameters: PyTorch's `PlaceholderObserver`, `NoopObserver` and `ReuseInputObserver`.
#[derive(Debug)]
pub(crate) struct Blind {
    pub(crate) name: &'static str,
    /// Why it knows none.
    pub(crate) reason: &'static str,
}

impl Observer for Blind {
    fn name(&self) -> &'static str {
        self.name
    }

    fn observe(&mut self, _: &Tensor) -> Result<()> {
        Ok(())
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        Err(Error::Quantization { site: self.name.to_owned(), reason: self.reason.to_owned() })
    }

    fn reset(&mut self) {}
}

/// The error of an observer that has seen no value.
pub(crate) fn unseen(name: &str) -> Error {
    let reason = "it has seen no value; run the prepared model on calibration data first".to_owned();
    Error::Quantization { site: name.to_owned(), reason }
}

/// The error of a value with NaN.
fn not_a_number(name: &str) -> Error {
    Error::Quantization { site: name.to_owned(), reason: "the observed value holds NaN".to_owned() }
}
