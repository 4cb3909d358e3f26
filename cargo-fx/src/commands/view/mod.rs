//! `cargo fx view`: a model before and after the passes, as a page to look around in.
//!
//! fx-runtime says what there is to show ([`driver::answer`](crate::driver::answer)); here the user's source lines
//! (`sources.rs`) and the generated ones (`generated.rs`) are put beside it, and all of it into one file (`page.rs`).

mod generated;
mod page;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use fx_trace::report::Report;
use fx_trace::{LabeledTrace, TraceSet, compare_traces};
use serde_json::{Value as Json, json};

use super::diff::labels;
use crate::Outcome;
use crate::driver::{Model, answer};
use crate::failure::Failure;

/// The version of fx-runtime's answer that the page shows.
const VERSION: u64 = 1;

/// The file that is written where none is named.
const DEFAULT: &str = "fx-view.html";

/// Write a page that shows a model's graph before and after the passes, side by side
///
/// Each node has its source lines, its generated line and the passes that made it; with inputs its shape, its FLOPs and its
/// time as well. Point at a fused node, and the nodes that it came from light up. The page needs no other file and no network.
///
/// Exit code: 0 done, 2 the model cannot be built, constructed, frozen or run, a trace cannot be read, or the page cannot be
/// written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx view --model my_crate::Net --input 1x3x224x224 -o net.html\n  cargo fx view --model my_crate::Net \
                  --input 1x3x224x224 --runs 0\n  cargo fx view --model my_crate::Net --trace eager.json.gz frozen.json.gz"
)]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// Runs that are not measured
    #[arg(long, default_value_t = 3, value_name = "N")]
    warm_up: usize,
    /// Runs that are; with 0 of them no times are shown
    #[arg(long, default_value_t = 10, value_name = "N")]
    runs: usize,
    /// Two traces to compare on a second page, as `cargo fx diff` does
    #[arg(long, num_args = 2, value_names = ["CONTROL", "TEST"])]
    trace: Vec<PathBuf>,
    /// The page; by default `fx-view.html`
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Options {
    /// The file to write; none if JSON is to be printed and no file is named.
    fn file(&self) -> Option<&Path> {
        let default = (!self.model.json).then_some(Path::new(DEFAULT));
        self.output.as_deref().or(default)
    }
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    // A trace that cannot be read is told before anything is built.
    let traces = match options.trace.as_slice() {
        [control, test] => Some(compared(control, test)?),
        _ => None,
    };
    let ask = json!({ "view": { "warm_up": options.warm_up, "runs": options.runs } });
    let answer = answer(&options.model, &ask, false)?;
    if answer.outcome.code != 0 {
        return Ok(answer.outcome);
    }
    let mut view = parsed(&answer.outcome.text)?;
    let sources = sources::of(&view, &answer.sources);
    view["source"] = sources;
    if let Some(folder) = &answer.output {
        generated::annotate(&mut view, &folder.join("fx"));
    }
    let mut text = if options.model.json { format!("{view:#}\n") } else { String::new() };
    if let Some(path) = options.file() {
        let page = page::of(&view, traces.as_ref())?;
        fs::write(path, &page).map_err(|source| Failure::Write { path: path.to_owned(), source })?;
        if !options.model.json {
            text = wrote(path, &page, &view);
        }
    }
    Ok(Outcome::done(text))
}

/// What fx-runtime said; it may be of another version than we are.
fn parsed(text: &str) -> Result<Json, Failure> {
    let view: Json = serde_json::from_str(text)?;
    match (view["format"].as_str(), view["version"].as_u64()) {
        (Some("fx-view"), Some(VERSION)) => Ok(view),
        (_, version) => Err(Failure::OtherVersion { found: version.unwrap_or(0), known: VERSION }),
    }
}

fn compared(control: &Path, test: &Path) -> Result<Report, Failure> {
    let names = labels(control, test);
    let [control, test] = [control, test].map(|path| TraceSet::open_ranks(path, &[]));
    let [of_control, of_test] = names;
    let (control, test) = (LabeledTrace::new(of_control, control?), LabeledTrace::new(of_test, test?));
    Ok(Report::from(&compare_traces(&control, &test, &fx_trace::Options::default())?))
}

/// One line about the file.
fn wrote(path: &Path, page: &str, view: &Json) -> String {
    let nodes = |side: &str| view[side]["nodes"].as_array().map_or(0, Vec::len);
    let (before, after) = (nodes("before"), nodes("after"));
    format!("wrote `{}` ({} kB): {before} nodes before the passes, {after} after\n", path.display(), page.len() / 1000)
}

#[cfg(test)]
mod tests;
