//! Rules as a user writes them, told in graphs.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]
#![allow(clippy::needless_pass_by_value, reason = "so that a test names the pass alone")]
#![allow(clippy::doc_markdown, reason = "the doc comment is compared")]
#![allow(clippy::panic, reason = "a test may fail so")]

use expect_test::{Expect, expect};
use fx_rewrite::pass::{Pass, PassContext};
use fx_rewrite::{Graph, fx_pass};

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

fx_pass! {
    /// Every addition becomes a multiplication.
    pub AddToMul { |x, y| x + y => x * y }

    /// max(x, 0) spelled out, as torch.fx's documentation does.
    pub ReluToMul { |x| x.relu() => x.gt(0) * x }

    /// A batch norm folded into the convolution before it, by the runtime's own folding.
    pub FoldConvBn {
        |x, conv: Conv2D, bn: BatchNorm| bn(conv(x)) => {
            let params = rust!(::fx_runtime::frozen::ConvParams::from(conv.config); ::fx_runtime::frozen::ConvParams);
            let (w, b) = rust!(::fx_runtime::frozen::fold::conv_batch_norm(&conv.ws, conv.bs.as_ref(), &bn, &params)?);
            convolution(x, w, b, params)
        } if conv.calls() == 1 && conv.users() == 1
    }

    /// The same in elementary ops.
    pub FoldByHand {
        |x, conv: Conv2D, bn: BatchNorm| bn(conv(x)) => {
            let s = or(bn.ws, bn.running_var.ones_like()) * (bn.running_var + bn.config.eps).rsqrt();
            let b = (or(conv.bs, bn.running_mean.zeros_like()) - bn.running_mean) * s + or(bn.bs, s.zeros_like());
            conv2d(x, conv.ws * s.reshape([-1, 1, 1, 1]), b, conv.config.stride, conv.config.padding, conv.config.dilation, conv.config.groups)
        }
    }
}

#[test]
fn additions_become_multiplications() {
    check(
        AddToMul,
        r#"graph f(x: tensor, y: tensor, n: rust<i64>) {
          %a = add(x, y) : tensor
          %b = add.Scalar(%a, 2) : tensor
          %c = add.Scalar(%b, n) : tensor
          yield %c
        }"#,
        &expect![[r#"
            graph f(x: tensor, y: tensor, n: rust<i64>) {
              %a = mul(x, y) : tensor  @ by add-to-mul
              %b = mul.Scalar(%a, 2) : tensor  @ by add-to-mul
              %c = mul.Scalar(%b, n) : tensor  @ by add-to-mul
              yield %c
            }"#]],
    );
}

#[test]
fn relu_becomes_a_product_be_it_an_op_or_a_layer() {
    check(
        ReluToMul,
        r#"graph f(self: module<Net>, x: tensor) {
          %act = get_attr[act](self) : module<ReLU>
          %a = call_module[ReLU](%act, x) : tensor
          %b = relu(%a) : tensor
          yield %b
        }"#,
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %act = get_attr[act](self) : module<ReLU>
              %gt = gt(x, 0) : tensor  @ by relu-to-mul
              %a = mul(%gt, x) : tensor  @ by relu-to-mul
              %gt_1 = gt(%a, 0) : tensor  @ by relu-to-mul
              %b = mul(%gt_1, %a) : tensor  @ by relu-to-mul
              yield %b
            }"#]],
    );
}

const CONV_BN: &str = r#"graph f(self: module<Net>, x: tensor) {
  %conv = get_attr[conv](self) : module<Conv2D>
  %bn = get_attr[bn](self) : module<BatchNorm>
  %a = call_module[Conv2D](%conv, x) : tensor @ src/m.rs:1 as conv
  %b = call_module[BatchNorm](%bn, %a) : tensor @ src/m.rs:2 as bn
  yield %b
}"#;

