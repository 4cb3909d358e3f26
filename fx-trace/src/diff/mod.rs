//! Two traces compared: what ran, how often and how long, for each iteration, and whether the difference is more than noise.
//!
//! Times are exclusive, in nanoseconds, so that the rows of a device add up to what it did. Each iteration of each rank is a
//! sample; means are compared by Welch's test, and the p-values of all rows together are corrected for their number by the
//! procedure of Benjamini and Hochberg (1995).

mod provenance;
mod samples;
mod welch;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::compare::{LabeledTrace, Options};
use crate::error::{Error, Result};
use crate::event::Device;
use crate::ops_diff::OpsDiff;
pub use provenance::{Ran, Replacement};
use samples::{Key, Sample, Samples};

/// A difference is called significant below this probability of its arising by chance.
pub const SIGNIFICANCE: f64 = 0.05;

/// Two traces, operator by operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The label of the first trace.
    pub control: String,
    /// The label of the second.
    pub test: String,
    /// How many iterations there are of each; 0 where the traces mark none, and each counts as one as a whole.
    pub iterations: [usize; 2],
    /// How long an iteration takes, if the traces mark them.
    pub step: Option<Row>,
    /// One for each name and device, those whose time changed most first.
    pub rows: Vec<Row>,
    /// Which nodes of the control trace's graph are another kernel's work in the test trace, those that save most first; of
    /// traces that fx wrote.
    pub replacements: Vec<Replacement>,
    /// The nodes of the control trace's graph that nothing stands for in the test trace.
    pub gone: Vec<Ran>,
}

/// An operator, an annotation or a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name, shortened where that was asked for.
    pub name: String,
    /// Where it ran.
    pub device: &'static str,
    /// In the control trace.
    pub control: Side,
    /// In the test trace.
    pub test: Side,
    /// The probability of a difference in time as large by chance, corrected for the number of rows; `None` where one
    /// side has fewer than two iterations.
    pub p_value: Option<f64>,
}

/// What one trace has of a row, for each iteration. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// How often it runs.
    pub counts: f64,
    /// Its mean time, without what runs inside it.
    pub exclusive: f64,
    /// The standard deviation of that between iterations.
    pub deviation: f64,
    /// Its mean time with what runs inside it.
    pub inclusive: f64,
}

impl Row {
    /// By how much more often it runs in the test trace.
    pub fn diff_counts(&self) -> f64 {
        self.test.counts - self.control.counts
    }

    /// By how many nanoseconds it takes longer in the test trace.
    pub fn diff_exclusive(&self) -> f64 {
        self.test.exclusive - self.control.exclusive
    }

    /// Whether the difference in time is more than noise; `None` where that cannot be told.
    pub fn is_significant(&self) -> Option<bool> {
        self.p_value.map(|p| p < SIGNIFICANCE)
    }
}

impl Comparison {
    /// The names that came, went, or run more or less often, in alphabetical order. One that both devices have counts once.
    pub fn ops_diff(&self) -> OpsDiff {
        let mut counts = BTreeMap::<&str, [f64; 2]>::new();
        for row in &self.rows {
            let [control, test] = counts.entry(&row.name).or_default();
            *control += row.control.counts;
            *test += row.test.counts;
        }
        OpsDiff::of(counts.into_iter().map(|(name, [control, test])| (name, control, test)))
    }

    /// For each name of the control trace whose nodes were replaced: each of these with what replaced it.
    pub fn replaced(&self) -> BTreeMap<&str, Vec<(&Ran, &Replacement)>> {
        let mut by_name = BTreeMap::<&str, Vec<(&Ran, &Replacement)>>::new();
        for replacement in &self.replacements {
            for ran in &replacement.replaced {
                by_name.entry(&ran.name).or_default().push((ran, replacement));
            }
        }
        by_name
    }

    /// The exclusive time of all rows of a device, in nanoseconds for each iteration, in the control and the test trace.
    pub fn total(&self, device: Device) -> [f64; 2] {
        let rows = || self.rows.iter().filter(|row| row.device == device.name());
        rows().fold([0.0, 0.0], |[control, test], row| [control + row.control.exclusive, test + row.test.exclusive])
    }
}

