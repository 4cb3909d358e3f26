//! Patterns that a procedural pass makes of graphs: the cases that torch.fx's `replace_pattern` is known for.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]
#![allow(clippy::panic, reason = "a test may fail so")]

use expect_test::{Expect, expect};
use fx_rewrite::Graph;
use fx_rewrite::pass::{Changed, Pass, PassContext};
use fx_rewrite::pipeline::Pipeline;
use fx_rewrite::rewrite::{Pattern, PatternError};

fn graph(text: &str) -> Graph {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn pattern(before: &str, after: &str) -> Pattern {
    Pattern::new("test", &graph(before), &graph(after)).unwrap_or_else(|error| panic!("{error}"))
}

/// What a pattern makes of a graph, and in how many places.
fn check(pattern: &Pattern, text: &str, count: usize, after: &Expect) {
    let mut graph = graph(text);
    let replaced = pattern.replace_in(&mut graph, &PassContext::new(text.contains("self")));
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    assert_eq!((replaced.matches.len(), replaced.exhausted), (count, false), "{graph}");
    after.assert_eq(&graph.to_line());
}

#[test]
fn chains_are_replaced_to_the_end() {
    let once = pattern(
        "graph p(x: tensor) { %a = relu(x) ; %b = relu(%a) ; yield %b }",
        "graph r(x: tensor) { %a = relu(x) ; yield %a }",
    );
    let thrice =
        "graph f(x: tensor) { %a = relu(x) : tensor ; %b = relu(%a) : tensor ; %c = relu(%b) : tensor ; yield %c }";
    check(&once, thrice, 2, &expect!["graph f(x: tensor) { %c = relu(x) : tensor  @ by test ; yield %c }"]);
}

#[test]
fn two_captures_may_be_one_value_and_orders_do_not_matter() {
    let sum = pattern(
        "graph p(x: tensor, y: tensor) { %n = neg(x) ; %s = add(%n, y) ; yield %s }",
        "graph r(x: tensor, y: tensor) { %d = sub(y, x) ; yield %d }",
    );
    let same = "graph f(x: tensor) { %n = neg(x) : tensor ; %s = add(x, %n) : tensor ; yield %s }";
    check(&sum, same, 1, &expect!["graph f(x: tensor) { %s = sub(x, x) : tensor  @ by test ; yield %s }"]);
}

#[test]
fn literals_are_compared_and_defaults_filled_in() {
    let flat = pattern(
        "graph p(x: tensor) { %f = flatten(x, end_dim=-1) ; yield %f }",
        "graph r(x: tensor) { %v = reshape(x, [-1]) ; yield %v }",
    );
    let text =
        "graph f(x: tensor) { %a = flatten(x, 0, -1) : tensor ; %b = flatten(x, 1, -1) : tensor ; yield %a, %b }";
    check(
        &flat,
        text,
        1,
        &expect![
            "graph f(x: tensor) { %a = reshape(x, [-1]) : tensor  @ by test ; %b = flatten(x, 1, -1) : tensor ; yield %a, %b }"
        ],
    );
}

#[test]
fn what_others_read_stays() {
    let once = pattern(
        "graph p(x: tensor) { %a = neg(x) ; %b = exp(%a) ; yield %b }",
        "graph r(x: tensor) { %a = cos(x) ; yield %a }",
    );
    let text = "graph f(x: tensor) { %a = neg(x) : tensor ; %b = exp(%a) : tensor ; yield %a, %b }";
    check(
        &once,
        text,
        0,
        &expect!["graph f(x: tensor) { %a = neg(x) : tensor ; %b = exp(%a) : tensor ; yield %a, %b }"],
    );
}

#[test]
fn a_value_that_the_pattern_reads_twice_is_one_value() {
    let twice = pattern(
        "graph p(x: tensor) { %a = sigmoid(x) ; %b = mul(%a, %a) ; yield %b }",
        "graph r(x: tensor) { %a = cos(x) ; yield %a }",
    );
    let text = "graph f(x: tensor, y: tensor) {
      %a = sigmoid(x) : tensor ; %b = mul(%a, %a) : tensor
      %c = sigmoid(x) : tensor ; %d = sigmoid(y) : tensor ; %e = mul(%c, %d) : tensor
      yield %b, %e
    }";
    check(
        &twice,
        text,
        1,
        &expect![
            "graph f(x: tensor, y: tensor) { %b = cos(x) : tensor  @ by test ; %c = sigmoid(x) : tensor ; %d = sigmoid(y) : tensor ; %e = mul(%c, %d) : tensor ; yield %b, %e }"
        ],
    );
}

