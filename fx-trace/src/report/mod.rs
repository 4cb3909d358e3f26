//! A comparison as people read it: a few sentences, a table, five lists, two charts.
//!
//! The report is data; a terminal prints its parts, and [`Report::html`] makes one page of it.

mod html;
mod provenance;

use crate::chart::{Chart, visualize_counts_diff, visualize_duration_diff};
use crate::diff::{self, Comparison};
use crate::event::Device;
use crate::hta::Table;
use crate::ops_diff::OpsDiff;

/// All that is shown of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What is compared with what.
    pub title: String,
    /// What came out of it, a sentence each.
    pub summary: Vec<String>,
    /// Names by how their counts changed.
    pub ops: OpsDiff,
    /// What replaced what, a sentence each: `conv1 (Conv + bn1 + relu) replaced conv1, bn1, relu: ..`.
    pub replacements: Vec<String>,
    /// For each name that went wholly or in part, what its work became.
    pub removed: Vec<(String, Vec<String>)>,
    /// Heads of the table.
    pub columns: Vec<String>,
    /// The table: the name, then numbers.
    pub rows: Vec<Vec<String>>,
    /// Counts, and times.
    pub charts: [Chart; 2],
}

impl From<&Comparison> for Report {
    fn from(comparison: &Comparison) -> Self {
        let (control, test) = (&comparison.control, &comparison.test);
        let columns = ["name", "device", "counts", "counts", "time", "time", "difference", "", "p"];
        let labels = ["", "", control, test, control, test, "", "", ""];
        let columns = columns.iter().zip(labels).map(|(column, label)| joined(column, label)).collect();
        Self {
            title: format!("{control} against {test}"),
            summary: summary(comparison),
            ops: comparison.ops_diff(),
            replacements: comparison.replacements.iter().map(provenance::sentence).collect(),
            removed: provenance::removed(comparison),
            columns,
            rows: comparison.rows.iter().map(row).collect(),
            charts: [visualize_counts_diff(comparison), visualize_duration_diff(comparison)],
        }
    }
}

impl From<&Table> for Report {
    fn from(table: &Table) -> Self {
        let (control, test) = (&table.control, &table.test);
        let columns = [
            "name".to_owned(),
            format!("{control}_counts"),
            format!("{control}_total_duration"),
            format!("{test}_counts"),
            format!("{test}_total_duration"),
            "diff_counts".to_owned(),
            "diff_duration".to_owned(),
            "counts_change_categories".to_owned(),
        ];
        let row = |row: &crate::hta::Row| {
            let (control, test) = (row.control, row.test);
            let numbers = [control.counts, control.total_duration, test.counts, test.total_duration];
            let numbers =
                numbers.into_iter().chain([row.diff_counts(), row.diff_duration()]).map(|value| value.to_string());
            let change = row.counts_change_category().to_string();
            std::iter::once(row.name.clone()).chain(numbers).chain([change]).collect()
        };
        Self {
            title: format!("{control} against {test}, as HTA compares them"),
            summary: vec![format!("{} names; durations are microseconds, with those of children", table.rows.len())],
            ops: table.ops_diff(),
            replacements: Vec::new(),
            removed: Vec::new(),
            columns: columns.to_vec(),
            rows: table.rows.iter().map(row).collect(),
            charts: [visualize_counts_diff(table), visualize_duration_diff(table)],
        }
    }
}

fn joined(column: &str, label: &str) -> String {
    if label.is_empty() { column.to_owned() } else { format!("{column}, {label}") }
}

