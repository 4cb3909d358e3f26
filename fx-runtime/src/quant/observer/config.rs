//! Which observer is made, and with which arguments.

use std::rc::Rc;

use super::super::{
    DType, FakeQuantize, FakeQuantizer, FixedQParamsFakeQuantize, FusedMovingAvgObsFakeQuantize, QParams, QScheme,
    QuantRange,
};
use super::{Blind, Extremes, Fixed, Observer, RunningHistogram};
use crate::qparams::Rule;
use crate::{Error, Result};

/// What an observer remembers, by PyTorch's classes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statistic {
    /// `MinMaxObserver`: the extremes of all values.
    MinMax,
    /// `MovingAverageMinMaxObserver`: `m += averaging_constant * (batch - m)` for each extreme, from the first batch on.
    MovingAverageMinMax {
        /// How much a batch counts, from 0 to 1.
        averaging_constant: f64,
    },
    /// `PerChannelMinMaxObserver`: the extremes for each index along an axis.
    PerChannelMinMax {
        /// The axis.
        ch_axis: i64,
    },
    /// `MovingAveragePerChannelMinMaxObserver`: both.
    MovingAveragePerChannelMinMax {
        /// How much a batch counts, from 0 to 1.
        averaging_constant: f64,
        /// The axis.
        ch_axis: i64,
    },
    /// `HistogramObserver`: a histogram, from which the range with the least squared error is searched.
    Histogram {
        /// Its number of bins.
        bins: usize,
    },
    /// The same histogram; the range leaves out the outermost share of the values on either side. Not of PyTorch's.
    Percentile {
        /// Its number of bins.
        bins: usize,
        /// The share that is kept, in percent, for instance 99.99.
        percentile: f64,
    },
    /// The same histogram; the range with the least squared error of what is rounded and of what is cut off, among 100
    /// narrower ones. Not of PyTorch's.
    Mse {
        /// Its number of bins.
        bins: usize,
    },
    /// `FixedQParamsObserver`: whatever is seen, these.
    FixedQParams {
        /// The scale.
        scale: f32,
        /// The zero point.
        zero_point: i64,
    },
    /// `PlaceholderObserver`: nothing, where parameters are computed at each call or there are none.
    Placeholder {
        /// Whether they are computed at each call.
        is_dynamic: bool,
    },
    /// `ReuseInputObserver`: the observer of the input stands for the output as well.
    ReuseInput,
    /// `NoopObserver`: nothing.
    Noop,
}

/// An observer to be made: its statistic and the arguments that all of PyTorch's have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ObserverConfig {
    /// What is remembered.
    pub statistic: Statistic,
    /// The integers.
    pub dtype: DType,
    /// How numbers are laid over them.
    pub qscheme: QScheme,
    /// Whether one bit of the integers is left unused, which older CPUs need against overflow.
    pub reduce_range: bool,
    /// The smallest and the largest integer, in place of the type's own.
    pub quant_range: Option<(i64, i64)>,
    /// The smallest scale.
    pub eps: f32,
}

/// The number of bins that PyTorch takes.
const BINS: usize = 2048;

impl ObserverConfig {
    /// That statistic for `quint8`, per tensor and affine: PyTorch's defaults.
    pub fn new(statistic: Statistic) -> ObserverConfig {
        ObserverConfig {
            statistic,
            dtype: DType::QUInt8,
            qscheme: QScheme::PerTensorAffine,
            reduce_range: false,
            quant_range: None,
            eps: f32::EPSILON,
        }
    }

    /// PyTorch's `MinMaxObserver`.
    pub fn min_max() -> ObserverConfig {
        ObserverConfig::new(Statistic::MinMax)
    }

    /// PyTorch's `MovingAverageMinMaxObserver`, whose constant is 0.01.
    pub fn moving_average_min_max() -> ObserverConfig {
        ObserverConfig::new(Statistic::MovingAverageMinMax { averaging_constant: 0.01 })
    }

