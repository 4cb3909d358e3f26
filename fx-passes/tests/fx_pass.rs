//! Rules as a user writes them, told in graphs.

use expect_test::{Expect, expect};
use fx_passes::pass::{Pass, PassContext};
use fx_passes::{Graph, fx_pass};

/// Runs a pass on a graph, whose first parameter is the model if it is called `self`.
fn check(pass: impl Pass, before: &str, after: &Expect) {
    let mut graph: Graph = before.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(graph.lint(), Ok(()));
    let first = graph.region(graph.body()).params.first().copied();
    let cx = PassContext::new(first.is_some_and(|id| graph.node(id).name == "self"));
    pass.run(&mut graph, &cx);
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    after.assert_eq(&graph.to_string());
}

fx_pass! {
    /// x * sigmoid(x) is SiLU.
    pub SigmoidToSilu { |x| x * x.sigmoid() => x.silu() }
}

#[test]
fn a_rule_of_one_line() {
    assert_eq!((SigmoidToSilu.name(), SigmoidToSilu.doc()), ("sigmoid-to-silu", "x * sigmoid(x) is SiLU"));
    check(
        SigmoidToSilu,
        r#"graph f(x: tensor) {
          %s = sigmoid(x) : tensor @ src/m.rs:1 as sigmoid
          %y = mul(%s, x) : tensor @ src/m.rs:2 as mul
          %t = sigmoid(%y) : tensor
          %z = mul(%y, %t) : tensor
          yield %z
        }"#,
        &expect![[r#"
            graph f(x: tensor) {
              %y = silu(x) : tensor  @ src/m.rs:1 + src/m.rs:2 as sigmoid + mul by sigmoid-to-silu
              %z = silu(%y) : tensor  @ by sigmoid-to-silu
              yield %z
            }"#]],
    );
}