fn summary(comparison: &Comparison) -> Vec<String> {
    let [control, test] = comparison.iterations;
    let mut summary = vec![match &comparison.step {
        Some(_) => format!("{control} and {test} iterations; times are means of one, without what runs inside"),
        None => "no iterations are marked, so that the traces are compared as wholes, without a test of significance"
            .to_owned(),
    }];
    if let Some(step) = &comparison.step {
        summary.push(format!("an iteration: {}", change(step.control.exclusive, step.test.exclusive, step.p_value)));
    }
    for device in [Device::Cpu, Device::Gpu] {
        let [control, test] = comparison.total(device);
        if control > 0.0 || test > 0.0 {
            let what = match device {
                Device::Cpu => "all threads of the CPU",
                Device::Gpu => "all streams of the GPU",
            };
            summary.push(format!("{what}: {}", change(control, test, None)));
        }
    }
    summary.extend(provenance::summary(comparison));
    let differ = |rows: &[diff::Row]| rows.iter().filter(|row| row.is_significant() == Some(true)).count();
    if comparison.rows.iter().any(|row| row.p_value.is_some()) {
        let names = comparison.rows.len();
        let differ = differ(&comparison.rows);
        summary.push(format!(
            "{differ} of {names} names differ in time by more than noise (Welch's test, p < {})",
            diff::SIGNIFICANCE
        ));
    }
    summary
}

/// `1.00 ms → 1.50 ms (+50.0 %)`.
fn change(control: f64, test: f64, p_value: Option<f64>) -> String {
    let p = p_value.map(|p| format!(", p {}", related(&probability(p)))).unwrap_or_default();
    format!("{} → {} ({}{p})", time(control), time(test), ratio(control, test))
}

fn row(row: &diff::Row) -> Vec<String> {
    let (control, test) = (row.control, row.test);
    let spread = |side: diff::Side| match side.deviation / side.exclusive * 100.0 {
        percent if percent > 0.0 => format!("{} ±{percent:.0} %", time(side.exclusive)),
        _ => time(side.exclusive),
    };
    vec![
        row.name.clone(),
        row.device.to_owned(),
        count(control.counts),
        count(test.counts),
        spread(control),
        spread(test),
        signed_time(row.diff_exclusive()),
        ratio(control.exclusive, test.exclusive),
        row.p_value.map(probability).unwrap_or_default(),
    ]
}

/// Nanoseconds with three digits and their unit.
pub fn time(nanoseconds: f64) -> String {
    let size = nanoseconds.abs();
    match size {
        _ if size >= 1e9 => format!("{:.3} s", nanoseconds / 1e9),
        _ if size >= 1e6 => format!("{:.2} ms", nanoseconds / 1e6),
        _ if size >= 1e3 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{nanoseconds:.0} ns"),
    }
}

fn signed_time(nanoseconds: f64) -> String {
    if nanoseconds > 0.0 { format!("+{}", time(nanoseconds)) } else { time(nanoseconds) }
}

fn ratio(control: f64, test: f64) -> String {
    match (control > 0.0, test > 0.0) {
        (false, true) => "new".to_owned(),
        (true, false) => "gone".to_owned(),
        (false, false) => String::new(),
        (true, true) => format!("{:+.1} %", (test / control - 1.0) * 100.0),
    }
}

fn count(counts: f64) -> String {
    if counts.fract() == 0.0 { format!("{counts:.0}") } else { format!("{counts:.1}") }
}

/// `= 0.03`, or `< 0.001` as it is.
fn related(probability: &str) -> String {
    if probability.starts_with('<') { probability.to_owned() } else { format!("= {probability}") }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::{change, probability, ratio, time};

    #[test]
    fn as_people_read() {
        assert_eq!([12.0, 1_500.0, 77_490_833.0, 2.5e9].map(time), ["12 ns", "1.50 µs", "77.49 ms", "2.500 s"]);
        assert_eq!(change(2e6, 3e6, Some(0.02)), "2.00 ms → 3.00 ms (+50.0 %, p = 0.020)");
        assert_eq!((ratio(0.0, 1.0), ratio(1.0, 0.0)), ("new".to_owned(), "gone".to_owned()));
        assert_eq!(probability(0.000_9), "< 0.001");
    }
}
