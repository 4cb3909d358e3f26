//! The comparison of this crate: exclusive nanoseconds, all iterations, both devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::float_cmp, reason = "the numbers are exact")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fx_trace::diff::Row;
use fx_trace::{Comparison, Device, DeviceType, LabeledTrace, Options, Selection, Trace, compare_traces, hta};

/// A trace of events `(category, name, stream, correlation, begin, duration)`, of which those with a stream are kernels'.
fn trace(label: &str, events: &[(&str, &str, i64, i64, f64, f64)]) -> LabeledTrace {
    let events = events.iter().map(|(category, name, stream, correlation, begin, duration)| {
        let args = format!(r#""stream": {stream}, "correlation": {correlation}"#);
        let tid = if *stream >= 0 { *stream } else { 1 };
        let track = format!(r#""pid": {}, "tid": {tid}"#, i64::from(*stream < 0));
        format!(r#"{{"ph": "X", "cat": "{category}", "name": "{name}", {track}, "ts": {begin:?}, "dur": {duration:?}, "args": {{{args}}}}}"#)
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, format!(r#"{{"traceEvents": [{}]}}"#, events.collect::<Vec<_>>().join(",\n"))).unwrap();
    LabeledTrace::new(label, Trace::read(&path).unwrap())
}

/// Steps of 100 µs, each with an operator that launches a kernel on stream 0; operators take `op`, kernels `kernel` µs.
fn program(label: &str, op: &[f64], kernel: f64) -> LabeledTrace {
    let mut events = Vec::new();
    let names: Vec<String> = (0..op.len()).map(|step| format!("ProfilerStep#{step}")).collect();
    for (step, op) in op.iter().enumerate() {
        let (number, begin) = (i64::try_from(step).unwrap(), 100.0 * f64::from(u32::try_from(step).unwrap()));
        events.push(("user_annotation", names[step].as_str(), -1, -1, begin, 100.0));
        events.push(("cpu_op", "aten::relu", -1, -1, begin + 10.0, *op));
        events.push(("cuda_runtime", "cudaLaunchKernel", -1, number, begin + 11.0, 4.0));
        // It runs when the next step has begun on the CPU.
        events.push(("kernel", "relu_kernel", 0, number, begin + 105.0, kernel));
    }
    trace(label, &events)
}

#[track_caller]
fn row<'a>(comparison: &'a Comparison, name: &str) -> &'a Row {
    comparison.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}: {comparison:?}"))
}

#[test]
fn means_of_exclusive_nanoseconds() {
    let (control, test) = (program("a", &[20.5, 21.5, 22.5], 3.25), program("b", &[10.5, 11.5, 12.5], 3.25));
    let comparison = compare_traces(&control, &test, &Options::default()).unwrap();
    let relu = row(&comparison, "aten::relu");
    assert_eq!((relu.control.counts, relu.control.inclusive, relu.control.exclusive), (1.0, 21_500.0, 17_500.0));
    assert_eq!((relu.test.exclusive, relu.control.deviation), (7_500.0, 1_000.0));
    // Made by scipy.stats.ttest_ind([7.5, ..], [17.5, ..], equal_var=False): 0.000255; the largest correction is times 3.
    assert!(relu.is_significant() == Some(true) && relu.p_value.unwrap() < 3.0 * 0.000_256);
    assert_eq!(comparison.rows[0].name, "aten::relu", "the row that changed most is the first");
    assert_eq!(comparison.iterations, [3, 3]);
    let step = comparison.step.unwrap();
    assert_eq!((step.control.exclusive, step.p_value), (100_000.0, Some(1.0)));
}

#[test]
fn kernels_of_stream_zero_belong_to_their_launch() {
    let (control, test) = (program("a", &[20.0, 20.0], 3.0), program("b", &[20.0, 20.0], 4.0));
    let first = Selection { ranks: Vec::new(), iterations: vec![0] };
    let options = Options { control: first.clone(), test: first, ..Options::default() };
    let comparison = compare_traces(&control, &test, &options).unwrap();
    let kernel = row(&comparison, "relu_kernel");
    assert_eq!((kernel.device, kernel.control.counts, kernel.diff_exclusive()), ("gpu", 1.0, 1_000.0));
    assert_eq!(kernel.p_value, None, "one iteration has no spread");
    let theirs = hta::compare_traces(&control, &test, &options).unwrap();
    assert!(theirs.rows.iter().all(|row| row.name != "relu_kernel"), "HTA leaves stream 0 out");
}

#[test]
fn noise_is_not_significant() {
    let (control, test) = (program("a", &[20.0, 25.0, 30.0], 3.0), program("b", &[21.0, 29.0, 25.0], 3.0));
    let comparison = compare_traces(&control, &test, &Options::default()).unwrap();
    assert_eq!(row(&comparison, "aten::relu").is_significant(), Some(false));
}

#[test]
fn what_came_and_went() {
    let control = trace("a", &[("cpu_op", "old", -1, -1, 0.0, 1.0), ("cpu_op", "both", -1, -1, 2.0, 1.0)]);
    let test = trace("b", &[("cpu_op", "both", -1, -1, 0.0, 1.0), ("cpu_op", "both", -1, -1, 2.0, 0.5)]);
    let comparison = compare_traces(&control, &test, &Options::default()).unwrap();
    let lists = comparison.ops_diff();
    assert_eq!(
        (lists.deleted, lists.increased, lists.added),
        (vec!["old".to_owned()], vec!["both".to_owned()], vec![])
    );
    assert_eq!((comparison.iterations, comparison.step), ([0, 0], None), "a trace without steps counts as a whole");
    let error = compare_traces(&control, &program("b", &[1.0], 1.0), &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("the a trace has no `ProfilerStep#N`"), "{error}");
}

#[test]
fn devices() {
    let (control, test) = (program("a", &[20.0, 20.0], 3.0), program("b", &[20.0, 20.0], 4.0));
    for (device, names) in [
        (DeviceType::Gpu, vec!["relu_kernel"]),
        (DeviceType::Cpu, vec!["aten::relu", "cudaLaunchKernel"]),
        (DeviceType::All, vec!["relu_kernel", "aten::relu", "cudaLaunchKernel"]),
    ] {
        let comparison = compare_traces(&control, &test, &Options { device, ..Options::default() }).unwrap();
        assert_eq!(comparison.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
    }
}

fn sample(name: &str) -> LabeledTrace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hta/traces/{name}.json.gz"));
    LabeledTrace::open(name, path).unwrap()
}

/// On HTA's sample pair, whose times are whole microseconds and whose kernels are on streams above 0, counts and inclusive
/// times of one iteration are HTA's own.
#[test]
fn agrees_with_hta_where_hta_is_right() {
    let (control, test) = (sample("control"), sample("test"));
    let first = Selection { ranks: Vec::new(), iterations: vec![1009] };
    let options = Options { control: first.clone(), test: first, ..Options::default() };
    let ours = compare_traces(&control, &test, &options).unwrap();
    let theirs = hta::compare_traces(&control, &test, &options).unwrap();
    let mut sums = BTreeMap::<&str, [f64; 4]>::new();
    for row in &ours.rows {
        let sides = [row.control.counts, row.control.inclusive / 1000.0, row.test.counts, row.test.inclusive / 1000.0];
        let sum = sums.entry(&row.name).or_default();
        sum.iter_mut().zip(sides).for_each(|(sum, side)| *sum += side);
    }
    let mut compared = 0;
    for row in theirs.rows.iter().filter(|row| !row.name.starts_with("ProfilerStep")) {
        let expected = [row.control.counts, row.control.total_duration, row.test.counts, row.test.total_duration];
        assert_eq!(sums.remove(row.name.as_str()), Some(expected), "{}", row.name);
        compared += 1;
    }
    assert_eq!(compared, 431);
    assert!(sums.is_empty(), "{sums:?}");
}

/// What the rows of the CPU's threads and the GPU's streams take is what these were busy: no nanosecond twice.
#[test]
fn exclusive_times_add_up() {
    for name in ["control", "nanoseconds"] {
        let labeled = sample(name);
        let trace = &labeled.traces.ranks[&labeled.traces.ranks.keys().copied().next().unwrap()];
        let mut tracks = BTreeMap::<_, Vec<(i64, i64)>>::new();
        for event in &trace.events {
            tracks.entry(event.track).or_default().push((event.begin, event.end()));
        }
        let mut busy = 0;
        for spans in tracks.values_mut() {
            spans.sort_unstable();
            let mut until = i64::MIN;
            for (begin, end) in spans {
                busy += (*end - until.max(*begin)).max(0);
                until = until.max(*end);
            }
        }
        let exclusive: i64 = trace.exclusive_times().iter().sum();
        assert_eq!(exclusive, busy, "{name}");
    }
}

#[test]
fn the_sample_as_people_read_it() {
    let comparison = compare_traces(&sample("control"), &sample("test"), &Options::default()).unwrap();
    assert_eq!(comparison.iterations, [6, 6]);
    let step = comparison.step.as_ref().unwrap();
    assert_eq!(step.is_significant(), Some(true), "{step:?}");
    let [cpu, _] = comparison.total(Device::Cpu);
    assert!(cpu > 0.0 && comparison.rows.iter().all(|row| !row.name.starts_with("ProfilerStep")));
}