#[test]
fn a_users_own_folding() {
    check(
        FoldConvBn,
        CONV_BN,
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %conv = get_attr[conv](self) : module<Conv2D>
              %bn = get_attr[bn](self) : module<BatchNorm>
              %params = host.runtime["ConvParams::from"](host.field["config"](%conv)) : rust<::fx_runtime::frozen::ConvParams>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-conv-bn
              %w_b = host.runtime["fold::conv_batch_norm", fallible](host.ref(host.field["ws"](%conv)), host.method["as_ref"](host.field["bs"](%conv)), host.ref(%bn), host.ref(%params)) : (tensor, tensor)  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-conv-bn
              %w = tuple_get[0](%w_b) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-conv-bn
              %b_1 = tuple_get[1](%w_b) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-conv-bn
              %b = convolution(x, %w, %b_1, %params) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-conv-bn
              yield %b
            }"#]],
    );
}

#[test]
fn folding_in_elementary_ops_over_weights() {
    check(
        FoldByHand,
        CONV_BN,
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %conv = get_attr[conv](self) : module<Conv2D>
              %bn = get_attr[bn](self) : module<BatchNorm>
              %ws = get_attr[ws](%bn) : option<tensor>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %running_var = get_attr[running_var](%bn) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %ones_like = ones_like(%running_var) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %value = host.handle_or(%ws, %ones_like) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %running_var_1 = get_attr[running_var](%bn) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %config = get_attr[config](%bn) : rust<_>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %eps = get_attr[eps](%config) : rust<f64>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %add = add.Scalar(%running_var_1, %eps) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %rsqrt = rsqrt(%add) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %s = mul(%value, %rsqrt) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %bs = get_attr[bs](%conv) : option<tensor>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %running_mean = get_attr[running_mean](%bn) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %zeros_like = zeros_like(%running_mean) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %value_1 = host.handle_or(%bs, %zeros_like) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %running_mean_1 = get_attr[running_mean](%bn) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %sub = sub(%value_1, %running_mean_1) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %mul = mul(%sub, %s) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %bs_1 = get_attr[bs](%bn) : option<tensor>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %zeros_like_1 = zeros_like(%s) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %value_2 = host.handle_or(%bs_1, %zeros_like_1) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %b_1 = add(%mul, %value_2) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %ws_1 = get_attr[ws](%conv) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %reshape = reshape(%s, [-1, 1, 1, 1]) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %mul_1 = mul(%ws_1, %reshape) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %config_1 = get_attr[config](%conv) : rust<_>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %stride = get_attr[stride](%config_1) : rust<[i64; 2]>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %config_2 = get_attr[config](%conv) : rust<_>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %padding = get_attr[padding](%config_2) : rust<[i64; 2]>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %config_3 = get_attr[config](%conv) : rust<_>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %dilation = get_attr[dilation](%config_3) : rust<[i64; 2]>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %config_4 = get_attr[config](%conv) : rust<_>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %groups = get_attr[groups](%config_4) : rust<i64>  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              %b = conv2d(x, %mul_1, %b_1, %stride, %padding, %dilation, %groups) : tensor  @ src/m.rs:1 + src/m.rs:2 as conv + bn by fold-by-hand
              yield %b
            }"#]],
    );
}

