//! Traces of the interpreted and of the frozen network: the comparison names what went, what came, and what replaced what.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use fx_runtime::graph_module::value;
use fx_runtime::{Device, Freeze, nn, tch};
use fx_trace::{Comparison, LabeledTrace, Options, Trace, compare_traces, report::Report};
use resnet18::{ResNet18, weights};

/// Eager against frozen, through files.
fn comparison() -> Comparison {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 10);
    weights::fill(&net);
    let graph = net.graph_module().unwrap();
    let frozen = graph.freeze(&Freeze::default()).unwrap();
    let inputs = [value(weights::input(1, 64))];
    let eager = tch::no_grad(|| graph.profile_trace(&inputs, 1, 3)).unwrap();
    let frozen = frozen.profile_trace(&inputs, 1, 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let through_file = |trace: Trace, name: &str| {
        let path = folder.path().join(format!("{name}.json.gz"));
        trace.write(&path).unwrap();
        let read = Trace::read(&path).unwrap();
        assert_eq!((&read.nodes, &read.events.len()), (&trace.nodes, &trace.events.len()), "nothing is lost");
        LabeledTrace::new(name, read)
    };
    let (eager, frozen) = (through_file(eager, "eager"), through_file(frozen, "frozen"));
    compare_traces(&eager, &frozen, &Options::default()).unwrap()
}

#[test]
fn a_diff_names_what_replaced_what() {
    let comparison = comparison();
    let count = |name: &str| {
        let row = comparison.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}"));
        (row.control.counts, row.test.counts)
    };
    assert_eq!((count("aten::batch_norm"), count("aten::conv2d")), ((20.0, 0.0), (20.0, 0.0)));
    assert_eq!((count("fx::Conv"), count("fx::Conv_add"), count("fx::Linear")), ((0.0, 12.0), (0.0, 8.0), (0.0, 1.0)));
    assert_eq!(count("aten::max_pool2d"), (1.0, 1.0));
    assert_eq!(comparison.iterations, [3, 3]);

    let report = Report::from(&comparison);
    let says = |start: &str| report.replacements.iter().any(|sentence| sentence.starts_with(start));
    assert!(says("conv1 (Conv + bn1 + relu) replaced conv1, bn1, relu: "), "{:?}", report.replacements);
    assert!(says(
        "layer1.0.conv2 (Conv_add + layer1.0.bn2 + add + relu_2) replaced layer1.0.conv2, layer1.0.bn2, add, relu_2: "
    ));
    assert!(says("fc (Linear) replaced fc: "), "{:?}", report.replacements);
    assert_eq!(report.replacements.len(), 21);
    assert!(comparison.gone.is_empty(), "{:?}", comparison.gone);
    let (_, norms) = report.removed.iter().find(|(name, _)| name == "aten::batch_norm").unwrap();
    assert_eq!(norms.len(), 20);
    assert!(norms.contains(&"bn1 by conv1 (Conv + bn1 + relu)".to_owned()), "{norms:?}");
    let page = report.html().unwrap();
    assert!(page.contains("<li>bn1 by conv1 (Conv + bn1 + relu)</li>") && page.contains("What replaced what"));
}
