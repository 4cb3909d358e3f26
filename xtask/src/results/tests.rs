//! Contenders made of shell scripts, and what is written of them.

use std::path::PathBuf;

use tempfile::TempDir;

use super::measure::calls_in_a_turn;
use super::record::{Machine, Outcome, Row};
use super::*;

/// A folder of contenders, which goes away with its value.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A contender whose answers are these shell commands.
    fn contender(&self, name: &str, ready: &str, run: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let script = format!(
            "{ready}\nwhile read -r word count; do case $word in\n run) {run} ;;\n check) echo '[1.0, 2.0]' ;;\n \
             quit) exit 0 ;;\nesac; done"
        );
        crate::script::write(&path, &script);
        path
    }
}

fn options(scratch: &Scratch) -> Options {
    Options {
        device: "cpu".to_owned(),
        workloads: vec!["net:2:f32".parse().unwrap()],
        ours: Vec::new(),
        rivals: Vec::new(),
        ablation: false,
        machine: None,
        python: PathBuf::new(),
        bench: None,
        rounds: 3,
        calls: 2,
        seconds: 10.0,
        out: Some(scratch.0.path().to_owned()),
        render: false,
    }
}

#[test]
fn a_workload_has_three_parts() {
    let workload: Workload = "resnet18:16:f32".parse().unwrap();
    assert_eq!((workload.to_string().as_str(), workload.batch), ("resnet18:16:f32", 16));
    for wrong in ["resnet18", "resnet18:1", "resnet18:0:f32", "resnet18:x:f32", "a:1:b:c"] {
        assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
    }
}

#[test]
fn a_record_is_called_by_device_machine_and_ablation() {
    let mut options = Options { machine: Some("zen4".to_owned()), ..options(&Scratch::new()) };
    assert_eq!(record_name(&options), "cpu-zen4");
    options.ablation = true;
    assert_eq!(record_name(&options), "cpu-zen4-ablation");
    options.machine = None;
    assert_eq!(record_name(&options), "cpu-ablation");
}

#[test]
fn slow_contenders_are_called_less_often() {
    assert_eq!(calls_in_a_turn(7, 20.0, 7, 0.01), 7);
    assert_eq!(calls_in_a_turn(7, 21.0, 7, 0.6), 4);
    assert_eq!(calls_in_a_turn(7, 20.0, 7, 60.0), 1);
}

#[test]
fn contenders_take_turns_and_failures_are_named() {
    let scratch = Scratch::new();
    let ready = r#"echo 'ready {"freeze_ms": 500.0, "versions": {"fx": "0.1.0"}}'"#;
    let good = scratch.contender("good", ready, "echo '[2.0, 4.0]'");
    let late = scratch.contender("late", ready, "echo 'out of memory' >&2; exit 1");
    let never = scratch.contender("never", "echo 'no such model' >&2; exit 1", "true");
    let commands = [&good, &late, &never, &scratch.0.path().join("absent")].map(|path| Command::ours(path, "frozen"));
    let options = options(&scratch);
    let row = measure::workload(&options.workloads[0], &commands, &options);
    let [good, late, never, absent] = &row.contenders[..] else { panic!("{row:?}") };
    assert_eq!((good.times_ms.len(), good.median(), good.minimum()), (6, Some(3.0), Some(2.0)));
    assert!(good.ready_s > 0.5 && good.peak_mib.is_some() && good.values == [1.0, 2.0]);
    assert_eq!(late.failed.as_deref(), Some("out of memory"));
    assert_eq!(never.failed.as_deref(), Some("no such model"));
    assert!(absent.failed.as_deref().unwrap().starts_with("cannot start"));
}

fn outcome(name: &str, times: &[f64]) -> Outcome {
    let versions = [("torch".to_owned(), "2.11.0".to_owned())].into();
    Outcome {
        name: name.to_owned(),
        ready_s: 0.25,
        peak_mib: Some(300.0),
        values: vec![1.0, times[0]],
        versions,
        times_ms: times.to_vec(),
        ..Outcome::default()
    }
}