#[test]
fn several_results() {
    let both = pattern(
        "graph p(x: tensor) { %a = sin(x) ; %b = cos(x) ; yield %a, %b }",
        "graph r(x: tensor) { %a = exp(x) ; %b = neg(%a) ; yield %a, %b }",
    );
    let text =
        "graph f(x: tensor) { %s = sin(x) : tensor ; %c = cos(x) : tensor ; %y = add(%s, %c) : tensor ; yield %y }";
    check(
        &both,
        text,
        1,
        &expect![
            "graph f(x: tensor) { %a = exp(x) : tensor  @ by test ; %b = neg(%a) : tensor  @ by test ; %y = add(%a, %b) : tensor ; yield %y }"
        ],
    );
}

#[test]
fn layers_match_by_type_and_their_fields_are_at_hand() {
    let folded = pattern(
        "graph p(x: tensor, fc: module<Linear>, bn: module<BatchNorm>) {
          %a = call_module[Linear](fc, x) ; %b = call_module[BatchNorm](bn, %a) ; yield %b
        }",
        r#"graph r(x: tensor, fc: module<Linear>, bn: module<BatchNorm>) {
          %ws = get_attr[ws](fc) : tensor
          %two = rust["fold(&$0, &$1)?"](%ws, bn) : (tensor, tensor)
          %w = tuple_get[0](%two) : tensor
          %b = tuple_get[1](%two) : tensor
          %y = linear(x, %w, %b) : tensor
          yield %y
        }"#,
    );
    let text = "graph f(self: module<Net>, x: tensor) {
      %head = get_attr[head](self) : module<Linear>
      %norm = get_attr[norm](self) : module<BatchNorm>
      %conv = get_attr[conv](self) : module<Conv2D>
      %a = call_module[Linear](%head, x) : tensor
      %b = call_module[BatchNorm](%norm, %a) : tensor
      %c = call_module[Conv2D](%conv, %b) : tensor
      %d = call_module[BatchNorm](%norm, %c) : tensor
      yield %d
    }";
    check(
        &folded,
        text,
        1,
        &expect![[
            r#"graph f(self: module<Net>, x: tensor) { %head = get_attr[head](self) : module<Linear> ; %norm = get_attr[norm](self) : module<BatchNorm> ; %conv = get_attr[conv](self) : module<Conv2D> ; %ws = get_attr[ws](%head) : tensor  @ by test ; %two_0_two_1 = rust["fold(&$0, &$1)?"](%ws, %norm) : (tensor, tensor)  @ by test ; %two_0 = tuple_get[0](%two_0_two_1) : tensor  @ by test ; %two_1 = tuple_get[1](%two_0_two_1) : tensor  @ by test ; %b = linear(x, %two_0, %two_1) : tensor  @ by test ; %c = call_module[Conv2D](%conv, %b) : tensor ; %d = call_module[BatchNorm](%norm, %c) : tensor ; yield %d }"#
        ]],
    );
}

