//! `TraceDiff` as Holistic Trace Analysis 0.6 computes it, bit for bit.
//!
//! Kept for tables that must agree with older ones. Its peculiarities are documented where they are: times rounded to
//! microseconds so that short events last 0 or -1, the time of a child counted again in its parent, stream 0 left out, one
//! iteration alone, an event of number 0 that nothing links to. [`crate::compare_traces`] has none of them.
//!
//! Where begins are whole microseconds and durations are not, which Kineto never writes, the last bit of HTA's sums depends
//! on the order of a Python set; here it is that of the exact sum.

mod columns;
mod files;
mod table;

use std::collections::BTreeMap;

pub use files::open;
pub use table::{Row, Side, Table};

use crate::compare::{DeviceType, LabeledTrace, Options, Selection};
use crate::error::{Error, Result};
use crate::ops_diff::OpsDiff;
use crate::short_name::shorten_name;
use columns::columns;
use table::Sums;

/// HTA's `TraceDiff.compare_traces`: without a selection it compares the first rank and the first iteration.
pub fn compare_traces(control: &LabeledTrace, test: &LabeledTrace, options: &Options) -> Result<Table> {
    let side = |trace, selection| sums(trace, selection, options.device, options.short_names);
    let (control_sums, test_sums) = (side(control, &options.control)?, side(test, &options.test)?);
    // HTA means to add `_control` to the one label and `_test` to the other.
    let same = control.label == test.label;
    let test = if same { format!("{}_control_test", test.label) } else { test.label.clone() };
    Ok(Table::join(control.label.clone(), test, &control_sums, &test_sums))
}

/// HTA's `TraceDiff.ops_diff`, which never shortens names.
pub fn ops_diff(control: &LabeledTrace, test: &LabeledTrace, options: &Options) -> Result<OpsDiff> {
    let table = compare_traces(control, test, &Options { short_names: false, ..options.clone() })?;
    Ok(table.ops_diff())
}

/// Counts and durations of one side by name.
fn sums(labeled: &LabeledTrace, selection: &Selection, device: DeviceType, short_names: bool) -> Result<Sums> {
    let iterations = chosen_iterations(labeled, &selection.iterations)?;
    let mut sums = Sums::default();
    for trace in labeled.chosen(&selection.ranks)? {
        let columns = columns(trace);
        sums.is_float |= columns.durations_are_float;
        let mut by_symbol = BTreeMap::new();
        for (event, row) in trace.events.iter().zip(&columns.rows) {
            let on_device = match device {
                DeviceType::Cpu => event.stream == -1,
                DeviceType::Gpu => event.stream != -1,
                DeviceType::All => true,
            };
            if on_device && row.iteration.is_some_and(|iteration| iterations.contains(&iteration)) {
                let (counts, duration) = by_symbol.entry(event.name).or_insert((0, 0));
                *counts += 1;
                *duration += row.duration;
            }
        }
        for (symbol, (counts, duration)) in by_symbol {
            let name = trace.symbols.text(symbol);
            sums.add(if short_names { shorten_name(name) } else { name.to_owned() }, counts, duration);
        }
    }
    Ok(sums)
}

/// The chosen iterations; by default the first, where all symbols of all ranks are looked through.
fn chosen_iterations(labeled: &LabeledTrace, chosen: &[i64]) -> Result<Vec<i64>> {
    let mut available = Vec::<i64>::new();
    for trace in labeled.traces.ranks.values() {
        let numbers =
            trace.symbols.iter().filter_map(|(_, text)| text.strip_prefix("ProfilerStep#")?.trim().parse::<i64>().ok());
        available.extend(numbers);
    }
    available.sort_unstable();
    available.dedup();
    if let Some(absent) = chosen.iter().find(|number| !available.contains(number)) {
        return Err(labeled.absent("iteration", *absent, available));
    }
    match available.first() {
        None => Err(Error::NoIterations { label: labeled.label.clone() }),
        Some(first) if chosen.is_empty() => Ok(vec![*first]),
        Some(_) => Ok(chosen.to_vec()),
    }
}
