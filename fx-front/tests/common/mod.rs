//! A source traced, as the tests ask for it.
#![allow(clippy::expect_used, dead_code, reason = "no test uses all of it, and one may panic")]

use std::fmt::Write as _;

use expect_test::Expect;
use fx_front::{diag::Diagnostics, scan, trace};
use fx_ir::Graph;

/// The first `#[traceable]` entry of a source as a graph, and what is said about it.
pub(crate) fn traced(source: &str) -> (Graph, Diagnostics) {
    let diags = Diagnostics::new();
    let index = scan::text(source, &diags);
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    let graph = trace::item(&index, item, &diags).graph;
    (graph, diags)
}

/// Compares the graph, all that is said about it, and what is wrong with it.
#[allow(clippy::needless_pass_by_value, reason = "an expectation is handed over")]
pub(crate) fn check(source: &str, expected: Expect) {
    let (graph, diags) = traced(source);
    let mut text = graph.to_string();
    for diag in diags.into_sorted() {
        let _ = writeln!(text, "{diag}");
    }
    if let Err(faults) = graph.lint() {
        let _ = writeln!(text, "{faults:?}");
    }
    expected.assert_eq(&text);
}