#[test]
fn a_shared_convolution_and_one_with_other_readers_keep_their_batch_norms() {
    check(
        FoldConvBn,
        r#"graph f(self: module<Net>, x: tensor) {
          %conv = get_attr[conv](self) : module<Conv2D>
          %again = get_attr[conv](self) : module<Conv2D>
          %other = get_attr[other](self) : module<Conv2D>
          %bn = get_attr[bn](self) : module<BatchNorm>
          %a = call_module[Conv2D](%conv, x) : tensor
          %b = call_module[BatchNorm](%bn, %a) : tensor
          %c = call_module[Conv2D](%again, x) : tensor
          %d = call_module[Conv2D](%other, %c) : tensor
          %e = call_module[BatchNorm](%bn, %d) : tensor
          %g = relu(%d) : tensor
          yield %b, %e, %g
        }"#,
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %conv = get_attr[conv](self) : module<Conv2D>
              %again = get_attr[conv](self) : module<Conv2D>
              %other = get_attr[other](self) : module<Conv2D>
              %bn = get_attr[bn](self) : module<BatchNorm>
              %a = call_module[Conv2D](%conv, x) : tensor
              %b = call_module[BatchNorm](%bn, %a) : tensor
              %c = call_module[Conv2D](%again, x) : tensor
              %d = call_module[Conv2D](%other, %c) : tensor
              %e = call_module[BatchNorm](%bn, %d) : tensor
              %g = relu(%d) : tensor
              yield %b, %e, %g
            }"#]],
    );
}

fx_pass! {
    /// Several ways of writing `SiLU`, and what may come between.
    pub Forms {
        /// by division
        quotient: |x| x / (1.0 + (-x).exp()) => x.silu(),
        /// twice the same activation, with any shape of reading between
        twice: |x| x.relu().contiguous()?.relu() => x.relu(),
        choice: |x| x.sigmoid().neg() | (-x).tanh() => x.cos(),
    }
}

#[test]
fn forms_alternatives_and_optional_parts() {
    check(
        Forms,
        r#"graph f(x: tensor) {
          %n = neg(x) : tensor
          %e = exp(%n) : tensor
          %p = add.Scalar(%e, 1) : tensor
          %q = div(x, %p) : tensor
          %a = relu(%q) : tensor
          %c = contiguous(%a) : tensor
          %b = relu(%c) : tensor
          %d = relu(%b) : tensor
          %s = sigmoid(%d) : tensor
          %m = neg(%s) : tensor
          yield %m
        }"#,
        &expect![[r#"
            graph f(x: tensor) {
              %q = silu(x) : tensor  @ by forms
              %d = relu(%q) : tensor  @ by forms
              %m = cos(%d) : tensor  @ by forms
              yield %m
            }"#]],
    );
}

fn composed(first: &[i64], second: &[i64]) -> Vec<i64> {
    second.iter().map(|&axis| first[usize::try_from(axis).unwrap_or_default()]).collect()
}

fx_pass! {
    /// Literals with types, guards over them and arguments that are computed from them.
    pub Literals {
        chain: |x, a: [i64], b: [i64]| x.permute(a).permute(b) => x.permute({ composed(&a, &b) })
            if a.iter().chain(&b).all(|&axis| axis >= 0) && a.len() == b.len(),
        product: |x, p: f64, q: f64| x * p * q => x * (p * q) if p * q < 100.0 && is_float(x),
        flag: |x, d, keep: bool| x.mean_dim(d, keepdim = keep) => x.sum_dim_intlist(d, keepdim = keep) if keep,
        defaults: |x| x.gelu("none") => x.tanh(),
        path: |x| x.softmax(-1, Kind::Float) => x.softmax(-1),
    }
}

#[test]
fn literals_are_captured_compared_and_computed_with() {
    check(
        Literals,
        r#"graph f(x: tensor, d: rust<Vec<i64>>) {
          %a = permute(x, [0, 2, 1]) : tensor
          %b = permute(%a, [1, 0, 2]) : tensor
          %m = mul.Scalar(%b, 2) : tensor
          %n = mul.Scalar(%m, 0.5) : tensor
          %s = sigmoid(%n) : tensor
          %k = mul.Scalar(%s, 3) : tensor
          %l = mul.Scalar(%k, 0.5) : tensor
          %o = mean.dim(%l, d, true, none) : tensor
          %p = mean.dim(%o, d, false) : tensor
          %g = gelu(%p) : tensor
          %h = gelu(%g, "tanh") : tensor
          %r = softmax(%h, -1, `::tch::Kind::Float`) : tensor
          yield %r
        }"#,
        &expect![[r#"
            graph f(x: tensor, d: rust<Vec<i64>>) {
              %b = permute(x, [2, 0, 1]) : tensor  @ by literals
              %m = mul.Scalar(%b, 2) : tensor
              %n = mul.Scalar(%m, 0.5) : tensor
              %s = sigmoid(%n) : tensor
              %l = mul.Scalar(%s, 1.5) : tensor  @ by literals
              %o = sum.dim_IntList(%l, d, true, none) : tensor  @ by literals
              %p = mean.dim(%o, d, false) : tensor
              %g = tanh(%p) : tensor  @ by literals
              %h = gelu(%g, "tanh") : tensor
              %r = softmax(%h, -1, none) : tensor  @ by literals
              yield %r
            }"#]],
    );
}

fx_pass! {
    /// Two outputs at once.
    pub SharedScale { |x, y| (x.sigmoid() * y, x.sigmoid() + y) => { let s = x.tanh(); (s * y, s + y) } }

    /// A part with a name that a guard can ask about, and a field as an argument.
    pub Named {
        |x, fc: Linear| { let h = x.matmul(fc.ws.tr()); h + _ } => x.linear(fc.ws, None) if users(h) == 1 && is_freeze_time(fc),
        |x, w, b| x.linear(w, b?) => x.matmul(w) if b.is_none(),
    }
}

#[test]
fn several_outputs() {
    check(
        SharedScale,
        r#"graph f(x: tensor, y: tensor) {
          %s = sigmoid(x) : tensor
          %a = mul(%s, y) : tensor
          %b = add(y, %s) : tensor
          %c = relu(%a) : tensor
          yield %c, %b
        }"#,
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %s_1 = tanh(x) : tensor  @ by shared-scale
              %mul = mul(%s_1, y) : tensor  @ by shared-scale
              %add = add(%s_1, y) : tensor  @ by shared-scale
              %c = relu(%mul) : tensor
              yield %c, %add
            }"#]],
    );
}

