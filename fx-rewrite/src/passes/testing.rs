//! Tests of passes: a graph as text in, a graph as text out.

use expect_test::Expect;
use fx_ir::Graph;

use crate::pass::{Pass, PassContext};

/// Runs a pass on the graph `before`, whose first parameter is the model if it is called `self`.
#[allow(clippy::needless_pass_by_value, reason = "so that a test names the pass alone")]
pub(super) fn check(pass: impl Pass, before: &str, after: &Expect) {
    let graph: Graph = before.parse().unwrap_or_else(|error| panic!("{error}"));
    check_all(&[&pass], graph, after);
}

/// Runs passes one after the other, the verifier between them.
pub(super) fn check_all(passes: &[&dyn Pass], mut graph: Graph, after: &Expect) {
    assert_eq!(graph.lint(), Ok(()));
    let first = graph.region(graph.body()).params.first().copied();
    let cx = PassContext::new(first.is_some_and(|id| graph.node(id).name == "self"));
    for pass in passes {
        pass.run(&mut graph, &cx);
        assert_eq!(graph.lint(), Ok(()), "after {}: {graph}", pass.name());
    }
    after.assert_eq(&graph.to_string());
}
