//! Which nodes a kernel of the second trace stands for, of traces that say which node of a graph each event is a run of.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use fx_trace::report::Report;
use fx_trace::{Comparison, LabeledTrace, NodeInfo, Options, Recorder, Trace, compare_traces};

/// A node: its name, its module's path, the name of its event, its labels.
type Node<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

fn recorded(nodes: &[Node<'_>]) -> Trace {
    let mut recorder = Recorder::new();
    for iteration in 0..2 {
        let step = recorder.now();
        for (node, path, name, labels) in nodes {
            let opcode = if path.is_empty() { "call_function" } else { "call_module" };
            let begin = recorder.now();
            let info = NodeInfo {
                node: (*node).to_owned(),
                opcode: opcode.to_owned(),
                target: (*path).to_owned(),
                labels: labels.iter().map(|&label| label.to_owned()).collect(),
                modules: vec!["Net".to_owned(), "stage: Stage".to_owned()],
                input_dims: vec![vec![1, 3], vec![]],
                input_types: vec!["float".to_owned(), "Scalar".to_owned()],
                ..NodeInfo::default()
            };
            recorder.node(name, begin, info);
        }
        recorder.step(iteration, step);
    }
    recorder.finish()
}

fn compared(control: &[Node<'_>], test: &[Node<'_>]) -> Comparison {
    let labeled = |label, nodes| LabeledTrace::new(label, recorded(nodes));
    compare_traces(&labeled("a", control), &labeled("b", test), &Options::default()).unwrap()
}

/// What replaced what, without the times.
fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said = Report::from(comparison).replacements;
    for sentence in &mut said {
        sentence.truncate(sentence.rfind(": ").unwrap());
    }
    said.sort();
    said
}

const CONV: Node<'_> = ("conv1", "conv1", "aten::conv2d", &["conv1"]);
const NORM: Node<'_> = ("bn1", "bn1", "aten::batch_norm", &["bn1"]);
const RELU: Node<'_> = ("relu", "", "aten::relu", &["relu"]);
const POOL: Node<'_> = ("pool", "", "aten::max_pool2d", &["pool"]);

#[test]
fn a_kernel_says_which_nodes_it_replaced() {
    let fused = ("relu", "conv1", "fx::Conv", &["conv1", "bn1", "relu"][..]);
    let comparison = compared(&[CONV, NORM, RELU, POOL], &[fused, POOL]);
    assert_eq!(sentences(&comparison), ["conv1 (Conv + bn1 + relu) replaced conv1, bn1, relu"]);
    let removed = Report::from(&comparison).removed;
    let all: Vec<&str> = removed.iter().flat_map(|(_, items)| items).map(String::as_str).collect();
    let by = "by conv1 (Conv + bn1 + relu)";
    assert_eq!(all, [format!("bn1 {by}"), format!("conv1 {by}"), format!("relu {by}")]);
    assert!(comparison.gone.is_empty());
    let [before, after] = comparison.replacements[0].times();
    assert!(before > 0.0 && after > 0.0);
}

#[test]
fn what_is_as_it_was_replaced_nothing() {
    let comparison = compared(&[CONV, NORM], &[CONV, NORM]);
    assert!(comparison.replacements.is_empty() && comparison.gone.is_empty(), "{comparison:?}");
}

#[test]
fn what_nothing_stands_for_is_gone() {
    let comparison = compared(&[CONV, RELU], &[CONV]);
    assert_eq!(comparison.gone.iter().map(|ran| ran.node.as_str()).collect::<Vec<_>>(), ["relu"]);
    let removed = Report::from(&comparison).removed;
    assert!(removed[0].0 == "aten::relu" && removed[0].1[0].starts_with("relu is gone ("), "{removed:?}");
}

/// Two calls of one module: the path says which module it is, and not which call.
#[test]
fn a_shared_module_is_told_by_its_nodes() {
    let second = ("conv1_1", "conv1", "aten::conv2d", &["conv1"][..]);
    let fused = ("conv1_1", "conv1", "fx::Conv", &["conv1"][..]);
    let comparison = compared(&[CONV, second], &[CONV, fused]);
    assert_eq!(comparison.replacements.len(), 1);
    assert_eq!(comparison.replacements[0].by.node, "conv1_1");
}

#[test]
fn nodes_survive_a_file() {
    let trace = recorded(&[CONV, RELU]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json.gz");
    trace.write(&path).unwrap();
    let read = Trace::read(&path).unwrap();
    assert_eq!(read.nodes, trace.nodes);
    assert_eq!(read.nodes.len(), 4, "two nodes in two iterations");
}