#[test]
fn an_output_that_is_read_too_early_stays() {
    check(
        SharedScale,
        r#"graph f(x: tensor, y: tensor) {
          %s = sigmoid(x) : tensor
          %a = mul(%s, y) : tensor
          %c = relu(%a) : tensor
          %b = add(y, %s) : tensor
          yield %c, %b
        }"#,
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %s = sigmoid(x) : tensor
              %a = mul(%s, y) : tensor
              %c = relu(%a) : tensor
              %b = add(y, %s) : tensor
              yield %c, %b
            }"#]],
    );
}

#[test]
fn named_parts_fields_and_absent_arguments() {
    check(
        Named,
        r#"graph f(self: module<Net>, x: tensor) {
          %fc = get_attr[fc](self) : module<Linear>
          %w = get_attr[ws](%fc) : tensor
          %t = tr(%w) : tensor
          %h = matmul(x, %t) : tensor
          %y = add(%h, x) : tensor
          %b = get_attr[b](self) : option<tensor>
          %z = linear(%y, %w, %b) : tensor
          yield %z
        }"#,
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %fc = get_attr[fc](self) : module<Linear>
              %w = get_attr[ws](%fc) : tensor
              %ws = get_attr[ws](%fc) : tensor  @ by named
              %y = matmul(x, %ws) : tensor  @ by named
              %b = get_attr[b](self) : option<tensor>
              %z = linear(%y, %w, %b) : tensor
              yield %z
            }"#]],
    );
}

