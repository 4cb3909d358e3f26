//! What is said of a small model; `cargo-fx` tests its page on the same answer.

use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::Value as Json;

use super::super::{Failure, answered};
use crate::graph_module::GraphModule;
use crate::instance::{Arg, Tracer};
use crate::nn;

/// Two blocks of a convolution, a batch norm, a dropout and an activation, and a linear layer.
fn net(p: &nn::Path<'_>) -> Result<GraphModule, Failure> {
    let mut t = Tracer::new("Net");
    t.file("src/net.rs");
    t.file("src/net.rs");
    let mut xs = t.input("xs", true);
    for (at, channels) in [(0, 3), (1, 4)] {
        let path = format!("blocks.{at}");
        let conv =
            nn::conv2d(p / "blocks" / at / "conv", channels, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() });
        let bn = nn::batch_norm2d(p / "blocks" / at / "bn", 4, nn::BatchNormConfig::default());
        t.enter(0, "", "Net");
        t.enter(1, &path, "Block");
        let ys = t.module(&format!("{path}.conv"), &conv, &[&xs], 12);
        let ys = t.module(&format!("{path}.bn"), &bn, &[&ys], 12);
        let ys = t.call("dropout", &[&ys, &Arg::Float(0.1), &Arg::Bool(false)], 13);
        xs = t.call("relu", &[&ys], 14);
    }
    t.leave(1);
    let fc = nn::linear(p / "fc", 4, 2, nn::LinearConfig::default());
    let ys = t.call("mean.dim", &[&xs, &Arg::ints(&[2, 3]), &Arg::Bool(false), &Arg::None], 21);
    let ys = t.module("fc", &fc, &[&ys], 22);
    Ok(t.finish(&[&ys])?)
}

/// A part of the net that ends in code that is not understood, which cannot be run here.
fn unclear(p: &nn::Path<'_>) -> Result<GraphModule, Failure> {
    let fc = nn::linear(p / "fc", 4, 2, nn::LinearConfig::default());
    let mut t = Tracer::new("Unclear");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("fc", &fc, &[&xs], 3);
    let ys = t.code("shuffle(&$0)", &[&ys], ("shuffle", "tensor"), 4);
    Ok(t.finish(&[&ys])?)
}

