//! An operator in a pattern finds whatever the tracer makes of the same operator in Rust.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "so that a test names the pass alone")]

use fx_front::{diag::Diagnostics, scan, trace};
use fx_ir::{Graph, Op};
use fx_passes::fx_pass;
use fx_passes::pass::{Pass, PassContext};
use fx_passes::pipeline::Pipeline;

/// The graph of a function of two tensors with this body.
fn traced(body: &str) -> Graph {
    let source = format!(
        "use fx_runtime::{{traceable, Tensor}};
        #[traceable]
        pub fn f(xs: &Tensor, ys: &Tensor) -> Tensor {{ {body} }}"
    );
    let diags = Diagnostics::new();
    let index = scan::text(&source, &diags);
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    trace::item(&index, item, &diags).graph
}

/// How often the pass applies to this body, as it is traced and behind the library's arithmetic.
fn applied<P: Pass + 'static>(pass: fn() -> P, body: &str) -> (usize, usize) {
    let cos = |graph: &Graph| {
        let found =
            graph.nodes().into_iter().filter(|&id| matches!(&graph.node(id).op, Op::Call(op) if op.name() == "cos"));
        found.count()
    };
    let mut first = traced(body);
    pass().run(&mut first, &PassContext::default());
    let mut later = traced(body);
    let pipeline = Pipeline::inference().with_after("arithmetic", pass()).stop_after(pass().name());
    pipeline.run(&mut later, &PassContext::default()).unwrap_or_else(|error| panic!("{error}"));
    (cos(&first), cos(&later))
}

fx_pass! {
    /// One less a value.
    OneLess { |x| 1.0 - x => x.cos() }

    /// A number less a value.
    NumberLess { |x, c: f64| c - x => x.cos() * c }

    /// Two over a value.
    TwoOver { |x| 2.0 / x => x.cos() }

    /// One over a value.
    OneOver { |x| 1.0 / x => x.cos() }

    /// A value less another.
    Less { |x: Tensor, y: Tensor| x - y => x.cos() * y }

    /// The same, turned round.
    TurnedRound { |x, y: Tensor| -x + y => y.cos() * x }

    /// A value less nothing.
    LessNothing { |x| x - 0.0 => x.cos() }

    /// A value less one.
    LessOne { |x| x - 1.0 => x.cos() }
}

#[test]
fn a_number_less_a_tensor() {
    for body in
        ["1.0 - xs", "1 - xs", "1.0 - ys * xs", "-xs + 1.0", "1.0 + -xs", "xs.neg() + 1", "xs.neg().g_add_scalar(1.0)"]
    {
        assert_eq!(applied(|| OneLess, body), (1, 1), "{body}");
        assert_eq!(applied(|| NumberLess, body), (1, 1), "{body}");
    }
    for body in ["xs - 1.0", "2.0 - xs", "ys - xs"] {
        assert_eq!(applied(|| OneLess, body), (0, 0), "{body}");
    }
    assert_eq!(applied(|| NumberLess, "0.25 - xs"), (1, 1));
}

#[test]
fn a_number_over_a_tensor() {
    for body in ["2.0 / xs", "2 / xs", "2.0 / (xs * ys)", "(xs / 2.0).reciprocal()"] {
        assert_eq!(applied(|| TwoOver, body), (1, 1), "{body}");
        assert_eq!(applied(|| OneOver, body), (1, 1), "{body}");
    }
    for body in ["1.0 / xs", "1 / xs", "xs.reciprocal()", "1.0 / xs.exp()"] {
        assert_eq!(applied(|| OneOver, body), (1, 1), "{body}");
        assert_eq!(applied(|| TwoOver, body), (0, 0), "{body}");
    }
}

#[test]
fn a_difference_of_tensors() {
    for body in ["ys - xs", "-xs + ys", "ys + -xs", "ys.g_sub(xs)", "xs.neg().g_add(ys)"] {
        assert_eq!(applied(|| Less, body), (1, 1), "{body}");
        assert_eq!(applied(|| TurnedRound, body), (1, 1), "{body}");
    }
    assert_eq!(applied(|| Less, "xs + ys"), (0, 0));
    assert_eq!(applied(|| TurnedRound, "xs + ys"), (0, 0));
}

#[test]
fn a_number_taken_away() {
    for body in ["xs - 1.0", "xs - 1", "xs + -1.0", "-1.0 + xs", "xs.g_sub_scalar(1.0)"] {
        assert_eq!(applied(|| LessOne, body), (1, 1), "{body}");
    }
    assert_eq!(applied(|| LessOne, "xs + 1.0"), (0, 0));
    // A sum with zero turns minus zero into zero.
    assert_eq!([applied(|| LessNothing, "xs - 0.0").0, applied(|| LessNothing, "xs + 0.0").0], [1, 0]);
}
