//! Traced graph, optimised graph and generated code of representative models, to the letter; `UPDATE_EXPECT=1` writes
//! them anew.
//!
//! The golden of the generated code is compared with the file that this crate was compiled with, so that it compiles.

use std::path::Path;

use expect_test::expect_file;
use fx_front::diag::Diagnostics;
use fx_front::{scan, trace};
use fx_ir::Graph;
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;

/// The traced graph of a `#[traceable]` type of this crate, and what the passes make of it.
fn graphs(model: &str) -> (Graph, Graph) {
    let diags = Diagnostics::new();
    let index = scan::krate(Path::new(env!("CARGO_MANIFEST_DIR")), &["src/lib.rs".into()], &diags);
    let is_model = |key: &fx_front::key::Key| key.to_string().split('#').next() == Some(model);
    let item = index.fns.iter().position(|function| function.key.as_ref().is_some_and(is_model));
    let traced = trace::item(&index, item.expect("a traceable model of that name"), &diags);
    let mut optimized = traced.graph.clone();
    fx_passes::inference::in_inference(&mut optimized).expect("no call in training");
    let context = PassContext::new(traced.signature.has_receiver);
    Pipeline::inference().run(&mut optimized, &context).expect("the passes run");
    (traced.graph, optimized)
}

/// Both graphs as text, which has to parse back.
fn check_graphs(model: &str, folder: &Path) {
    let (traced, optimized) = graphs(model);
    for (graph, stage) in [(traced, "traced"), (optimized, "optimized")] {
        let text = graph.to_string();
        assert_eq!(text.parse::<Graph>().map(|graph| graph.to_string()), Ok(text.clone()), "{model} {stage}");
        expect_file![folder.join(format!("{model}.{stage}.txt"))].assert_eq(&format!("{text}\n"));
    }
}

macro_rules! goldens {
    ($($test:ident: $model:literal;)*) => {
        $(#[test]
        fn $test() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
            check_graphs($model, &folder);
            let compiled = include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs"));
            expect_file![folder.join(concat!($model, ".rs"))].assert_eq(compiled);
            let graph = include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, "_graph.rs"));
            expect_file![folder.join(concat!($model, "_graph.rs"))].assert_eq(graph);
        })*
    };
}

goldens! {
    loops_options_and_folding: "Residual";
    transposed_convolutions: "Decoder";
    layers_kept_as_they_are: "Tokens";
    chance: "Noise";
    writes_in_place: "InPlace";
    pointwise_groups: "Custom";
    groups_with_rows: "Normed";
}

#[test]
fn no_golden_tells_where_it_was_made() {
    let goldens = crate::folder::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens"));
    assert_eq!(goldens.len(), 28);
    for (name, bytes) in goldens {
        // What is included lies at `concat!(env!("OUT_DIR"), "/fx/..")`.
        let text = String::from_utf8(bytes).expect("text").replace("\"/fx/", "");
        let absolute = ["\"/", "(/", " /home", " /tmp", env!("CARGO_MANIFEST_DIR")];
        assert!(absolute.iter().all(|path| !text.contains(path)), "`{name}` has an absolute path");
    }
}
