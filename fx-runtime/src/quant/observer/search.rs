//! Which part of a histogram's range is worth its integers.

use tch::{Kind, Tensor};

use crate::Result;

/// A histogram over a range.
pub(super) struct Bins {
    pub(super) counts: Vec<f32>,
    pub(super) min: f32,
    pub(super) max: f32,
}

/// How far each step of the search goes, as a share of all values.
const STEP: f64 = 1e-5;

/// How many ranges are tried for the least squared error.
const TRIALS: u32 = 100;

/// The range that PyTorch's `HistogramObserver` finds, with `places` integers.
///
/// From the whole range on it leaves out the bins of the next hundred-thousandth of the values, on the side where those
/// are more bins, until the error rises. Source: `_non_linear_param_search` of torch 2.11, after
/// `NormMinimization::NonlinearQuantizationParamsSearch` of caffe2.
pub(super) fn norm_minimization(bins: &Bins, counts: &Tensor, places: i64) -> Result<(f32, f32)> {
    let total = counts.f_sum(None::<Kind>)?.f_double_value(&[])?;
    let sums: Vec<f32> = Vec::try_from(counts.f_cumsum(0, None::<Kind>)?)?;
    let (mut alpha, mut beta) = (0.0, 1.0);
    let (mut start, mut end) = (0, bins.counts.len() - 1);
    let mut least = f64::INFINITY;
    while alpha < beta {
        let (next_alpha, next_beta) = (alpha + STEP, beta - STEP);
        let (mut left, mut right) = (start, end);
        // PyTorch compares an f32 tensor with the number as f32.
        while left < end && sums[left] < rounded(next_alpha * total) {
            left += 1;
        }
        while right > start && sums[right] > rounded(next_beta * total) {
            right -= 1;
        }
        let (mut next_start, mut next_end) = (start, end);
        if left - start > end - right {
            (next_start, alpha) = (left, next_alpha);
        } else {
            (next_end, beta) = (right, next_beta);
        }
        if (next_start, next_end) == (start, end) {
            continue;
        }
        let error = quantization_error(bins, next_start, next_end, places)?;
        if error > least {
            break;
        }
        (least, start, end) = (error, next_start, next_end);
    }
    let width = (bins.max - bins.min) / count(bins.counts.len());
    Ok((bins.min + width * count(start), bins.min + width * count(end + 1)))
}

/// The squared error of all values if the bins from `start` to `end` are cut into `places` equal parts, each of which
/// stands for its middle, and a bin's values are spread evenly over it.
///
/// Source: `_compute_quantization_error` of torch 2.11, in `f32` as there; libtorch takes the sum.
fn quantization_error(bins: &Bins, start: usize, end: usize, places: i64) -> Result<f64> {
    let width = (f64::from(bins.max) - f64::from(bins.min)) / f64::from(count(bins.counts.len()));
    let place = width * f64::from(count(end + 1) - count(start)) / f64::from(super::histogram::float(places));
    if place == 0.0 {
        return Ok(0.0);
    }
    let (bin, half, last) = (rounded(width), rounded(place / 2.0), super::histogram::float(places - 1));
    let place = rounded(place);
    let integral = |from: f32, to: f32| (to * to * to - from * from * from) / 3.0;
    let whole = integral(-half, half);
    let errors: Vec<f32> = bins
        .counts
        .iter()
        .enumerate()
        .map(|(at, &counted)| {
            let from = (count(at) - count(start)) * bin;
            let to = from + bin;
            let first = floor_divided(from, place).clamp(0.0, last);
            let behind = floor_divided(to, place).clamp(0.0, last);
            let density = counted / bin;
            let middle = (first + 0.5) * place;
            let mut error = density * integral(from - middle, half);
            error += (behind - first - 1.0) * (density * whole);
            error + density * integral(-half, to - (behind * place + half))
        })
        .collect();
    Ok(Tensor::f_from_slice(&errors)?.f_sum(None::<Kind>)?.f_double_value(&[])?)
}

/// `torch.div(a, b, rounding_mode="floor")` of a positive `b`.
///
/// Source: `c10::div_floor_floating`, which is Python's `//`.
fn floor_divided(a: f32, b: f32) -> f32 {
    let rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest < 0.0 {
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return 0.0_f32.copysign(a / b);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

impl Bins {
    /// The range that holds that share of the values, in percent, with as many left out on either side.
    pub(super) fn percentile(&self, share: f64) -> (f32, f32) {
        let total: f64 = self.counts.iter().map(|&counted| f64::from(counted)).sum();
        let cut = total * (1.0 - share / 100.0) / 2.0;
        let outer = |counts: &mut dyn Iterator<Item = &f32>| {
            let mut sum = 0.0;
            counts
                .take_while(|&&counted| {
                    sum += f64::from(counted);
                    sum <= cut
                })
                .count()
        };
        let left = outer(&mut self.counts.iter());
        let right = outer(&mut self.counts.iter().rev()).min(self.counts.len() - left);
        let width = (self.max - self.min) / count(self.counts.len());
        // The outermost bounds are exact.
        let low = if left == 0 { self.min } else { self.min + width * count(left) };
        let high = if right == 0 { self.max } else { self.max - width * count(right) };
        (low, high.max(low))
    }

    /// The range, one of [`TRIALS`] with both ends drawn towards zero alike, whose squared error is least: of a value
    /// within `step^2 / 12`, of one outside the square of its distance.
    pub(super) fn least_squares(&self, steps: f64) -> (f32, f32) {
        let width = (f64::from(self.max) - f64::from(self.min)) / f64::from(count(self.counts.len()));
        let (low, high) = (f64::from(self.min.min(0.0)), f64::from(self.max.max(0.0)));
        let error = |share: f64| {
            let (low, high) = (low * share, high * share);
            let step = (high - low) / steps;
            let of_bin = |(at, &counted): (usize, &f32)| {
                let value = f64::from(self.min) + width * (f64::from(count(at)) + 0.5);
                let outside = value - value.clamp(low, high);
                f64::from(counted) * if outside == 0.0 { step * step / 12.0 } else { outside * outside }
            };
            self.counts.iter().enumerate().map(of_bin).sum::<f64>()
        };
        let shares = (1..=TRIALS).rev().map(|trial| f64::from(trial) / f64::from(TRIALS));
        let best = shares.map(|share| (share, error(share))).min_by(|a, b| a.1.total_cmp(&b.1));
        let share = rounded(best.map_or(1.0, |(share, _)| share));
        (self.min.min(0.0) * share, self.max.max(0.0) * share)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch rounds numbers to f32 where they meet an f32 tensor")]
fn rounded(number: f64) -> f32 {
    number as f32
}

#[expect(clippy::cast_precision_loss, reason = "numbers of bins are small")]
fn count(bins: usize) -> f32 {
    bins as f32
}
