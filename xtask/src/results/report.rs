//! RESULTS.md, from the records.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ablation;
use super::record::{Outcome, Record, Row};

/// The contender that all others are compared with: ours at its best.
const OURS: [&str; 3] = ["fx best", "fx graphs", "fx frozen"];
/// The contender whose values are the reference.
const REFERENCE: &str = "eager";
/// How the name of a record ends in which ours is compared with itself.
const ABLATIONS: &str = "-ablation";

/// The whole file.
pub(super) fn render(records: &[Record]) -> String {
    let mut out = String::from(HEAD);
    for record in records {
        section(&mut out, record);
    }
    out
}

const HEAD: &str = "# Results

Written by `cargo xtask results`; every single time is in `results/`. Latency of one forward, all contenders in turns in
one run, each a process of its own with the same weights and inputs. `fx frozen` is the generated type, `fx eager` the
same model as written, both in Rust; `eager`, `jit` (TorchScript, frozen and optimised for inference), `compile`
(torch.compile with freezing) and `ort` (ONNX Runtime) are what a PyTorch user would run. On CUDA `fx best` has measured its
kernels and is recorded as a CUDA graph, whose outputs the next call overwrites, as those of `compile-graphs` (torch.compile's
mode `reduce-overhead`) and of `eager-graphs` (eager, recorded) are. Ratios count; times are this machine's. A workload is model:batch:dtype. In a section of an ablation, ours is compared with itself, one thing that makes it
fast left out at a time: packed kernels (ATen's operators instead), the layout (axes in the default order), Winograd's
algorithm and products on tile registers, and passes that the build left out.
";

fn section(out: &mut String, record: &Record) {
    let names = names(record);
    let machine = &record.machine;
    let gpu = machine.gpu.as_ref().map_or(String::new(), |gpu| format!("; {gpu}"));
    let memory = machine.memory_gib.map_or(String::new(), |gib| format!(", {gib:.0} GiB"));
    let _ = write!(
        out,
        "\n## {}\n\n{}, {} cores{memory}{gpu}; {}; {}.\n",
        record.name,
        machine.cpu,
        machine.cores,
        machine.system,
        versions(record)
    );
    if record.name.ends_with(ABLATIONS) {
        let names: Vec<String> = names.into_iter().filter(|name| name != ablation::ALL).collect();
        table(out, "Time without one part, divided by the time with all", record, &names, ratio_to_ours);
        return failures(out, record);
    }
    table(out, "Milliseconds, median and in brackets minimum", record, &names, |_, outcome| {
        Some(format!("{} ({})", digits(outcome.median()?), digits(outcome.minimum()?)))
    });
    table(out, "Time divided by ours, by medians and in brackets by minima", record, &names, ratio_to_ours);
    table(out, "Seconds from the eager model to the first result", record, &names, |_, outcome| {
        outcome.failed.is_none().then(|| format!("{:.2}", outcome.ready_s))
    });
    table(out, "Largest memory of the process while it serves, MiB of the host", record, &names, |_, outcome| {
        Some(format!("{:.0}", outcome.peak_mib?))
    });
    table(out, "Largest difference to PyTorch, relative, in the first 8 values", record, &names, |row, outcome| {
        Some(format!("{:.1e}", difference(row, outcome)?))
    });
    summary(out, record);
    failures(out, record);
}

fn ratio_to_ours(row: &Row, outcome: &Outcome) -> Option<String> {
    let ours = ours(row)?;
    let ratio = |other: Option<f64>, ours: Option<f64>| Some(format!("{:.2}", other? / ours?));
    Some(format!("{} ({})", ratio(outcome.median(), ours.median())?, ratio(outcome.minimum(), ours.minimum())?))
}

/// Every contender of the record, in the order in which they appear.
fn names(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for outcome in record.workloads.iter().flat_map(|row| &row.contenders) {
        if !names.contains(&outcome.name) {
            names.push(outcome.name.clone());
        }
    }
    names
}

fn versions(record: &Record) -> String {
    let outcomes = record.workloads.iter().flat_map(|row| &row.contenders);
    let all: BTreeMap<_, _> = outcomes.flat_map(|outcome| &outcome.versions).collect();
    all.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
}

fn table(
    out: &mut String,
    title: &str,
    record: &Record,
    names: &[String],
    cell: impl Fn(&Row, &Outcome) -> Option<String>,
) {
    let cells = |row: &Row| -> Vec<Option<String>> {
        let outcome = |name: &String| row.contenders.iter().find(|outcome| outcome.name == *name);
        names.iter().map(|name| outcome(name).and_then(|outcome| cell(row, outcome))).collect()
    };
    let rows: Vec<_> = record.workloads.iter().map(|row| (&row.workload, cells(row))).collect();
    if rows.iter().all(|(_, cells)| cells.iter().all(Option::is_none)) {
        return;
    }
    let _ = write!(out, "\n{title}:\n\n| workload | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (workload, cells) in rows {
        let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
        let _ = writeln!(out, "| {workload} | {} |", cells.join(" | "));
    }
}

/// How we stand against the best rival of each workload.
fn summary(out: &mut String, record: &Record) {
    let _ = write!(out, "\nAgainst the best rival of each workload, by medians:\n\n");
    for row in &record.workloads {
        let rivals = row.contenders.iter().filter(|outcome| !outcome.name.starts_with("fx "));
        let timed = rivals.filter_map(|outcome| Some((outcome.median()?, &outcome.name)));
        let best = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
        if let (Some((time, name)), Some(ours)) = (best, ours(row).and_then(Outcome::median)) {
            let _ = writeln!(out, "* {}: {:.2} times as fast as {name}", row.workload, time / ours);
        }
    }
}

fn failures(out: &mut String, record: &Record) {
    for row in &record.workloads {
        for outcome in &row.contenders {
            if let Some(reason) = &outcome.failed {
                let _ = writeln!(out, "\n{} did not run {}: {reason}", outcome.name, row.workload);
            }
        }
    }
}

fn ours(row: &Row) -> Option<&Outcome> {
    let named =
        |name: &&str| row.contenders.iter().find(|outcome| outcome.name == **name && !outcome.times_ms.is_empty());
    OURS.iter().find_map(named)
}

fn difference(row: &Row, outcome: &Outcome) -> Option<f64> {
    let reference = row.contenders.iter().find(|outcome| outcome.name == REFERENCE)?;
    let largest = reference.values.iter().map(|value| value.abs()).max_by(f64::total_cmp)?;
    let pairs = outcome.values.iter().zip(&reference.values);
    pairs.map(|(a, b)| (a - b).abs() / largest).max_by(f64::total_cmp)
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}