    /// PyTorch's `PerChannelMinMaxObserver` along an axis, for `quint8` per channel and affine.
    pub fn per_channel_min_max(ch_axis: i64) -> ObserverConfig {
        ObserverConfig::new(Statistic::PerChannelMinMax { ch_axis }).qscheme(QScheme::PerChannelAffine)
    }

    /// PyTorch's `MovingAveragePerChannelMinMaxObserver` along an axis.
    pub fn moving_average_per_channel_min_max(ch_axis: i64) -> ObserverConfig {
        let statistic = Statistic::MovingAveragePerChannelMinMax { averaging_constant: 0.01, ch_axis };
        ObserverConfig::new(statistic).qscheme(QScheme::PerChannelAffine)
    }

    /// PyTorch's `HistogramObserver` with its 2048 bins.
    pub fn histogram() -> ObserverConfig {
        ObserverConfig::new(Statistic::Histogram { bins: BINS })
    }

    /// The range of that share of the values, in percent.
    pub fn percentile(percentile: f64) -> ObserverConfig {
        ObserverConfig::new(Statistic::Percentile { bins: BINS, percentile })
    }

    /// The range with the least squared error.
    pub fn mse() -> ObserverConfig {
        ObserverConfig::new(Statistic::Mse { bins: BINS })
    }

    /// PyTorch's `FixedQParamsObserver`.
    pub fn fixed_qparams(scale: f32, zero_point: i64) -> ObserverConfig {
        ObserverConfig::new(Statistic::FixedQParams { scale, zero_point })
    }

    /// PyTorch's `PlaceholderObserver`.
    pub fn placeholder(is_dynamic: bool) -> ObserverConfig {
        ObserverConfig::new(Statistic::Placeholder { is_dynamic })
    }

    /// PyTorch's `ReuseInputObserver`.
    pub fn reuse_input() -> ObserverConfig {
        ObserverConfig::new(Statistic::ReuseInput)
    }

    /// The same for other integers.
    #[must_use]
    pub fn dtype(self, dtype: DType) -> ObserverConfig {
        ObserverConfig { dtype, ..self }
    }

    /// The same with another scheme.
    #[must_use]
    pub fn qscheme(self, qscheme: QScheme) -> ObserverConfig {
        ObserverConfig { qscheme, ..self }
    }

    /// The same with one bit left unused, or not.
    #[must_use]
    pub fn reduce_range(self, reduce_range: bool) -> ObserverConfig {
        ObserverConfig { reduce_range, ..self }
    }

    /// The same on these integers alone.
    #[must_use]
    pub fn quant_range(self, quant_min: i64, quant_max: i64) -> ObserverConfig {
        ObserverConfig { quant_range: Some((quant_min, quant_max)), ..self }
    }

    /// The same with another smallest scale.
    #[must_use]
    pub fn eps(self, eps: f32) -> ObserverConfig {
        ObserverConfig { eps, ..self }
    }

    /// The integers that are used.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the user's own range has no zero, is empty, or is wider than the dtype.
    pub fn range(&self) -> Result<QuantRange> {
        let whole = self.dtype.range(false);
        let Some((quant_min, quant_max)) = self.quant_range else { return Ok(self.dtype.range(self.reduce_range)) };
        let refused = |why: &str| {
            Err(self.refused(format!("the range of integers from {quant_min} to {quant_max} {why} ({})", self.dtype)))
        };
        if quant_min > 0 || quant_max < 0 {
            return refused("has no zero");
        }
        if quant_min >= quant_max {
            return refused("is empty");
        }
        if quant_min < whole.quant_min || quant_max > whole.quant_max {
            return refused("is wider than the dtype");
        }
        if self.reduce_range {
            // Source: `calculate_qmin_qmax`, which divides and rounds down.
            return Ok(QuantRange { quant_min: quant_min.div_euclid(2), quant_max: quant_max.div_euclid(2) });
        }
        Ok(QuantRange { quant_min, quant_max })
    }

