//! What the engine promises beside the patterns themselves: order, borders, effects, predicates, origins.

#![allow(clippy::needless_pass_by_value, reason = "so that a test names the pass alone")]
#![allow(clippy::panic, reason = "a test may fail so")]

use fx_rewrite::pass::{Pass, PassContext};
use fx_rewrite::{Graph, fx_pass};

/// What a pass makes of a graph, in one line; the model is the parameter `self`.
fn run(pass: impl Pass, text: &str) -> String {
    let mut graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(graph.lint(), Ok(()));
    pass.run(&mut graph, &PassContext::new(text.contains("self")));
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    graph.to_line()
}

/// Does the pass leave the graph as it is?
fn is_left(pass: impl Pass, text: &str) -> bool {
    let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(pass, text) == graph.to_line()
}

fx_pass! {
    /// The first of two rules for one root is tried first.
    pub InOrder {
        near: |x| x.neg().exp() => x.sin(),
        far: |x| x.exp() => x.cos(),
    }

    /// A pattern of two ops, of which three in a row are two that overlap.
    pub Pairs { |x| x.sigmoid().sigmoid() => x.tanh() }

    /// Three ops.
    pub Three { |x, y| x.neg() * y.exp() => x.sin() - y }
}

#[test]
fn rules_are_tried_in_the_order_in_which_they_are_written() {
    let text = "graph f(x: tensor) { %a = neg(x) : tensor ; %b = exp(%a) : tensor ; %c = exp(%b) : tensor ; yield %c }";
    let found = run(InOrder, text);
    assert!(found.contains("%b = sin(x)") && found.contains("%c = cos(%b)"), "{found}");
}

#[test]
fn of_two_matches_that_overlap_the_one_that_ends_first_is_taken() {
    let text = "graph f(x: tensor) { %a = sigmoid(x) : tensor ; %b = sigmoid(%a) : tensor ; %c = sigmoid(%b) : tensor ; yield %c }";
    let found = run(Pairs, text);
    assert!(found.contains("%b = tanh(x)") && found.contains("%c = sigmoid(%b)"), "{found}");
}

#[test]
fn a_match_lies_in_one_region_and_between_two_writes() {
    let whole = "graph f(x: tensor, y: tensor) { %a = neg(x) : tensor ; %b = exp(y) : tensor ; %c = mul(%b, %a) : tensor ; yield %c }";
    assert!(run(Three, whole).contains("sub("), "in either order");
    for text in [
        // The last op is in an arm.
        "graph f(x: tensor, n: rust<bool>) {
          %a = neg(x) : tensor ; %b = exp(x) : tensor
          %y = if(n) : tensor { %c = mul(%a, %b) : tensor ; yield %c } else { yield x }
          yield %y
        }",
        // So is the first, and it is the same at every turn.
        r#"graph f(x: tensor, n) {
          %a = neg(x) : tensor
          %y = for["%0"](n, x) : tensor (i, z: tensor) { %b = exp(z) : tensor ; %c = mul(%a, %b) : tensor ; yield %c }
          yield %y
        }"#,
        // The input is written to in between.
        "graph f(x: tensor, y: tensor) {
          %a = neg(x) : tensor ; %i = add_(x, 1) ; %b = exp(y) : tensor ; %c = mul(%a, %b) : tensor ; yield %c
        }",
        // Code that may do anything stands in between.
        "graph f(x: tensor, y: tensor) {
          %a = neg(x) : tensor ; %i = rust[\"log(&$0)\", io](x) ; %b = exp(y) : tensor ; %c = mul(%a, %b) : tensor ; yield %c
        }",
        // What is inside is read outside.
        "graph f(x: tensor, y: tensor) {
          %a = neg(x) : tensor ; %b = exp(y) : tensor ; %c = mul(%a, %b) : tensor ; yield %c, %b
        }",
        // An op in place is another op.
        "graph f(x: tensor, y: tensor) {
          %a = neg_(x) : tensor ; %b = exp(y) : tensor ; %c = mul(%a, %b) : tensor ; yield %c
        }",
    ] {
        assert!(is_left(Three, text), "{}", run(Three, text));
    }
}

#[test]
fn a_replacement_has_the_origins_of_all_that_it_replaces() {
    let text = "graph f(x: tensor, y: tensor) {
      %a = neg(x) : tensor @ src/a.rs:1 as neg
      %b = exp(y) : tensor @ src/b.rs:2 as exp
      %c = mul(%a, %b) : tensor @ src/c.rs:3 as mul
      yield %c
    }";
    let found = run(Three, text);
    let origin = "@ src/a.rs:1 + src/b.rs:2 + src/c.rs:3 as neg + exp + mul by three";
    assert_eq!(found.matches(origin).count(), 2, "{found}");
}

