//! A histogram that grows with its range, and the observers that read a range off it.

use std::fmt;

use tch::{Device, Kind, Tensor};

use super::super::QParams;
use super::{Observer, Statistic, not_a_number, search, unseen};
use crate::ffi::operator::{Operator, Value};
use crate::qparams::{Rule, calculate_qparams};
use crate::{Error, Result};

/// How much finer the old bins are cut before they are put into new ones.
const UPSAMPLE_RATE: i64 = 16;

/// A histogram of all values seen: what `HistogramObserver` of torch 2.11 keeps.
///
/// Counting and putting old bins into new ones are libtorch's own operators, so that the counts are PyTorch's.
pub(crate) struct RunningHistogram {
    name: &'static str,
    rule: Rule,
    bins: i64,
    choice: Choice,
    seen: Option<Seen>,
}

/// Which range is read off a histogram.
#[derive(Clone, Copy, Debug)]
enum Choice {
    NormMinimization,
    Percentile(f64),
    Mse,
}

/// The counts, and the range that they cover.
struct Seen {
    counts: Tensor,
    min: f32,
    max: f32,
}

impl RunningHistogram {
    pub(super) fn new(name: &'static str, rule: Rule, bins: usize, of: &Statistic) -> Result<RunningHistogram> {
        let refused = |reason: String| Err(Error::Quantization { site: name.to_owned(), reason });
        if bins == 0 {
            return refused("a histogram has at least one bin".to_owned());
        }
        let choice = match *of {
            Statistic::Percentile { percentile, .. } if !(0.0..=100.0).contains(&percentile) || percentile == 0.0 => {
                return refused(format!("{percentile} is no share in percent"));
            }
            Statistic::Percentile { percentile, .. } => Choice::Percentile(percentile),
            Statistic::Mse { .. } => Choice::Mse,
            _ => Choice::NormMinimization,
        };
        Ok(RunningHistogram { name, rule, bins: i64::try_from(bins).unwrap_or(i64::MAX), choice, seen: None })
    }

    fn count(&self, xs: &Tensor, min: f32, max: f32) -> Result<Tensor> {
        let range = [Value::Float(f64::from(min)), Value::Float(f64::from(max))];
        let [min, max] = range;
        one(Operator::find("aten::histc", "")?.call(&[Value::from(xs), Value::Int(self.bins), min, max])?)
    }

    /// The counts of the old range in the bins of the new one.
    fn upscaled(&self, seen: &Seen, min: f32, max: f32) -> Result<Tensor> {
        let fine = self.bins * UPSAMPLE_RATE;
        let counts =
            seen.counts.f_repeat_interleave_self_int(UPSAMPLE_RATE, None, None)?.f_div_scalar(UPSAMPLE_RATE)?;
        let width = (seen.max - seen.min) / float(fine);
        let middles = linspace(seen.min, seen.max, fine + 1)?.f_narrow(0, 0, fine)?;
        let middles = middles.f_add_scalar(f64::from(0.5 * width))?;
        let buckets = middles.f_bucketize(&linspace(min, max, self.bins + 1)?, false, true)?;
        let buckets = buckets.f_sub_scalar(1)?.f_clamp(0, self.bins - 1)?;
        Ok(buckets.f_bincount(Some(counts), self.bins)?)
    }

    /// What was seen before in the bins of the new range, which holds the old one.
    fn carried(&self, seen: &Seen, min: f32, max: f32) -> Result<Tensor> {
        if seen.min.to_bits() == min.to_bits() && seen.max.to_bits() == max.to_bits() {
            return Ok(seen.counts.shallow_clone());
        }
        if seen.min >= seen.max {
            let all = seen.counts.f_sum(None::<Kind>)?;
            return Ok(self.count(&Tensor::from_slice(&[seen.min]), min, max)?.f_mul(&all)?);
        }
        self.upscaled(seen, min, max)
    }
}

impl Observer for RunningHistogram {
    fn name(&self) -> &'static str {
        self.name
    }

    fn observe(&mut self, xs: &Tensor) -> Result<()> {
        // Counts are kept on the CPU, where libtorch's operators are those that PyTorch's numbers are from.
        let mut xs = xs.f_detach()?.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?;
        let Some(mut bounds) = extremes(&xs)? else { return Ok(()) };
        if bounds.0.is_nan() || bounds.1.is_nan() {
            return Err(not_a_number(self.name));
        }
        if bounds.0.is_infinite() || bounds.1.is_infinite() {
            // Infinite values are cut off when they are quantized; the range is that of the others.
            xs = xs.f_masked_select(&xs.f_isfinite()?)?;
            let Some(finite) = extremes(&xs)? else { return Ok(()) };
            bounds = finite;
        }
        let (min, max) = match &self.seen {
            None => bounds,
            Some(seen) => (seen.min.min(bounds.0), seen.max.max(bounds.1)),
        };
        let mut counts = self.count(&xs, min, max)?;
        if let Some(seen) = &self.seen {
            counts = counts.f_add(&self.carried(seen, min, max)?)?;
        }
        self.seen = Some(Seen { counts, min, max });
        Ok(())
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        let seen = self.seen.as_ref().ok_or_else(|| unseen(self.name))?;
        let counts = seen.counts.f_to_device(tch::Device::Cpu)?;
        let bins = search::Bins { counts: Vec::try_from(&counts)?, min: seen.min, max: seen.max };
        let (min, max) = match self.choice {
            // A range of PyTorch's search has 2^bits places, whatever the range of integers is.
            Choice::NormMinimization => search::norm_minimization(&bins, &counts, 1_i64 << self.rule.dtype.bits())?,
            Choice::Percentile(share) => bins.percentile(share),
            Choice::Mse => bins.least_squares(self.rule.range.steps()),
        };
        calculate_qparams(&self.rule, &[min], &[max])
    }

    fn reset(&mut self) {
        self.seen = None;
    }
}

/// The smallest and the largest element, if there is one.
fn extremes(xs: &Tensor) -> Result<Option<(f32, f32)>> {
    if xs.numel() == 0 {
        return Ok(None);
    }
    let (min, max) = xs.f_aminmax(None, false)?;
    Ok(Some((f32::try_from(min)?, f32::try_from(max)?)))
}

fn linspace(from: f32, to: f32, steps: i64) -> Result<Tensor> {
    let (from, to) = (Value::Float(f64::from(from)), Value::Float(f64::from(to)));
    one(Operator::find("aten::linspace", "")?.call(&[from, to, Value::Int(steps)])?)
}

/// The one tensor that an operator yields.
fn one(results: Vec<Value>) -> Result<Tensor> {
    match results.into_iter().next() {
        Some(Value::Tensor(tensor)) => Ok(tensor),
        other => Err(Error::Refused(format!("an operator yields {other:?} and not a tensor"))),
    }
}

/// A count as PyTorch has it beside `f32`.
#[expect(clippy::cast_precision_loss, reason = "numbers of bins are small")]
pub(super) fn float(count: i64) -> f32 {
    count as f32
}

impl fmt::Debug for RunningHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = self.seen.as_ref().map(|seen| (seen.min, seen.max));
        f.debug_struct(self.name).field("bins", &self.bins).field("range", &range).finish_non_exhaustive()
    }
}