/// Compares two traces. Without a selection these are the first rank and all iterations.
pub fn compare_traces(control: &LabeledTrace, test: &LabeledTrace, options: &Options) -> Result<Comparison> {
    let left = Samples::of(control, &options.control, options)?;
    let right = Samples::of(test, &options.test, options)?;
    match (left.steps.is_empty(), right.steps.is_empty()) {
        (true, false) => return Err(Error::NoIterations { label: control.label.clone() }),
        (false, true) => return Err(Error::NoIterations { label: test.label.clone() }),
        _ => {}
    }
    let keys: BTreeSet<&Key> = left.rows.keys().chain(right.rows.keys()).collect();
    let mut rows: Vec<Row> = keys.into_iter().map(|key| row(key, &left, &right)).collect();
    correct(&mut rows);
    rows.sort_by(|a, b| {
        b.diff_exclusive().abs().total_cmp(&a.diff_exclusive().abs()).then_with(|| a.name.cmp(&b.name))
    });
    let step = (!left.steps.is_empty()).then(|| Row {
        name: "ProfilerStep".to_owned(),
        device: Device::Cpu.name(),
        control: side(&left.steps, left.steps.len()),
        test: side(&right.steps, right.steps.len()),
        p_value: p_value(&left.steps, left.steps.len(), &right.steps, right.steps.len()),
    });
    let (control, test) = (control.label.clone(), test.label.clone());
    let replacements = provenance::replacements(&left, &right);
    let gone = provenance::gone(&left, &right, &replacements);
    let iterations = [left.steps.len(), right.steps.len()];
    Ok(Comparison { control, test, iterations, step, rows, replacements, gone })
}

fn row(key: &Key, left: &Samples, right: &Samples) -> Row {
    let samples = |side: &Samples| -> Vec<Sample> {
        side.rows.get(key).map(BTreeMap::values).into_iter().flatten().copied().collect()
    };
    let (control, test) = (samples(left), samples(right));
    Row {
        name: key.name.clone(),
        device: key.device.name(),
        control: side(&control, left.count()),
        test: side(&test, right.count()),
        p_value: p_value(&control, left.count(), &test, right.count()),
    }
}

/// Means over so many iterations; one without a sample did not run the operator.
fn side(samples: &[Sample], count: usize) -> Side {
    // An empty sum of floats is -0.
    let mean = |value: fn(&Sample) -> f64| {
        samples.iter().map(value).fold(0.0, |sum, value| sum + value) / welch::double(count)
    };
    let (exclusive, variance) = welch::mean_and_variance(&exclusive(samples, count));
    Side {
        counts: mean(|sample| sample.counts),
        exclusive,
        deviation: variance.unwrap_or(0.0).sqrt(),
        inclusive: mean(|sample| sample.inclusive),
    }
}

fn exclusive(samples: &[Sample], count: usize) -> Vec<f64> {
    let mut values: Vec<f64> = samples.iter().map(|sample| sample.exclusive).collect();
    values.resize(count, 0.0);
    values
}

fn p_value(control: &[Sample], control_count: usize, test: &[Sample], test_count: usize) -> Option<f64> {
    welch::p_value(&exclusive(control, control_count), &exclusive(test, test_count))
}

/// Benjamini and Hochberg's correction: the k-th smallest of n p-values, times n / k, and no larger than its successors'.
fn correct(rows: &mut [Row]) {
    let mut values: Vec<&mut f64> = rows.iter_mut().filter_map(|row| row.p_value.as_mut()).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let count = values.len();
    let mut least = 1.0_f64;
    for (position, value) in values.into_iter().enumerate() {
        least = least.min(*value * welch::double(count) / welch::double(count - position));
        *value = least;
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Side, correct};

    #[test]
    fn corrected_for_their_number() {
        // The example of R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH"), and one value that is large.
        let corrected = |values: &[f64]| {
            let row = |p: &f64| Row {
                name: String::new(),
                device: "cpu",
                control: Side::default(),
                test: Side::default(),
                p_value: Some(*p),
            };
            let mut rows: Vec<Row> = values.iter().map(row).collect();
            correct(&mut rows);
            rows.iter().map(|row| format!("{:.3}", row.p_value.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(corrected(&[0.01, 0.02, 0.03, 0.04, 0.05]), ["0.050"; 5]);
        assert_eq!(corrected(&[0.001, 0.9, 0.02]), ["0.003", "0.900", "0.030"]);
    }
}