fx_pass! {
    /// Only of f32.
    pub OfFloats { |x: Tensor| x.exp() => x.cos() if dtype(x) == Some("f32") }

    /// Only of two axes.
    pub OfMatrices { |x: Tensor| x.exp() => x.cos() if rank(x) == Some(2) }

    /// Only where the last axis has four.
    pub OfFours { |x: Tensor| x.exp() => x.cos() if dim(x, -1) == Some(4) }

    /// Only of what floats for certain.
    pub OfFloating { |x: Tensor| x.exp() => x.cos() if is_float(x) }

    /// Only of weights.
    pub OfWeights { |x: Tensor| x.exp() => x.cos() if x.is_freeze_time() }

    /// Only of inputs.
    pub OfInputs { |x: Tensor| x.exp() => x.cos() if !is_freeze_time(x) }

    /// Only by a number that is written down.
    pub ByLiterals { |x: Tensor, c| x * c => x.cos() if is_literal(c) }

    /// Only by a number that the model computes.
    pub ByOthers { |x: Tensor, c| x * c => x.cos() if !c.is_literal() }

    /// Only where nobody else reads the input.
    pub OfOwn { |x: Tensor| x.exp() => x.cos() if users(x) == 1 }

    /// By any number at all.
    pub ByAny { |x: Tensor| x * _ => x.cos() }
}

#[test]
fn predicates_ask_what_is_known() {
    let of = |ty: &str| format!("graph f(x: {ty}) {{ %y = exp(x) : tensor ; yield %y }}");
    for (pass, fits, others) in [
        (&OfFloats as &dyn Pass, "f32[?, 4]", ["f64[?, 4]", "tensor"]),
        (&OfMatrices, "f32[?, 4]", ["f32[4]", "tensor"]),
        (&OfFours, "f32[?, 4]", ["f32[4, ?]", "tensor"]),
        (&OfFloating, "f16[?, 4]", ["i64[?, 4]", "tensor"]),
    ] {
        let applies = |ty: &str| {
            let mut graph: Graph = of(ty).parse().unwrap_or_else(|error| panic!("{error}"));
            pass.run(&mut graph, &PassContext::default()).is_yes()
        };
        assert!(applies(fits), "{} of {fits}", pass.name());
        for ty in &others {
            assert!(!applies(ty), "{} of {ty}", pass.name());
        }
    }
    let weight =
        "graph f(self: module<Net>, x: tensor) { %w = get_attr[w](self) : tensor ; %y = exp(%w) : tensor ; yield %y }";
    let input = "graph f(self: module<Net>, x: tensor) { %y = exp(x) : tensor ; yield %y }";
    assert_eq!([is_left(OfWeights, weight), is_left(OfWeights, input)], [false, true]);
    assert_eq!([is_left(OfInputs, weight), is_left(OfInputs, input)], [true, false]);
    let literal = "graph f(x: tensor, n: rust<f64>) { %y = mul.Scalar(x, 2.5) : tensor ; yield %y }";
    let computed = "graph f(x: tensor, n: rust<f64>) { %y = mul.Scalar(x, n) : tensor ; yield %y }";
    assert_eq!([is_left(ByLiterals, literal), is_left(ByLiterals, computed)], [false, true]);
    assert_eq!([is_left(ByOthers, literal), is_left(ByOthers, computed)], [true, false]);
    assert_eq!([is_left(ByAny, literal), is_left(ByAny, computed)], [false, false]);
    let own = "graph f(x: tensor) { %y = exp(x) : tensor ; yield %y }";
    let shared = "graph f(x: tensor) { %y = exp(x) : tensor ; %z = neg(x) : tensor ; yield %y, %z }";
    assert_eq!([is_left(OfOwn, own), is_left(OfOwn, shared)], [false, true]);
}

fx_pass! {
    /// By schema names, in any order.
    pub Named { |x: Tensor, d| x.softmax(dtype = None, dim = d) => x.log_softmax(d, None) }
}

#[test]
fn parameters_have_a_place_and_a_name() {
    for text in [
        "graph f(x: tensor) { %y = softmax(x, -1, none) : tensor ; yield %y }",
        "graph f(x: tensor) { %y = softmax(x, dim=-1) : tensor ; yield %y }",
        "graph f(x: tensor) { %y = softmax(x, dtype=none, dim=-1) : tensor ; yield %y }",
    ] {
        assert!(run(Named, text).contains("log_softmax(x, -1, none)"), "{text}");
    }
    assert!(is_left(Named, "graph f(x: tensor) { %y = softmax(x, -1, dtype=`Kind::Float`) : tensor ; yield %y }"));
}
