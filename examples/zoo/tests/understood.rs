//! How much of each forward the tracer understands, counted in the graphs that a build script makes.
//!
//! One unit is a tensor operation as the user wrote it: a call of an op or of a layer. A loop over layers counts once.
//! Code that is carried along counts by the calls that stand in it.

use std::path::{Path, PathBuf};

use fx_front::diag::Diagnostics;
use fx_front::{scan, trace};
use fx_ir::{Graph, Op};

/// Operations that are understood, and operations that are carried along.
fn count(graph: &Graph) -> (usize, usize) {
    let mut counts = (0, 0);
    for node in graph.nodes() {
        match &graph.node(node).op {
            Op::Call(_) | Op::CallModule(_) => counts.0 += 1,
            Op::Rust(code) if code.opaque.is_some() => counts.1 += code.template.matches('(').count().max(1),
            _ => {}
        }
    }
    counts
}

#[test]
fn nearly_everything_is_understood() {
    let diagnostics = Diagnostics::new();
    let index = scan::krate(Path::new(env!("CARGO_MANIFEST_DIR")), &[PathBuf::from("src/lib.rs")], &diagnostics);
    let mut models = vec!["ResNet50", "MobileNetV2", "VitB16", "BertModel", "Gpt2"];
    for item in (0..index.fns.len()).filter(|&item| index.fns[item].key.is_some()) {
        let traced = trace::item(&index, item, &diagnostics);
        let (known, carried) = count(&traced.graph);
        eprintln!("{}: {known} understood, {carried} carried along", traced.graph.name);
        if let Some(at) = models.iter().position(|model| *model == traced.graph.name) {
            models.remove(at);
            assert!(known > 4 && known * 5 >= carried * 95, "{}: {known} and {carried}", traced.graph.name);
        }
    }
    assert!(models.is_empty(), "not traced: {models:?}");
}