    /// A fresh observer.
    ///
    /// # Errors
    ///
    /// Those of [`ObserverConfig::range`]; [`Error::Quantization`] if scheme and statistic do not go together.
    pub fn build(&self) -> Result<Box<dyn Observer>> {
        let rule = self.rule()?;
        let is_per_channel = self.ch_axis().is_some();
        if self.qscheme.is_per_channel() != is_per_channel {
            return Err(self.refused(format!("{} does not go with the scheme {}", self.name(), self.qscheme)));
        }
        let blind = |reason| Box::new(Blind { name: self.name(), reason });
        Ok(match self.statistic {
            Statistic::MinMax | Statistic::PerChannelMinMax { .. } => Box::new(Extremes::new(self.name(), rule, None)),
            Statistic::MovingAverageMinMax { averaging_constant }
            | Statistic::MovingAveragePerChannelMinMax { averaging_constant, .. } => {
                Box::new(Extremes::new(self.name(), rule, Some(averaging_constant)))
            }
            Statistic::Histogram { bins } | Statistic::Percentile { bins, .. } | Statistic::Mse { bins } => {
                Box::new(RunningHistogram::new(self.name(), rule, bins, &self.statistic)?)
            }
            Statistic::FixedQParams { scale, zero_point } => {
                let fixed = QParams::per_tensor(self.dtype, self.qscheme, scale, zero_point);
                let QuantRange { quant_min, quant_max } = rule.range;
                Box::new(Fixed(QParams { quant_min, quant_max, ..fixed }))
            }
            Statistic::Placeholder { .. } => blind("its parameters are computed at each call"),
            Statistic::ReuseInput => blind("the observer of its input stands for it"),
            Statistic::Noop => blind("it observes nothing"),
        })
    }

    /// Fake quantization with what such an observer sees, as PyTorch's `get_default_qat_qconfig` chooses it: moving
    /// averages by libtorch's one kernel, fixed parameters as they are, and any other observer by itself.
    ///
    /// # Errors
    ///
    /// Those of [`ObserverConfig::build`].
    pub(crate) fn fake_quantizer(&self) -> Result<Rc<dyn FakeQuantizer>> {
        Ok(match self.statistic {
            Statistic::MovingAverageMinMax { .. } | Statistic::MovingAveragePerChannelMinMax { .. } => {
                Rc::new(FusedMovingAvgObsFakeQuantize::new(self)?)
            }
            Statistic::FixedQParams { .. } => Rc::new(FixedQParamsFakeQuantize::new(self)?),
            _ => Rc::new(FakeQuantize::new(self)?),
        })
    }

    /// The class's name, PyTorch's where PyTorch has it.
    pub fn name(&self) -> &'static str {
        match self.statistic {
            Statistic::MinMax => "MinMaxObserver",
            Statistic::MovingAverageMinMax { .. } => "MovingAverageMinMaxObserver",
            Statistic::PerChannelMinMax { .. } => "PerChannelMinMaxObserver",
            Statistic::MovingAveragePerChannelMinMax { .. } => "MovingAveragePerChannelMinMaxObserver",
            Statistic::Histogram { .. } => "HistogramObserver",
            Statistic::Percentile { .. } => "PercentileObserver",
            Statistic::Mse { .. } => "MseObserver",
            Statistic::FixedQParams { .. } => "FixedQParamsObserver",
            Statistic::Placeholder { .. } => "PlaceholderObserver",
            Statistic::ReuseInput => "ReuseInputObserver",
            Statistic::Noop => "NoopObserver",
        }
    }

    fn ch_axis(&self) -> Option<i64> {
        match self.statistic {
            Statistic::PerChannelMinMax { ch_axis } | Statistic::MovingAveragePerChannelMinMax { ch_axis, .. } => {
                Some(ch_axis)
            }
            _ => None,
        }
    }

    pub(crate) fn rule(&self) -> Result<Rule> {
        Ok(Rule {
            dtype: self.dtype,
            scheme: self.qscheme,
            range: self.range()?,
            is_custom_range: self.quant_range.is_some(),
            eps: self.eps,
            axis: self.ch_axis(),
        })
    }

    fn refused(&self, reason: String) -> Error {
        Error::Quantization { site: self.name().to_owned(), reason }
    }
}
