//! Graphs to JSON and back, and what is said of JSON that is no graph.

use expect_test::{Expect, expect};
use fx_ir::Graph;
use serde_json::{Value, json};

use super::{from_json, to_json};

/// Every kind of argument, type, origin, note and region.
const RICH: &str = r#"graph "a net"(x: f32[2, B] $(scale=0.5), flag: rust<bool>, n) {
    %w = get_attr[layer.weight]() : f32[3]
    %conv = call_module[Conv2D]("layer.0", x) : tensor  @ src/a.rs:12 + src/b.rs:3 as conv in Net + Block[layer.0] by fuse + pack $(bits=8, names=["a", [true, nan]])
    %size = host.method["size1"](%conv) : rust<i64>
    %sum = sum_dim_intlist(%conv, [1, -1], false, `Kind::Float`, keep=none) : tensor
    %code = rust["$0 + $1", fallible, opaque("why")](%sum, host.binary["*"](2, %size)) : tensor
    %y = if(flag) : tensor {
      %inner = leaky_relu(%code) : tensor
      yield %inner
    } else {
      yield x
    }
    %z = match(n) : tensor {
      "Some(%0)" (held: tensor) {
        yield held
      }
      "None" {
        yield %y
      }
    }
    %r = for["(%0, %1)"](n, %z) : tensor (i: rust<usize>, layer, acc: tensor) {
      %next = print(acc, 1e-5, inf, 0.1, -3, "text")
      yield acc
    }
    %p = tuple_get[0](%r) : tensor
    yield %p, %w
}"#;

fn rich() -> Graph {
    RICH.parse().expect("a graph")
}

/// The JSON with something put in another's place.
fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut json: Value = serde_json::from_str(&to_json(&rich())).expect("JSON");
    change(&mut json);
    json.to_string()
}

fn refuse(json: &str, want: &Expect) {
    want.assert_eq(&from_json(json).expect_err("no graph").to_string());
}

#[test]
fn all_that_a_graph_holds_reads_back() {
    let graph = rich();
    let again = from_json(&to_json(&graph)).expect("a graph");
    assert_eq!(again.to_string(), graph.to_string());
    assert_eq!(to_json(&again), to_json(&graph));
}

#[test]
fn floats_read_back_to_the_last_bit() {
    let mut graph: Graph = "graph f(x) { %y = print(x) ; yield x }".parse().expect("a graph");
    let y = graph.find_nodes("call_function", None)[0];
    let numbers = (1..2000).map(|n| 1.0 / f64::from(n) * 10f64.powi(n % 600 - 300));
    graph.node_mut(y).args.extend(numbers.map(fx_ir::Arg::Float));
    let again = from_json(&to_json(&graph)).expect("a graph");
    let numbers = |graph: &Graph| format!("{:?}", &graph.node(graph.find_nodes("call_function", None)[0]).args[1..]);
    assert_eq!(numbers(&again), numbers(&graph));
}

#[test]
fn a_node_is_an_object_that_says_what_torch_fx_says() {
    let json: Value = serde_json::from_str(&to_json(&rich())).expect("JSON");
    assert_eq!((&json["format"], &json["version"]), (&json!("fx-graph"), &json!(1)));
    let conv = &json["body"]["nodes"][1];
    expect![[r#"
        {
          "args": [
            "layer.0",
            {
              "node": "x"
            }
          ],
          "meta": {
            "bits": 8,
            "names": [
              "a",
              [
                true,
                {
                  "float": "nan"
                }
              ]
            ]
          },
          "name": "conv",
          "op": "call_module[Conv2D]",
          "opcode": "call_module",
          "origin": {
            "labels": [
              "conv"
            ],
            "modules": [
              [
                "",
                "Net"
              ],
              [
                "layer.0",
                "Block"
              ]
            ],
            "passes": [
              "fuse",
              "pack"
            ],
            "places": [
              [
                "src/a.rs",
                12
              ],
              [
                "src/b.rs",
                3
              ]
            ]
          },
          "target": "layer.0",
          "type": "tensor"
        }"#]]
    .assert_eq(&format!("{conv:#}"));
}

#[test]
fn another_version_is_refused_by_name() {
    refuse(
        &with(|json| json["version"] = json!(2)),
        &expect!["graph `a net` is of version 2 of the format, and this fx reads version 1; write it anew"],
    );
    refuse(
        &with(|json| json["version"] = Value::Null),
        &expect!["graph `a net` is of version null of the format, and this fx reads version 1; write it anew"],
    );
    refuse(
        &with(|json| json["format"] = json!("onnx")),
        &expect![[r#"graph `a net` is no graph of fx: its `format` is "onnx", not "fx-graph""#]],
    );
    refuse("graph f(x) { yield x }", &expect!["graph `?` is not JSON: expected value at line 1 column 1"]);
}

#[test]
fn what_is_wrong_is_said_with_its_node() {
    refuse(
        &with(|json| json["body"]["nodes"][1]["op"] = json!("rellu")),
        &expect!["graph `a net` cannot be read: node `conv`: 1:1: unknown op `rellu`; the nearest is `relu`"],
    );
    refuse(
        &with(|json| json["body"]["nodes"][1]["name"] = json!("w")),
        &expect!["graph `a net` cannot be read: node `w`: another node bears its name"],
    );
    refuse(
        &with(|json| json["body"]["nodes"][1]["type"] = json!("f32[")),
        &expect!["graph `a net` cannot be read: node `conv`: 1:5: expected `]` further on"],
    );
    refuse(
        &with(|json| json["body"]["nodes"][1]["args"][1]["node"] = json!("z")),
        &expect!["graph `a net` cannot be read: node `conv`: `z` is not computed before it"],
    );
    refuse(
        &with(|json| json["body"]["nodes"][4]["args"][1]["host"] = json!("guess")),
        &expect!["graph `a net` cannot be read: node `code`: there is no host operation `guess`"],
    );
    refuse(
        &with(|json| json["body"]["nodes"] = json!(3)),
        &expect!["graph `a net` cannot be read: 3 stands where a list is expected"],
    );
    refuse(
        &with(|json| drop(json["body"]["nodes"].as_array_mut().and_then(Vec::pop))),
        &expect!["graph `a net` is unsound: `a net` has a region that does not end in a yield [yield]"],
    );
}
