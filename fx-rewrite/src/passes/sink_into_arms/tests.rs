//! What moves into arms, and what stays where it is.

use expect_test::{Expect, expect};

use super::*;
use crate::passes::testing::check_all;
use crate::passes::{DeadCode, FoldBatchNorm, FuseEpilogue, LowerModules};

/// Sinks in a graph over a convolution, a batch norm and a flag of the model, and an input.
fn check(body: &str, after: &Expect) {
    check_all(&[&SinkIntoArms], graph(body), after);
}

/// The kernels that are left in the body and in each arm when everything is fused: their attributes, one a line.
fn check_fused(body: &str, after: &Expect) {
    let mut graph = graph(body);
    let cx = PassContext::new(true);
    for pass in [&LowerModules as &dyn Pass, &SinkIntoArms, &FoldBatchNorm, &FuseEpilogue, &DeadCode] {
        pass.run(&mut graph, &cx);
        assert_eq!(graph.lint(), Ok(()), "after {}: {graph}", pass.name());
    }
    let text = graph.to_string();
    let shown = ["convolution(", "call_module", "add(", "relu(", "neg(", "if(", "match(", "else", "\"None\"", "yield"];
    let lines = text.lines().filter(|line| shown.iter().any(|word| line.contains(word)));
    let lines: Vec<&str> = lines.map(|line| line.trim().split("  @").next().unwrap_or(line)).collect();
    after.assert_eq(&lines.join("\n"));
}

