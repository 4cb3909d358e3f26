//! Traces that PyTorch's profiler wrote (`tests/pytorch/make.py`), against what that profiler says of its own events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fx_trace::{LabeledTrace, Options, Trace, compare_traces};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch").join(name)
}

/// Count, own and total nanoseconds of each name.
type Averages = BTreeMap<String, (usize, i64, i64)>;

fn golden(name: &str) -> Averages {
    let text = fs::read_to_string(file(&format!("{name}.csv"))).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "microseconds with three decimals, and the errors of their sum"
        )]
        let nanoseconds = |column: usize| (columns[column].parse::<f64>().unwrap() * 1000.0).round() as i64;
        (columns[0].to_owned(), (columns[1].parse().unwrap(), nanoseconds(2), nanoseconds(3)))
    });
    rows.collect()
}

#[test]
fn counts_and_times_are_the_profilers_own() {
    for name in ["eager", "folded"] {
        let trace = Trace::read(file(&format!("{name}.json.gz"))).unwrap();
        let mut ours = Averages::new();
        for (event, exclusive) in trace.events.iter().zip(trace.exclusive_times()) {
            let key = if trace.name(event).starts_with("ProfilerStep#") { "ProfilerStep*" } else { trace.name(event) };
            let (count, own, total) = ours.entry(key.to_owned()).or_default();
            *count += 1;
            *own += exclusive;
            *total += event.duration;
        }
        assert_eq!(ours, golden(name), "{name}");
    }
}

#[test]
fn iterations_are_the_schedules() {
    let trace = Trace::read(file("eager.json.gz")).unwrap();
    assert_eq!(trace.iterations().iter().map(|step| step.number).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8]);
    assert!(trace.iteration_of_events().iter().all(Option::is_some));
    assert!(trace.metadata.base_time.is_some());
}

#[test]
fn the_batch_norm_went() {
    let open = |name: &str| LabeledTrace::open(name, file(&format!("{name}.json.gz"))).unwrap();
    let comparison = compare_traces(&open("eager"), &open("folded"), &Options::default()).unwrap();
    let lists = comparison.ops_diff();
    let gone = ["aten::_batch_norm_impl_index", "aten::batch_norm", "aten::native_batch_norm"];
    assert!(gone.iter().all(|name| lists.deleted.iter().any(|deleted| deleted == name)), "{:?}", lists.deleted);
    assert!(lists.added.is_empty() && lists.unchanged.iter().any(|name| name == "aten::conv2d"), "{lists:?}");
    assert_eq!(comparison.iterations, [6, 6]);
}
