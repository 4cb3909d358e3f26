//! Lists in rules: what is left of one, and a part that stands in it again and again.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]
#![allow(clippy::needless_pass_by_value, reason = "so that a test names the pass alone")]
#![allow(clippy::panic, reason = "a test may fail so")]

use expect_test::{Expect, expect};
use fx_rewrite::library::Joins;
use fx_rewrite::pass::{Pass, PassContext};
use fx_rewrite::{Graph, fx_pass};

fn check(pass: impl Pass, before: &str, after: &Expect) {
    let mut graph: Graph = before.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(graph.lint(), Ok(()));
    pass.run(&mut graph, &PassContext::default());
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    after.assert_eq(&graph.to_string());
}

fx_pass! {
    /// What is done to each part can be done to the whole.
    pub ReluOfJoint { |parts: [Tensor], d| cat([parts.relu()..], d) => cat(parts, d).relu() }

    /// A first part that is negative, whatever comes behind it.
    pub NegativeFirst { |x, rest: [Tensor]| stack([-x, ..rest], 0) => -stack([x, ..rest], 0) if rest.len() > 1 }

    /// One part of several is enough for this.
    pub LastIsTwice { |x| cat([.., x, x], 0) => x.neg() }
}

#[test]
fn a_repeated_part_gathers_its_captures() {
    check(
        ReluOfJoint,
        "graph f(x: tensor, y: tensor) {
          %a = relu(x) : tensor
          %b = relu(y) : tensor
          %c = relu(x) : tensor
          %d = cat([%a, %b, %c], 1) : tensor
          %e = relu(y) : tensor
          %g = cat([%e, y], 1) : tensor
          yield %d, %g
        }",
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %cat = cat([x, y, x], 1) : tensor  @ by relu-of-joint
              %d = relu(%cat) : tensor  @ by relu-of-joint
              %e = relu(y) : tensor
              %g = cat([%e, y], 1) : tensor
              yield %d, %g
            }"#]],
    );
}

#[test]
fn what_is_left_is_a_list_of_any_length() {
    check(
        NegativeFirst,
        "graph f(x: tensor, y: tensor) {
          %a = neg(x) : tensor
          %b = stack([%a, y, x], 0) : tensor
          %c = neg(x) : tensor
          %d = stack([%c, y], 0) : tensor
          yield %b, %d
        }",
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %stack = stack([x, y, x], 0) : tensor  @ by negative-first
              %b = neg(%stack) : tensor  @ by negative-first
              %c = neg(x) : tensor
              %d = stack([%c, y], 0) : tensor
              yield %b, %d
            }"#]],
    );
    check(
        LastIsTwice,
        "graph f(x: tensor, y: tensor) {
          %a = cat([y, y, x, x], 0) : tensor
          %b = cat([x, x], 0) : tensor
          %c = cat([x], 0) : tensor
          %d = cat([x, y], 0) : tensor
          yield %a, %b, %c, %d
        }",
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %a = neg(x) : tensor  @ by last-is-twice
              %b = neg(x) : tensor  @ by last-is-twice
              %c = cat([x], 0) : tensor
              %d = cat([x, y], 0) : tensor
              yield %a, %b, %c, %d
            }"#]],
    );
}

#[test]
fn slices_that_follow_one_another_are_one() {
    check(
        Joins,
        "graph f(x: f32[4, 6], y: tensor) {
          %a = narrow(x, 1, 0, 2) : tensor
          %b = narrow(x, 1, 2, 3) : tensor
          %d = cat([%a, %b], 1) : tensor
          %e = relu(%d) : tensor
          %l = narrow(x, 1, 0, 2) : tensor
          %m = narrow(x, 1, 2, 3) : tensor
          %c = narrow(x, 1, 5, 1) : tensor
          %g = cat([%l, %m, %c], 1) : tensor
          %h = relu(%g) : tensor
          %n = narrow(x, 1, 0, 2) : tensor
          %o = narrow(x, 1, 2, 3) : tensor
          %i = cat([%o, %n], 1) : tensor
          %k = cat([%i, y], 1) : tensor
          %j = relu(%k) : tensor
          yield %e, %h, %j
        }",
        &expect![[r#"
            graph f(x: f32[4, 6], y: tensor) {
              %d = narrow(x, 1, 0, 5) : tensor  @ by joins
              %e = relu(%d) : tensor
              %h = relu(x) : tensor
              %n = narrow(x, 1, 0, 2) : tensor
              %o = narrow(x, 1, 2, 3) : tensor
              %k = cat([%o, %n, y], 1) : tensor  @ by joins
              %j = relu(%k) : tensor
              yield %e, %h, %j
            }"#]],
    );
}

#[test]
fn the_caller_gets_no_input_for_a_result_of_its_own() {
    check(
        Joins,
        "graph f(x: tensor) {
          %a = cat([x], 1) : tensor
          %b = relu(x) : tensor
          %c = cat([%b], 1) : tensor
          %d = view(%c, [4]) : tensor
          yield %a, %d
        }",
        &expect![[r#"
            graph f(x: tensor) {
              %a = cat([x], 1) : tensor
              %b = relu(x) : tensor
              %d = view(%b, [4]) : tensor
              yield %a, %d
            }"#]],
    );
}
