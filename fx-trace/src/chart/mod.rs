//! Charts of a comparison: three bars a name, as HTA's `visualize_counts_diff` and `visualize_duration_diff` draw them.
//!
//! A chart is data first ([`Chart`]); [`Chart::svg`] draws it for a page, [`Chart::text`] for a terminal.

mod svg;
mod text;

use std::collections::BTreeMap;

use crate::diff::Comparison;
use crate::hta::Table;
use crate::iteration::STEP;
use crate::short_name::shorten_name;

/// How many names a chart shows.
pub const TOP: usize = 10;

/// Bars in groups of three: control, test, difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What the bars measure, with its unit.
    pub axis: String,
    /// What the three bars of a group are.
    pub series: [String; 3],
    /// A group for each name.
    pub groups: Vec<Group>,
}

/// The bars of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The whole name.
    pub name: String,
    /// Control, test, difference.
    pub bars: [f64; 3],
}

/// What charts can be drawn of: names with counts and times in two traces.
pub trait Compared {
    /// The labels of the two traces.
    fn labels(&self) -> [&str; 2];

    /// What a time is, with its unit.
    fn time_axis(&self) -> &'static str;

    /// Each name with its counts and its times, both in the control and in the test trace.
    fn names(&self) -> Vec<(&str, [f64; 2], [f64; 2])>;
}

impl Compared for Table {
    fn labels(&self) -> [&str; 2] {
        [&self.control, &self.test]
    }

    fn time_axis(&self) -> &'static str {
        "Total Duration (us)"
    }

    fn names(&self) -> Vec<(&str, [f64; 2], [f64; 2])> {
        let row = |row: &'_ crate::hta::Row| {
            let (control, test) = (row.control, row.test);
            ([control.counts, test.counts], [control.total_duration, test.total_duration])
        };
        self.rows.iter().map(|each| (each.name.as_str(), row(each).0, row(each).1)).collect()
    }
}

impl Compared for Comparison {
    fn labels(&self) -> [&str; 2] {
        [&self.control, &self.test]
    }

    fn time_axis(&self) -> &'static str {
        "Exclusive time per iteration (us)"
    }

    fn names(&self) -> Vec<(&str, [f64; 2], [f64; 2])> {
        let row = |row: &'_ crate::diff::Row| {
            let (control, test) = (row.control, row.test);
            ([control.counts, test.counts], [control.exclusive / 1000.0, test.exclusive / 1000.0])
        };
        self.rows.iter().map(|each| (each.name.as_str(), row(each).0, row(each).1)).collect()
    }
}

/// The chart of how often the names ran whose counts changed most.
pub fn visualize_counts_diff(compared: &impl Compared) -> Chart {
    chart(compared, "Ops Count Comparison", "Count", |(_, counts, _)| *counts)
}

/// The chart of how long the names took whose times changed most.
pub fn visualize_duration_diff(compared: &impl Compared) -> Chart {
    chart(compared, "Ops Duration Comparison", compared.time_axis(), |(_, _, times)| *times)
}

/// The names that changed most, without those that did not, and without the marks of iterations, which are no operators.
fn chart(
    compared: &impl Compared,
    title: &str,
    axis: &str,
    measure: impl Fn(&(&str, [f64; 2], [f64; 2])) -> [f64; 2],
) -> Chart {
    let names = compared.names();
    let mut groups: Vec<Group> = names
        .iter()
        .filter(|(name, ..)| !name.starts_with(STEP))
        .map(|row| {
            let [control, test] = measure(row);
            Group { name: row.0.to_owned(), bars: [control, test, test - control] }
        })
        .filter(|group| group.bars[2] != 0.0)
        .collect();
    groups.sort_by(|a, b| b.bars[2].abs().total_cmp(&a.bars[2].abs()).then_with(|| a.name.cmp(&b.name)));
    groups.truncate(TOP);
    let [control, test] = compared.labels().map(str::to_owned);
    Chart { title: title.to_owned(), axis: axis.to_owned(), series: [control, test, "Difference".to_owned()], groups }
}

impl Chart {
    /// What the groups are called in so many letters: those that look alike then are numbered.
    fn labels(&self, room: usize) -> Vec<String> {
        let mut seen = BTreeMap::<String, usize>::new();
        let label = |group: &Group| {
            // As long as ` (10)`.
            let label = fitted(&group.name, room.saturating_sub(5));
            let count = seen.entry(label.clone()).or_default();
            *count += 1;
            if *count == 1 { label } else { format!("{label} ({count})") }
        };
        self.groups.iter().map(label).collect()
    }
}

/// A name in so many letters: whole, or without its arguments, or the beginning and the end of that, which tell kernels apart.
pub fn fitted(name: &str, room: usize) -> String {
    let is_short = |name: &str| name.chars().count() <= room;
    if is_short(name) {
        return name.to_owned();
    }
    let name = shorten_name(name);
    if is_short(&name) {
        return name;
    }
    let letters: Vec<char> = name.chars().collect();
    let kept = room.saturating_sub(1);
    let (front, back) = (kept - kept / 2, kept / 2);
    let beginning: String = letters.iter().take(front).collect();
    let end: String = letters.iter().skip(letters.len() - back).collect();
    format!("{beginning}…{end}")
}

/// A number with as many digits as people compare.
fn short_number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 1e6 => format!("{:.2}M", value / 1e6),
        _ if size >= 1e4 => format!("{:.1}k", value / 1e3),
        _ if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Chart, Group, fitted, short_number};

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(fitted("aten::add", 9), "aten::add");
        assert_eq!(fitted("void at::relu<float>(float*)", 10), "at::relu");
        assert_eq!(fitted("volta_sgemm_64x32_tn", 11), "volta…32_tn");
    }

    #[test]
    fn names_that_look_alike_are_numbered() {
        let group = |name: &str| Group { name: name.to_owned(), bars: [1.0, 0.0, -1.0] };
        let groups = vec![group("void k<int>(int)"), group("add"), group("void k<float>(float)")];
        let chart = Chart { title: String::new(), axis: String::new(), series: Default::default(), groups };
        assert_eq!(chart.labels(12), ["k", "add", "k (2)"]);
    }

    #[test]
    fn numbers() {
        let shown = [0.0, 3.0, 12.345, 123.4, 12_345.0, -2_500_000.0].map(short_number);
        assert_eq!(shown, ["0", "3", "12.35", "123", "12.3k", "-2.50M"]);
    }
}
