//! The table of `compare_traces`, and the text that pandas prints of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::ops_diff::OpsDiff;
use crate::units::{double, microseconds};

/// Counts and durations of one side, by name.
#[derive(Default)]
pub(super) struct Sums {
    by_name: BTreeMap<String, (i64, i64)>,
    pub(super) is_float: bool,
}

impl Sums {
    pub(super) fn add(&mut self, name: String, counts: i64, nanoseconds: i64) {
        let sums = self.by_name.entry(name).or_default();
        sums.0 += counts;
        sums.1 += nanoseconds;
    }
}

/// Counts and durations of operators in two traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// The label of the first trace.
    pub control: String,
    /// The label of the second.
    pub test: String,
    /// The names of the control trace in alphabetical order, then those of the test trace alone.
    pub rows: Vec<Row>,
    /// Which columns pandas prints with a point.
    #[serde(skip)]
    floats: [[bool; 2]; 2],
}

/// An operator or a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name, shortened where that was asked for.
    pub name: String,
    /// In the control trace.
    pub control: Side,
    /// In the test trace.
    pub test: Side,
}

/// What one trace has of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// How often it ran.
    pub counts: f64,
    /// Microseconds, with those of its children.
    pub total_duration: f64,
}

impl Row {
    /// Counts of the test trace less those of the control trace.
    pub fn diff_counts(&self) -> f64 {
        self.test.counts - self.control.counts
    }

    /// The difference in microseconds.
    pub fn diff_duration(&self) -> f64 {
        self.test.total_duration - self.control.total_duration
    }

    /// `+`, `-` or `=`, by the counts.
    pub fn counts_change_category(&self) -> char {
        match self.diff_counts() {
            diff if diff > 0.0 => '+',
            diff if diff < 0.0 => '-',
            _ => '=',
        }
    }
}

impl Table {
    pub(super) fn join(control: String, test: String, left: &Sums, right: &Sums) -> Self {
        let side = |sums: Option<&(i64, i64)>| {
            sums.map_or_else(Side::default, |(counts, duration)| Side {
                counts: double(*counts),
                total_duration: microseconds(*duration),
            })
        };
        let has_left_alone = left.by_name.keys().any(|name| !right.by_name.contains_key(name));
        let right_alone: Vec<&String> = right.by_name.keys().filter(|name| !left.by_name.contains_key(*name)).collect();
        // A missing value makes a column one of floats.
        let floats = [
            [!right_alone.is_empty(), !right_alone.is_empty() || left.is_float],
            [has_left_alone, has_left_alone || right.is_float],
        ];
        let rows = left.by_name.keys().chain(right_alone).map(|name| Row {
            name: name.clone(),
            control: side(left.by_name.get(name)),
            test: side(right.by_name.get(name)),
        });
        let rows = rows.collect();
        Self { control, test, rows, floats }
    }

    /// The five lists of this table's names.
    pub fn ops_diff(&self) -> OpsDiff {
        OpsDiff::of(self.rows.iter().map(|row| (row.name.as_str(), row.control.counts, row.test.counts)))
    }

    /// What `DataFrame.to_csv` writes of HTA's table.
    pub fn to_csv(&self, index: &str) -> String {
        let mut csv = String::new();
        let header = [
            index.to_owned(),
            format!("{}_counts", self.control),
            format!("{}_total_duration", self.control),
            format!("{}_counts", self.test),
            format!("{}_total_duration", self.test),
            "diff_counts".to_owned(),
            "diff_duration".to_owned(),
            "counts_change_categories".to_owned(),
        ];
        csv += &header.map(|column| quoted(&column)).join(",");
        csv.push('\n');
        let [left, right] = self.floats;
        let floats = [left[0], left[1], right[0], right[1], left[0] || right[0], left[1] || right[1]];
        for row in &self.rows {
            let values = [
                row.control.counts,
                row.control.total_duration,
                row.test.counts,
                row.test.total_duration,
                row.diff_counts(),
                row.diff_duration(),
            ];
            csv += &quoted(&row.name);
            for (value, is_float) in values.into_iter().zip(floats) {
                // `{:?}` is Python's repr: the shortest csv that is read as the same double, with a point.
                let _ = if is_float { write!(csv, ",{value:?}") } else { write!(csv, ",{value}") };
            }
            let _ = writeln!(csv, ",{}", row.counts_change_category());
        }
        csv
    }
}

/// A field of CSV, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