fn graph(body: &str) -> Graph {
    let text = format!(
        "graph f(self: module<Net>, x: tensor, n: rust<bool>) {{
          %conv = get_attr[conv](self) : module<Conv2D>
          %bn = get_attr[bn](self) : module<BatchNorm>
          %deep = get_attr[deep](self) : rust<bool>
          {body}
        }}"
    );
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_layer_goes_into_the_arms_that_read_it() {
    check_fused(
        "%c = call_module[Conv2D](%conv, x) : tensor
        %y = call_module[BatchNorm](%bn, %c) : tensor
        %r = if(%deep) : tensor { %s = add(x, %y) : tensor ; yield %s } else { yield %y }
        yield %r",
        &expect![[r#"
            %r = if(%deep) : tensor {
            %s = convolution(x, %kernel_weight_1, %kernel_bias_1, %kernel_params, add=x) : tensor
            yield %s
            } else {
            %y_2 = convolution(x, %kernel_weight_2, %kernel_bias_2, %kernel_params) : tensor
            yield %y_2
            yield %r"#]],
    );
}

#[test]
fn what_finishes_a_layer_goes_into_all_arms() {
    check_fused(
        "%m = get_attr[m](self) : option<module<Conv2D>>
        %r = match(%m) : tensor {
          \"Some(%0)\" (d: module<Conv2D>) { %c = call_module[Conv2D](d, x) : tensor ; yield %c }
          \"None\" { yield x }
        }
        %z = neg(x) : tensor
        %b = call_module[BatchNorm](%bn, %r) : tensor
        %s = add(%b, %z) : tensor
        %o = relu(%s) : tensor
        yield %o",
        &expect![[r#"
            %z = neg(x) : tensor
            %o = match(%m) : tensor {
            %o_1 = convolution(x, %kernel_weight_1, %kernel_bias_1, %kernel_params, add=%z, act="Relu") : tensor
            yield %o_1
            "None" {
            %b_2 = call_module[BatchNorm](%bn, x) : tensor
            %s_2 = add(%b_2, %z) : tensor
            %o_2 = relu(%s_2) : tensor
            yield %o_2
            yield %o"#]],
    );
}

#[test]
fn a_rule_that_applies_in_one_arm_is_reason_enough() {
    check(
        "%k = get_attr[k](self) : tensor
        %t = transpose(%k, -2, -1) : tensor
        %q = matmul(x, %t) : tensor
        %w = mul.Scalar(%q, 0.5) : tensor
        %m = if(n) : tensor { %a = relu(%w) : tensor ; yield %a } else { yield %w }
        %s = softmax(%m, -1, none) : tensor
        %v = neg(x) : tensor
        %o = matmul(%s, %v) : tensor
        yield %o",
        &expect![[r#"
            graph f(self: module<Net>, x: tensor, n: rust<bool>) {
              %conv = get_attr[conv](self) : module<Conv2D>
              %bn = get_attr[bn](self) : module<BatchNorm>
              %deep = get_attr[deep](self) : rust<bool>
              %k = get_attr[k](self) : tensor
              %v = neg(x) : tensor
              %o = if(n) : tensor {
                %t_1 = transpose(%k, -2, -1) : tensor  @ by sink-into-arms
                %q_1 = matmul(x, %t_1) : tensor  @ by sink-into-arms
                %w_1 = mul.Scalar(%q_1, 0.5) : tensor  @ by sink-into-arms
                %a = relu(%w_1) : tensor
                %s_1 = softmax(%a, -1, none) : tensor  @ by sink-into-arms
                %o_1 = matmul(%s_1, %v) : tensor  @ by sink-into-arms
                yield %o_1
              } else {
                %t_2 = transpose(%k, -2, -1) : tensor  @ by sink-into-arms
                %q_2 = matmul(x, %t_2) : tensor  @ by sink-into-arms
                %w_2 = mul.Scalar(%q_2, 0.5) : tensor  @ by sink-into-arms
                %s_2 = softmax(%w_2, -1, none) : tensor  @ by sink-into-arms
                %o_2 = matmul(%s_2, %v) : tensor  @ by sink-into-arms
                yield %o_2
              }
              yield %o
            }"#]],
    );
}

#[test]
fn an_input_that_decides_does_not_double_a_layer() {
    let twice = "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(n) : tensor { %s = add(x, %c) : tensor ; yield %s } else { yield %c }
        yield %r";
    check_fused(
        twice,
        &expect![[r#"
        %c = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor
        %r = if(n) : tensor {
        %s = add(x, %c) : tensor
        yield %s
        } else {
        yield %c
        yield %r"#]],
    );
    let once = "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(n) : tensor { %s = add(x, %c) : tensor ; yield %s } else { yield x }
        yield %r";
    check_fused(
        once,
        &expect![[r#"
        %r = if(n) : tensor {
        %s = convolution(x, %kernel_weight, %kernel_bias, %kernel_params, add=x) : tensor
        yield %s
        } else {
        yield x
        yield %r"#]],
    );
}

#[test]
fn an_arm_that_prints_leaves_the_others_their_layer() {
    check_fused(
        "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(%deep) : tensor { %s = relu(%c) : tensor ; yield %s } else {
          %p = rust[\"f(&$0)\", io](%c) : tensor
          yield %p
        }
        yield %r",
        &expect![[r#"
            %r = if(%deep) : tensor {
            %s = convolution(x, %kernel_weight, %kernel_bias, %kernel_params, act="Relu") : tensor
            yield %s
            } else {
            %c_2 = convolution(x, %kernel_weight, %kernel_bias, %kernel_params) : tensor
            yield %p
            yield %r"#]],
    );
}

#[test]
fn not_past_a_write_nor_out_of_other_readers_hands() {
    for body in [
        // Written between the layer and the arms.
        "%c = call_module[Conv2D](%conv, x) : tensor
        %i = add_(x, 1)
        %r = if(%deep) : tensor { %s = add(x, %c) : tensor ; yield %s } else { yield %c }
        yield %r",
        // Written in an arm.
        "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(%deep) : tensor { %i = add_(x, 1) ; %s = add(x, %c) : tensor ; yield %s } else { yield %c }
        yield %r",
        // Read behind the arms too.
        "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(%deep) : tensor { %s = add(x, %c) : tensor ; yield %s } else { yield x }
        yield %r, %c",
        // Read twice in the arm, so that nothing would fuse there.
        "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(%deep) : tensor { %s = relu(%c) : tensor ; %u = mul(%s, %c) : tensor ; yield %u } else { yield x }
        yield %r",
        // The result of the arms read twice.
        "%r = if(%deep) : tensor { %c = call_module[Conv2D](%conv, x) : tensor ; yield %c } else { yield x }
        %s = relu(%r) : tensor
        yield %r, %s",
        // The sum has a layer beside it.
        "%r = if(%deep) : tensor { %d = call_module[Conv2D](%conv, x) : tensor ; yield %d } else { yield x }
        %c = call_module[Conv2D](%conv, x) : tensor
        %s = add(%r, %c) : tensor
        yield %s",
        // Nothing to gain.
        "%r = if(%deep) : tensor { %c = neg(x) : tensor ; yield %c } else { yield x }
        %s = relu(%r) : tensor
        yield %s",
        // An input decides, and one arm prints.
        "%c = call_module[Conv2D](%conv, x) : tensor
        %r = if(n) : tensor { %s = relu(%c) : tensor ; yield %s } else { %p = rust[\"f()\", io]() ; yield x }
        yield %r",
    ] {
        let mut graph = graph(body);
        let cx = PassContext::new(true);
        LowerModules.run(&mut graph, &cx);
        let before = graph.to_string();
        assert_eq!(SinkIntoArms.run(&mut graph, &cx), Changed::No, "{graph}");
        assert_eq!(graph.to_string(), before);
    }
}
