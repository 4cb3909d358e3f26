//! Tables that HTA itself made (`tests/hta/make.py`), against ours, character by character.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fx_trace::hta;
use fx_trace::{DeviceType, LabeledTrace, Options, Selection, TraceSet};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hta")
}

fn golden(name: &str) -> String {
    let path = folder().join("goldens").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A sample, read once for all tests.
fn sample_trace(name: &str) -> TraceSet {
    static READ: Mutex<BTreeMap<String, TraceSet>> = Mutex::new(BTreeMap::new());
    let path = folder().join("traces").join(format!("{name}.json.gz"));
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let open = || hta::open(path).unwrap_or_else(|error| panic!("{error}"));
    read.entry(name.to_owned()).or_insert_with(open).clone()
}

/// With `+` between their names several ranks.
fn pair(control: &str, test: &str) -> (LabeledTrace, LabeledTrace) {
    let open = |label, names: &str| {
        let ranks = names.split('+').flat_map(|name| sample_trace(name).ranks).collect();
        LabeledTrace::new(label, TraceSet { ranks })
    };
    (open("Control", control), open("Test", test))
}

fn iterations(control: &[i64], test: &[i64]) -> Options {
    let of = |iterations: &[i64]| Selection { ranks: Vec::new(), iterations: iterations.to_vec() };
    Options { control: of(control), test: of(test), ..Options::default() }
}

/// The table and the lists of a comparison are those of the golden.
#[track_caller]
fn agrees(name: &str, control: &str, test: &str, options: &Options) {
    let (control, test) = pair(control, test);
    let table = hta::compare_traces(&control, &test, options).unwrap();
    let index = if options.short_names { "short_name" } else { "name" };
    let (ours, theirs) = (table.to_csv(index), golden(&format!("{name}.csv")));
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours, theirs);
    if !options.short_names {
        let lists = hta::ops_diff(&control, &test, options).unwrap();
        let rows: Vec<String> = lists
            .lists()
            .iter()
            .flat_map(|(change, names)| names.iter().map(move |name| format!("{change},{}\n", quoted(name))))
            .collect();
        assert_eq!(rows.concat(), golden(&format!("{name}.ops.csv")));
    }
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[test]
fn sample() {
    agrees("sample", "control", "test", &Options::default());
}

#[test]
fn sample_by_numbers() {
    let (control, test) = pair("control", "test");
    let table = hta::compare_traces(&control, &test, &Options::default()).unwrap();
    assert_eq!(table.rows.len(), 432);
    let lists = hta::ops_diff(&control, &test, &Options::default()).unwrap();
    assert_eq!(lists.lists().map(|(_, names)| names.len()), [32, 138, 35, 65, 162]);
    let short = Options { short_names: true, ..Options::default() };
    assert_eq!(hta::compare_traces(&control, &test, &short).unwrap().rows.len(), 310);
}

#[test]
fn short_names() {
    agrees("sample_short", "control", "test", &Options { short_names: true, ..Options::default() });
}

#[test]
fn devices() {
    agrees("sample_cpu", "control", "test", &Options { device: DeviceType::Cpu, ..Options::default() });
    agrees("sample_gpu", "control", "test", &Options { device: DeviceType::Gpu, ..Options::default() });
}

#[test]
fn several_iterations() {
    agrees("sample_iterations", "control", "test", &iterations(&[1010, 1012], &[1011]));
}

#[test]
fn integers_stay_integers() {
    agrees("base_changed", "base", "changed", &iterations(&[1010], &[1010]));
    let cpu = Options { device: DeviceType::Cpu, ..iterations(&[1010], &[1010]) };
    agrees("base_changed_cpu", "base", "changed", &cpu);
    agrees("base_itself", "base", "base", &iterations(&[1010], &[1010]));
}

#[test]
fn nanoseconds_are_rounded() {
    agrees("nanoseconds", "nanoseconds", "nanoseconds", &iterations(&[], &[103]));
    let gpu = Options { device: DeviceType::Gpu, short_names: true, ..Options::default() };
    agrees("nanoseconds_gpu", "nanoseconds", "control", &gpu);
    assert!(golden("nanoseconds.csv").contains(",-"), "no rounded duration is negative, so the case tests nothing");
}

#[test]
fn stream_zero() {
    agrees("stream_zero", "stream_zero", "stream_zero", &Options::default());
}

#[test]
fn cpu_only() {
    agrees("cpu_only", "cpu_only", "nanoseconds", &Options::default());
}

#[test]
fn ranks() {
    let of = |ranks: &[i64], iterations: &[i64]| Options {
        control: Selection { ranks: ranks.to_vec(), iterations: iterations.to_vec() },
        ..Options::default()
    };
    agrees("ranks", "nanoseconds+cpu_only", "test", &of(&[0, 34], &[102, 551]));
    agrees("second_rank", "nanoseconds+cpu_only", "test", &of(&[34], &[551]));
}

/// Traces of PyTorch 2.11 on the CPU (`tests/pytorch`).
#[test]
fn pytorch() {
    agrees("pytorch", "../../pytorch/eager", "../../pytorch/folded", &Options::default());
}

/// Everything that HTA treats in a way of its own, drawn by chance.
#[test]
fn random_traces() {
    agrees("random_whole", "random_whole", "random_fractions", &Options::default());
    agrees("random_fractions", "random_fractions", "random_durations", &iterations(&[1, 2, 3], &[1, 2, 3]));
    let gpu = Options { device: DeviceType::Gpu, ..iterations(&[], &[2, 3]) };
    agrees("random_durations", "random_durations", "random_whole", &gpu);
    let short = Options { device: DeviceType::Cpu, short_names: true, ..Options::default() };
    agrees("random_short", "random_whole", "random_durations", &short);
}

#[test]
fn equal_labels() {
    let (control, _) = pair("base", "base");
    let table = hta::compare_traces(&control, &control, &Options::default()).unwrap();
    assert_eq!((table.control.as_str(), table.test.as_str()), ("Control", "Control_control_test"));
}

#[test]
fn what_is_not_there() {
    let (control, test) = pair("base", "changed");
    let error = |options: &Options| hta::compare_traces(&control, &test, options).unwrap_err().to_string();
    assert_eq!(error(&iterations(&[7], &[])), "the Control trace has no iteration 7; it has 1009, 1010");
    let rank = Options { test: Selection { ranks: vec![4], ..Selection::default() }, ..Options::default() };
    assert_eq!(error(&rank), "the Test trace has no rank 4; it has 1");
}
