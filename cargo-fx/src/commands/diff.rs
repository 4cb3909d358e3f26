//! `cargo fx diff`: two traces compared, in a table, charts, JSON or a page.

mod png;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use fx_trace::chart::fitted;
use fx_trace::report::Report;
use fx_trace::{DeviceType, LabeledTrace, OpsDiff, Selection, TraceSet, compare_traces, hta};
use serde::Serialize;
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;

/// How wide a table and a chart are where the terminal does not say.
const WIDTH: u16 = 120;

/// How much of a name is shown, however narrow the terminal is.
const SHORTEST_NAME: usize = 16;

/// Of how many nodes of a name that went the successors are printed.
const SHOWN_REMOVED: usize = 3;

/// Compare two traces: which operators and kernels came, went, and became faster or slower
///
/// CONTROL and TEST are traces that PyTorch's profiler or fx wrote (`.json` or `.json.gz`), or folders with one for each
/// rank. By default the means of all iterations (`ProfilerStep#N`) are compared, in exclusive time: that of an operator
/// without those that it calls. `p` is the probability that a difference as large is noise.
///
/// Exit code: 0 done, 1 they differ and `--fail-on-diff` is given, 2 a trace cannot be read.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx diff eager.json.gz frozen.json.gz\n  cargo fx diff eager.json.gz frozen.json.gz \
                  --device gpu --short-names --html diff.html\n  cargo fx diff before/ after/ --rank 0 --iteration 3,4 --json"
)]
pub(crate) struct Options {
    /// The trace to compare with: a file, or a folder with one for each rank
    control: PathBuf,
    /// The trace to be judged
    test: PathBuf,
    /// Compare events of the `cpu` (operators), of the `gpu` (kernels), or `all`
    #[arg(long, default_value_t, value_name = "DEVICE")]
    device: DeviceType,
    /// Leave arguments and template arguments out of names, and add up what is then called the same
    #[arg(long)]
    short_names: bool,
    /// Ranks of both traces, separated by commas; the first by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rank: Vec<i64>,
    /// Ranks of TEST, where they are others
    #[arg(long, value_name = "N", value_delimiter = ',')]
    test_rank: Vec<i64>,
    /// Iterations of both traces, separated by commas: the N of `ProfilerStep#N`; all by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    iteration: Vec<i64>,
    /// Iterations of TEST, where they are others
    #[arg(long, value_name = "N", value_delimiter = ',')]
    test_iteration: Vec<i64>,
    /// Compute what Holistic Trace Analysis does: the first iteration, whole microseconds, with the time of children,
    /// without stream 0
    #[arg(long)]
    hta_compat: bool,
    /// How many rows of the table to print
    #[arg(long, default_value_t = 20, value_name = "N")]
    rows: usize,
    /// Print JSON instead, with all rows
    #[arg(long)]
    json: bool,
    /// Write a page with all tables and charts, which needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the chart of times; that of counts goes beside it, as `NAME-counts.svg`
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the charts as PNG, two as with `--svg`; letters are drawn with the fonts of this machine
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// End with code 1 if a count differs, or a time by more than noise
    #[arg(long)]
    fail_on_diff: bool,
}

/// A comparison of either kind.
struct Compared {
    report: Report,
    json: serde_json::Value,
    differs: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let compared = if options.hta_compat { compare_as_hta(options)? } else { compare(options)? };
    if let Some(path) = &options.html {
        write(path, &compared.report.html()?)?;
    }
    let [counts, times] = &compared.report.charts;
    if let Some(path) = &options.svg {
        write(path, &times.svg()?)?;
        write(&beside(path), &counts.svg()?)?;
    }
    if let Some(path) = &options.png {
        write(path, png::of(&times.svg()?)?)?;
        write(&beside(path), png::of(&counts.svg()?)?)?;
    }
    let text = if options.json { format!("{:#}\n", compared.json) } else { printed(&compared.report, options.rows) };
    Ok(Outcome { text, code: u8::from(options.fail_on_diff && compared.differs) })
}

fn compare(options: &Options) -> Result<Compared, Failure> {
    let [control, test] = labels(&options.control, &options.test);
    let selected = options.selected();
    let control = LabeledTrace::new(control, TraceSet::open_ranks(&options.control, &selected.control.ranks)?);
    let test = LabeledTrace::new(test, TraceSet::open_ranks(&options.test, &selected.test.ranks)?);
    let comparison = compare_traces(&control, &test, &selected)?;
    let ops = comparison.ops_diff();
    let differs = ops.is_change() || comparison.rows.iter().any(|row| row.is_significant() == Some(true));
    Ok(Compared { report: Report::from(&comparison), json: with_ops(&comparison, &ops)?, differs })
}

fn compare_as_hta(options: &Options) -> Result<Compared, Failure> {
    let control = LabeledTrace::new("Control", hta::open(&options.control)?);
    let test = LabeledTrace::new("Test", hta::open(&options.test)?);
    let table = hta::compare_traces(&control, &test, &options.selected())?;
    let ops = hta::ops_diff(&control, &test, &options.selected())?;
    let differs = ops.is_change();
    let mut report = Report::from(&table);
    report.ops = ops.clone();
    Ok(Compared { report, json: with_ops(&table, &ops)?, differs })
}

