//! What is written is what is read; that HTA reads it too, `tests/hta/round_trip.py` shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::fs;
use std::path::Path;

use fx_trace::{LabeledTrace, Options, Trace, compare_traces, hta};

fn sample(name: &str) -> Trace {
    Trace::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hta/traces/{name}.json.gz"))).unwrap()
}

#[test]
fn events_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["base", "control", "nanoseconds", "stream_zero", "cpu_only"] {
        let before = sample(name);
        for file in ["trace.json", "trace.json.gz"] {
            let path = folder.path().join(file);
            before.write(&path).unwrap();
            let after = Trace::read(&path).unwrap();
            assert_eq!((before.rank(), before.metadata.base_time), (after.rank(), after.metadata.base_time));
            assert_eq!(before.events.len(), after.events.len());
            for (was, is) in before.events.iter().zip(&after.events) {
                assert_eq!((before.name(was), before.category(was)), (after.name(is), after.category(is)));
                assert_eq!((was.begin, was.duration, was.device), (is.begin, is.duration, is.device));
                assert_eq!((was.stream, was.correlation), (is.stream, is.correlation));
            }
        }
    }
}

#[test]
fn tables_stay_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json.gz");
    for name in ["control", "nanoseconds"] {
        let before = LabeledTrace::new("a", sample(name));
        sample(name).write(&path).unwrap();
        let after = LabeledTrace::new("a", Trace::read(&path).unwrap());
        let test = LabeledTrace::new("b", sample("test"));
        let options = Options::default();
        assert_eq!(compare_traces(&before, &test, &options).unwrap(), compare_traces(&after, &test, &options).unwrap());
        let tables =
            [&before, &after].map(|control| hta::compare_traces(control, &test, &options).unwrap().to_csv("name"));
        assert_eq!(tables[0], tables[1]);
    }
}

/// HTA looks for the rank with a space behind the colon.
#[test]
fn hta_finds_the_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    sample("base").write(&path).unwrap();
    assert_eq!(hta::open(&path).unwrap().ranks.keys().copied().collect::<Vec<_>>(), [1]);
    assert!(fs::read_to_string(&path).unwrap().contains("\"rank\": 1"));
}

/// HTA's `get_gpu_kernel_breakdown`, which leaves out the kernels of the last iteration.
#[test]
fn breakdown_of_hta() {
    let golden = include_str!("hta/goldens/sample.breakdown.csv");
    let control = sample("control");
    let last = control.iterations().last().unwrap().begin;
    let shares = control.kernel_breakdown(Some(last));
    let ours: Vec<String> =
        shares.iter().map(|share| format!("{},{}", share.name(), share.nanoseconds / 1000)).collect();
    let theirs: Vec<&str> = golden.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert_eq!(ours, theirs);
}