fn record() -> Record {
    let machine = Machine {
        cpu: "A CPU".to_owned(),
        cores: 2,
        memory_gib: Some(16.0),
        gpu: None,
        system: "linux 6.1".to_owned(),
    };
    let failed = Outcome { name: "ort".to_owned(), failed: Some("no module".to_owned()), ..Outcome::default() };
    let contenders = vec![outcome("fx frozen", &[2.0, 1.0, 4.0]), outcome("eager", &[4.0, 3.0]), failed];
    Record { name: "cpu".to_owned(), machine, workloads: vec![Row { workload: "net:1:f32".to_owned(), contenders }] }
}

#[test]
fn the_report_tells_times_ratios_and_failures() {
    let text = report::render(&[record()]);
    for line in [
        "A CPU, 2 cores, 16 GiB; linux 6.1; torch 2.11.0.",
        "| workload | fx frozen | eager | ort |",
        "| net:1:f32 | 2.00 (1.00) | 3.50 (3.00) |  |",
        "| net:1:f32 | 1.00 (1.00) | 1.75 (3.00) |  |",
        "| net:1:f32 | 0.25 | 0.25 |  |",
        "| net:1:f32 | 300 | 300 |  |",
        "| net:1:f32 | 5.0e-1 | 0.0e0 |  |",
        "* net:1:f32: 1.75 times as fast as eager",
        "ort did not run net:1:f32: no module",
    ] {
        assert!(text.lines().any(|found| found == line), "`{line}` is not in:\n{text}");
    }
}

#[test]
fn the_report_tells_what_each_part_is_worth() {
    let mut ablation = Record { name: "cpu-ablation".to_owned(), ..record() };
    ablation.workloads[0].contenders[1].name = "layout".to_owned();
    let text = report::render(&[record(), ablation]);
    let (_, of_ablation) = text.split_once("## cpu-ablation").unwrap();
    for line in ["| workload | layout | ort |", "| net:1:f32 | 1.75 (3.00) |  |"] {
        assert!(of_ablation.lines().any(|found| found == line), "`{line}` is not in:\n{of_ablation}");
    }
    assert!(!of_ablation.contains("Seconds from the eager model"), "{of_ablation}");
}

#[test]
fn records_are_kept_and_added_to() {
    let scratch = Scratch::new();
    let path = scratch.0.path().join("results/cpu.json");
    let mut first = record();
    first.write(&path).unwrap();
    assert_eq!(Record::all(&scratch.0.path().join("results")).unwrap(), [first.clone()]);
    let again = Record::read_or_new(&path, "cpu", first.machine.clone()).unwrap();
    assert_eq!(again, first);
    first.put(Row { workload: "net:1:f32".to_owned(), contenders: Vec::new() });
    first.put(Row { workload: "net:4:f32".to_owned(), contenders: Vec::new() });
    assert_eq!(first.workloads.iter().map(|row| row.contenders.len()).collect::<Vec<_>>(), [0, 0]);
    for workload in ["other:1:f32", "net:16:f32", "net:2:f32"] {
        first.put(Row { workload: workload.to_owned(), contenders: Vec::new() });
    }
    first.write(&path).unwrap();
    let read = Record::read_or_new(&path, "cpu", first.machine.clone()).unwrap();
    let order: Vec<&str> = read.workloads.iter().map(|row| row.workload.as_str()).collect();
    assert_eq!(order, ["net:1:f32", "net:2:f32", "net:4:f32", "net:16:f32", "other:1:f32"]);
    let elsewhere = Machine { cores: 4, ..first.machine.clone() };
    assert!(Record::read_or_new(&path, "cpu", elsewhere).unwrap().workloads.is_empty());
    fs::write(&path, "not json").unwrap();
    assert!(Record::all(&scratch.0.path().join("results")).unwrap_err().to_string().contains("no record of results"));
}