/// Why the rules of a pass do not apply, node by node.
fn why_not(pass: impl Pass, text: &str, expected: &Expect) {
    let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let reasons = pass.rules().map(|rules| rules.explain(&graph, &PassContext::new(true))).unwrap_or_default();
    let lines: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn a_rule_says_why_it_does_not_apply() {
    why_not(
        FoldConvBn,
        r#"graph f(self: module<Net>, x: tensor) {
          %conv = get_attr[conv](self) : module<Conv2D>
          %fc = get_attr[fc](self) : module<Linear>
          %bn = get_attr[bn](self) : module<BatchNorm>
          %a = call_module[Conv2D](%conv, x) : tensor
          %b = call_module[BatchNorm](%bn, %a) : tensor
          %c = call_module[Linear](%fc, %a) : tensor
          %d = call_module[BatchNorm](%bn, %c) : tensor
          %e = call_module[Conv2D](%conv, %d) : tensor
          %g = call_module[BatchNorm](%bn, %e) : tensor
          yield %b, %g
        }"#,
        &expect![[r#"
            `fold-conv-bn` does not apply at `b`: `a` is also read by `c`
            `fold-conv-bn` does not apply at `d`: `c` is a call of a `Linear`, not a call of a `Conv2D`
            `fold-conv-bn` does not apply at `g`: the guard `conv.calls() == 1` does not hold"#]],
    );
    why_not(
        SigmoidToSilu,
        r#"graph f(x: tensor, y: tensor) {
          %s = sigmoid(x) : tensor
          %a = mul(%s, y) : tensor
          %t = sigmoid(y) : tensor
          %w = relu_(y) : tensor
          %b = mul(y, %t) : tensor
          %u = sigmoid(%b) : tensor
          %c = mul(%b, %u) : tensor
          yield %a, %c, %u
        }"#,
        &expect![[r#"
            `sigmoid-to-silu` does not apply at `a`: `x` is `y` in one place and `x` in another
            `sigmoid-to-silu` does not apply at `b`: something may be written to between `t` and the output
            `sigmoid-to-silu` does not apply at `c`: `u` is also read by `output`"#]],
    );
}

fx_pass! {
    /// Two rules that undo each other, which no check of one rule can see.
    pub ToAndFro { there: |x| x.sin() => x.cos(), back: |x| x.cos() => x.sin() }
}

#[test]
fn rules_that_go_on_for_ever_are_stopped_and_told() {
    let parsed: Result<Graph, _> = "graph f(x: tensor) { %a = sin(x) : tensor ; yield %a }".parse();
    let mut graph = parsed.unwrap_or_else(|error| panic!("{error}"));
    let outcome = ToAndFro.rules().map(|rules| rules.run("to-and-fro", &mut graph, &PassContext::new(false)));
    assert!(outcome.is_some_and(|outcome| outcome.exhausted));
    assert_eq!(graph.lint(), Ok(()));
}

fx_pass! {
    /// Rust that is made of operations.
    pub ReluToCall {
        |x| x.relu() => rust!(crate::scaled(&x, (x.size()[x.dim() - 1] as f64) * 0.5, (vec![1, 2], [!true]), None, Kind::Float)?)
    }

    /// Rust of another kind.
    pub ReluToClosure {
        |x| x.relu() => rust!(crate::with(&x, |one| one.relu()))
    }
}

#[test]
fn rust_in_a_replacement_is_read_as_operations() {
    let relu = "graph f(x: tensor) { %a = relu(x) : tensor ; %b = neg(%a) : tensor ; yield %b }";
    check(
        ReluToCall,
        relu,
        &expect![[r#"
        graph f(x: tensor) {
          %a = host.call["crate::scaled", fallible](host.ref(x), host.binary["*"](host.cast["f64"](host.item(host.method["size"](x), host.binary["-"](host.method["dim"](x), 1))), 0.5), host.tuple(host.vec(1, 2), host.array(host.not(true))), none, `Kind::Float`) : tensor  @ by relu-to-call
          %b = neg(%a) : tensor
          yield %b
        }"#]],
    );
    check(
        ReluToClosure,
        relu,
        &expect![[r#"
        graph f(x: tensor) {
          %a = rust["crate::with(&$0, | one | one.relu())"](x) : tensor  @ by relu-to-closure
          %b = neg(%a) : tensor
          yield %b
        }"#]],
    );
}