fn asked(question: &str, construct: fn(&nn::Path<'_>) -> Result<GraphModule, Failure>) -> Json {
    let answer = answered(question, construct).map_err(|failure| failure.to_string()).unwrap();
    assert_eq!(answer.code, 0);
    serde_json::from_str(&answer.text).unwrap()
}

/// The names of the nodes of the graph before that a node of the graph after came from.
fn sources<'v>(view: &'v Json, name: &str) -> Vec<&'v str> {
    let nodes = view["after"]["nodes"].as_array().unwrap();
    let node = nodes.iter().find(|node| node["name"] == name).unwrap_or_else(|| panic!("no node `{name}`"));
    let numbers = node["from"].as_array().unwrap().iter().map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
    numbers.map(|at| view["before"]["nodes"][at]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_view_without_times_is_the_same_each_time() {
    let view = asked(r#"{"ask": {"view": {"warm_up": 0, "runs": 0}}, "inputs": ["1x3x8x8"]}"#, net);
    assert_eq!(sources(&view, "relu"), ["blocks_0_conv", "blocks_0_bn", "relu"]);
    assert_eq!(sources(&view, "relu_1"), ["blocks_1_conv", "blocks_1_bn", "relu_1"]);
    assert_eq!(sources(&view, "fc"), ["fc"]);
    let flops = |side: &str| -> u64 {
        view[side]["nodes"].as_array().unwrap().iter().filter_map(|node| node["flops"].as_u64()).sum()
    };
    // Two convolutions of 3x3 over 8x8 places, and 4x2 weights.
    assert_eq!((flops("before"), flops("after")), (2 * 64 * 9 * 4 * (3 + 4) + 2 * 8, 2 * 64 * 9 * 4 * (3 + 4) + 2 * 8));
    expect_file!["../../../../cargo-fx/tests/view/net.json"].assert_eq(&format!("{view:#}\n"));
}

#[test]
fn passes_say_what_went_and_came() {
    let view = asked(r#"{"ask": {"view": {"warm_up": 0, "runs": 0}}}"#, net);
    let mut text = String::new();
    for step in view["passes"].as_array().unwrap() {
        let [went, came, changed] = ["went", "came", "changed"].map(|list| {
            let items = step[list].as_array().unwrap().iter().take(3);
            items.map(|item| format!("{} {}", item[0].as_str().unwrap(), item[1].as_str().unwrap())).collect::<Vec<_>>()
        });
        if !(went.is_empty() && came.is_empty() && changed.is_empty()) {
            writeln!(text, "{}: -{went:?} +{came:?} ~{changed:?}", step["pass"].as_str().unwrap()).unwrap();
        }
    }
    expect_test::expect![[r#"
        remove-identity: -["dropout dropout", "dropout_1 dropout"] +[] ~[]
        lower-modules: -[] +["0_conv_weight ws", "0_conv_bias bs", "0_conv_params ConvParams::from"] ~["blocks_0_conv convolution", "blocks_1_conv convolution", "fc linear"]
        fold-batch-norm: -["blocks_0_conv convolution", "blocks_1_conv convolution"] +["0_conv_folded fold::conv_batch_norm", "0_conv_weight_1 getitem", "0_conv_bias_1 getitem"] ~["blocks_0_bn convolution", "blocks_1_bn convolution"]
        fuse-epilogue: -["blocks_0_bn convolution", "blocks_1_bn convolution"] +[] ~["relu convolution", "relu_1 convolution"]
        pack-kernels: -["0_conv_weight ws", "0_conv_bias bs", "0_conv_params ConvParams::from"] +["0_conv Conv::pack_layer_batch_norm", "1_conv Conv::pack_layer_batch_norm", "fc_2 Linear::pack_layer"] ~["relu run", "relu_1 run", "fc run"]
    "#]].assert_eq(&text);
}

#[test]
fn times_are_of_both_sides() {
    let view = asked(r#"{"ask": {"view": {"warm_up": 1, "runs": 2}}, "inputs": ["1x3x8x8"]}"#, net);
    for side in ["before", "after"] {
        let nodes = view[side]["nodes"].as_array().unwrap();
        let sum: f64 = nodes.iter().filter_map(|node| node["ms"].as_f64()).sum();
        let whole = view[side]["ms"].as_f64().unwrap();
        assert!(sum > 0.0 && sum <= whole, "{side}: {sum} of {whole}");
    }
    assert_eq!(view["runs"], 2);
}

#[test]
fn code_that_is_not_understood_is_marked() {
    let view = asked(r#"{"ask": {"view": {"warm_up": 0, "runs": 0}}}"#, unclear);
    for side in ["before", "after"] {
        let nodes = view[side]["nodes"].as_array().unwrap();
        let opaque: Vec<&str> =
            nodes.iter().filter(|node| node.get("opaque").is_some()).filter_map(|node| node["name"].as_str()).collect();
        assert_eq!(opaque, ["shuffle"], "{side}");
    }
    assert_eq!(sources(&view, "shuffle"), ["shuffle"]);
}

/// A page of less than two megabytes needs an answer of less than that.
#[test]
fn two_thousand_nodes_are_small() {
    let deep = |p: &nn::Path<'_>| -> Result<GraphModule, Failure> {
        let mut t = Tracer::new("Deep");
        t.file("src/net.rs");
        t.file("src/deep.rs");
        let mut xs = t.input("xs", true);
        for at in 0..1000 {
            let path = format!("blocks.{}.layers.{}", at / 50, at % 50);
            let fc = nn::linear(p / at, 2, 2, nn::LinearConfig::default());
            t.enter(0, "", "Deep");
            t.enter(1, &format!("blocks.{}", at / 50), "Block");
            xs = t.module(&path, &fc, &[&xs], 7);
            xs = t.call("relu", &[&xs], 8);
        }
        Ok(t.finish(&[&xs])?)
    };
    let question = r#"{"ask": {"view": {"warm_up": 0, "runs": 1}}, "inputs": ["1x2"]}"#;
    let text = answered(question, deep).map_err(|failure| failure.to_string()).unwrap().text;
    let view: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(view["before"]["nodes"].as_array().unwrap().len(), 2002);
    assert!(text.len() < 1_800_000, "{} bytes", text.len());
}