#[test]
fn a_filter_sees_what_was_found() {
    let scaled = pattern(
        "graph p(x: tensor, c) { %a = mul.Scalar(x, c) ; yield %a }",
        "graph r(x: tensor, c) { %a = div.Scalar(x, c) ; yield %a }",
    );
    let mut graph =
        graph("graph f(x: tensor) { %a = mul.Scalar(x, 2.0) : tensor ; %b = mul.Scalar(%a, 3.0) : tensor ; yield %b }");
    let replaced = scaled.replace_where(&mut graph, &PassContext::default(), |found| {
        found.named("c").and_then(fx_rewrite::rewrite::Value::as_float) == Some(3.0)
    });
    let captures: Vec<&str> =
        replaced.matches.iter().flat_map(|one| one.captures.iter().map(|(name, _)| *name)).collect();
    assert_eq!(captures, ["x", "c"]);
    let wanted = "graph f(x: tensor) { %a = mul.Scalar(x, 2.0) : tensor ; %b = div.Scalar(%a, 3.0) : tensor  @ by test ; yield %b }";
    assert_eq!(graph.to_line(), wanted);
}

#[test]
fn what_goes_on_for_ever_is_stopped() {
    let endless = pattern(
        "graph p(x: tensor) { %a = relu(x) ; yield %a }",
        "graph r(x: tensor) { %n = neg(x) ; %a = relu(%n) ; yield %a }",
    );
    let mut graph = graph("graph f(x: tensor) { %a = relu(x) : tensor ; yield %a }");
    assert!(endless.replace_in(&mut graph, &PassContext::default()).exhausted);
    assert_eq!(graph.lint(), Ok(()));
}

#[test]
fn graphs_that_are_no_rule() {
    let error = |before: &str, after: &str| Pattern::new("test", &graph(before), &graph(after)).err();
    let relu = "graph p(x: tensor) { %a = relu(x) ; yield %a }";
    assert_eq!(error("graph p(x: tensor) { yield x }", relu), Some(PatternError::Bare("x".to_owned())));
    let write = "graph p(x: tensor) { %a = relu_(x) ; yield %a }";
    assert_eq!(error(write, relu), Some(PatternError::Unsupported("a".to_owned())));
    let choice = "graph p(x: tensor, n: rust<bool>) { %a = if(n) { yield x } else { yield x } ; yield %a }";
    assert_eq!(error(choice, relu), Some(PatternError::Unsupported("a".to_owned())));
    assert_eq!(
        error(relu, "graph r(y: tensor) { %a = neg(y) ; yield %a }"),
        Some(PatternError::Unbound("y".to_owned()))
    );
    let two = "graph r(x: tensor) { %a = neg(x) ; yield %a, x }";
    let told = error(relu, two).map(|error| error.to_string());
    assert_eq!(told.as_deref(), Some("the pattern yields 1 values and the replacement 2"));
}

/// A procedural pass that replaces a pattern.
struct Rectify;

impl Pass for Rectify {
    fn name(&self) -> &'static str {
        "rectify"
    }

    fn doc(&self) -> &'static str {
        "turns the greater of a value and zero into one op"
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let parts = [
            "graph p(x: tensor) { %z = zeros_like(x) ; %m = maximum(x, %z) ; yield %m }",
            "graph r(x: tensor) { %r = relu(x) ; yield %r }",
        ];
        let [Ok(before), Ok(after)] = parts.map(str::parse::<Graph>) else { return Changed::No };
        let pattern = Pattern::new("rectify", &before, &after);
        Changed::from(pattern.is_ok_and(|pattern| !pattern.replace_in(graph, cx).matches.is_empty()))
    }
}

#[test]
fn in_a_pass_of_the_users() {
    let mut graph =
        graph("graph f(x: tensor) { %z = zeros_like(x) : tensor ; %m = maximum(x, %z) : tensor ; yield %m }");
    let report = Pipeline::empty().then(Rectify).run(&mut graph, &PassContext::default());
    assert!(report.is_ok_and(|report| report.steps[0].changed.is_yes()));
    assert_eq!(graph.to_line(), "graph f(x: tensor) { %m = relu(x) : tensor  @ by rectify ; yield %m }");
}