/// A comparison as JSON, with its five lists.
fn with_ops(comparison: &impl Serialize, ops: &OpsDiff) -> Result<serde_json::Value, Failure> {
    let mut value = serde_json::to_value(comparison)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("ops_diff".to_owned(), json!(ops));
    }
    Ok(value)
}

impl Options {
    fn selected(&self) -> fx_trace::Options {
        let or = |own: &Vec<i64>, both: &Vec<i64>| if own.is_empty() { both.clone() } else { own.clone() };
        fx_trace::Options {
            control: Selection { ranks: self.rank.clone(), iterations: self.iteration.clone() },
            test: Selection {
                ranks: or(&self.test_rank, &self.rank),
                iterations: or(&self.test_iteration, &self.iteration),
            },
            device: self.device,
            short_names: self.short_names,
        }
    }
}

/// The names of the two files, where these differ.
pub(super) fn labels(control: &Path, test: &Path) -> [String; 2] {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        Some(name.strip_suffix(".json").unwrap_or(name).to_owned())
    };
    match (stem(control), stem(test)) {
        (Some(control), Some(test)) if control != test => [control, test],
        _ => ["control".to_owned(), "test".to_owned()],
    }
}

fn printed(report: &Report, rows: usize) -> String {
    let mut text = format!("{}\n", report.title);
    for sentence in &report.summary {
        let _ = writeln!(text, "  {sentence}");
    }
    let lists = report.ops.lists();
    let counts: Vec<String> = lists.iter().map(|(change, names)| format!("{} {change}", names.len())).collect();
    let _ = writeln!(text, "  names: {}\n", counts.join(", "));
    let (table, width) = table(report, rows);
    let _ = writeln!(text, "{}", table.trim_fmt());
    let (all, more) = (report.rows.len(), report.rows.len().saturating_sub(rows));
    if more > 0 {
        let _ = writeln!(text, "and {more} more rows: `--rows {all}`, `--json`, `--html FILE`");
    }
    text += &provenance(report, rows);
    for chart in &report.charts {
        let _ = write!(text, "\n{}", chart.text(width));
    }
    text
}

/// What replaced what: as many lines as rows, and then a line for each name that went.
fn provenance(report: &Report, rows: usize) -> String {
    let mut text = String::new();
    for sentence in report.replacements.iter().take(rows) {
        let _ = writeln!(text, "  {sentence}");
    }
    let more = report.replacements.len().saturating_sub(rows);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    for (name, items) in &report.removed {
        let shown: Vec<&str> = items.iter().take(SHOWN_REMOVED).map(String::as_str).collect();
        let dots = if items.len() > SHOWN_REMOVED { "; .." } else { "" };
        let _ = writeln!(text, "  {name}, {} of them: {}{dots}", items.len(), shown.join("; "));
    }
    if text.is_empty() { text } else { format!("\nwhat replaced what:\n{text}") }
}

/// The first rows, with names as long as the width of the terminal allows, and that width.
fn table(report: &Report, rows: usize) -> (Table, usize) {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let columns = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0);
    table.set_width(columns);
    let width = usize::from(columns);
    let rows = || report.rows.iter().take(rows);
    // HTA's long names of columns are broken behind their underscores.
    let broken = |column: &String| column.replace(", ", "\n").replace('_', "_\n");
    let heads: Vec<String> = report.columns.iter().map(broken).collect();
    let letters = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let others: usize = (1..heads.len())
        .map(|column| {
            let cells = rows().filter_map(|row| row.get(column)).chain(heads.get(column));
            // One letter of padding on each side.
            cells.map(|cell| letters(cell)).max().unwrap_or(0) + 2
        })
        .sum();
    let room = width.saturating_sub(others + 2).max(SHORTEST_NAME);
    table.set_header(&heads);
    for row in rows() {
        let name = row.first().map(|name| fitted(name, room)).unwrap_or_default();
        table.add_row(std::iter::once(name).chain(row.iter().skip(1).cloned()));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    (table, width)
}

/// `a/b.svg` is `a/b-counts.svg`.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-counts{extension}"))
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    fs::write(path, text).map_err(|source| Failure::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{beside, labels};

    #[test]
    fn names_of_files() {
        let of = |control, test| labels(Path::new(control), Path::new(test));
        assert_eq!(of("a/eager.json.gz", "frozen.json"), ["eager", "frozen"]);
        assert_eq!(of("a/trace.json.gz", "b/trace.json.gz"), ["control", "test"]);
        assert_eq!(of("before/", "after/"), ["before", "after"]);
        assert_eq!(beside(Path::new("a/b.svg")), PathBuf::from("a/b-counts.svg"));
        assert_eq!(beside(Path::new("b.png")), PathBuf::from("b-counts.png"));
    }
}
