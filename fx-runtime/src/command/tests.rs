//! Questions as `cargo fx` asks them, on a convolution with a batch norm.

use super::answer::Answer;
use super::{Failure, answered};
use crate::graph_module::{GraphModule, Value};
use crate::instance::Tracer;
use crate::nn;

fn net(p: &nn::Path<'_>) -> Result<GraphModule, Failure> {
    let conv = nn::conv2d(p / "conv", 3, 4, 3, nn::ConvConfig::default());
    let bn = nn::batch_norm2d(p / "bn", 4, nn::BatchNormConfig::default());
    let mut t = Tracer::new("Net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("conv", &conv, &[&xs], 1);
    let ys = t.module("bn", &bn, &[&ys], 2);
    let ys = t.call("relu", &[&ys], 3);
    Ok(t.finish(&[&ys])?)
}

fn asked(question: &str) -> Result<Answer, String> {
    answered(question, net).map_err(|failure| failure.to_string())
}

#[track_caller]
fn text(question: &str) -> String {
    asked(question).unwrap().text
}

#[track_caller]
fn json(question: &str) -> serde_json::Value {
    serde_json::from_str(&text(question)).unwrap()
}

#[test]
fn graphs_and_drawings() {
    assert!(text(r#"{"ask": {"graph": {"table": false}}}"#).contains("call_module[target=bn]"));
    let frozen = text(r#"{"ask": {"graph": {"table": false}}, "frozen": true}"#);
    assert!(!frozen.contains("target=bn]") && frozen.contains("target=conv]"), "{frozen}");
    let table = text(r#"{"ask": {"graph": {"table": true}}, "inputs": ["1x3x8x8"]}"#);
    assert!(table.contains("[1, 4, 6, 6]"), "shapes are known: {table}");
    assert_eq!(json(r#"{"ask": {"graph": {"table": false}}, "json": true}"#)["format"], "fx-graph");
    for (form, start) in [("dot", "digraph"), ("svg", "<svg"), ("mermaid", "flowchart")] {
        let drawing = text(&format!(r#"{{"ask": {{"draw": {{"form": "{form}"}}}}}}"#));
        assert!(drawing.starts_with(start), "{drawing}");
    }
}

#[test]
fn profiles_and_traces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json.gz");
    let ask = serde_json::json!({
        "ask": {"profile": {"warm_up": 1, "runs": 2, "trace": path}}, "inputs": ["1x3x8x8"], "json": true, "frozen": true,
    });
    let profile = json(&ask.to_string());
    assert_eq!(profile["runs_ms"].as_array().unwrap().len(), 2);
    assert_eq!(profile["nodes"].as_array().unwrap().len(), 1, "one kernel: {profile}");
    let trace = fx_trace::Trace::read(&path).unwrap();
    assert_eq!(trace.iterations().len(), 2);
    let kernel = trace.nodes.values().next().unwrap();
    assert_eq!(kernel.labels, ["conv", "bn", "relu"]);
    assert_eq!(
        (kernel.input_dims.as_slice(), kernel.input_types.as_slice()),
        (&[vec![1, 3, 8, 8]][..], &["float".to_owned()][..])
    );
}

#[test]
fn benches_and_bisections() {
    let bench = json(r#"{"ask": {"bench": {"rounds": 2, "calls": 3}}, "inputs": ["1x3x8x8"], "json": true}"#);
    assert_eq!(bench["live"]["all"].as_array().unwrap().len(), 6);
    assert!(bench["speedup"].as_f64().unwrap() > 0.0);
    let agrees = asked(r#"{"ask": {"bisect": {"relative": null, "absolute": null}}, "inputs": ["1x3x8x8"]}"#).unwrap();
    assert_eq!((agrees.code, agrees.text.as_str()), (0, "all nodes agree within the tolerance\n"));
    // No sum in another order is that exact, so that what is told is a difference.
    let differs = r#"{"ask": {"bisect": {"relative": 0.0, "absolute": 0.0}}, "inputs": ["1x3x8x8"]}"#;
    let differs = asked(differs).unwrap();
    assert!(differs.code == 1 && differs.text.contains("to differ"), "{}", differs.text);
}

#[test]
fn inputs() {
    let shape = |text: &str| match super::input::parse(text).unwrap() {
        Value::Tensor(tensor) => (tensor.size(), tensor.kind()),
        other => panic!("{other}"),
    };
    assert_eq!(shape("2x3"), (vec![2, 3], tch::Kind::Float));
    assert_eq!(shape("4:i64<9"), (vec![4], tch::Kind::Int64));
    assert_eq!(shape("scalar:bf16"), (vec![], tch::Kind::BFloat16));
    for wrong in ["", "2xx", "2:f33", "-1x2", "2:i64<0", "2:f32<4"] {
        let error = super::input::parse(wrong).unwrap_err().to_string();
        assert!(error.contains(&format!("`{wrong}`")) && error.contains("1x3x224x224"), "{error}");
    }
}

#[test]
fn mistakes_are_told() {
    let error = |question: &str| asked(question).err().unwrap();
    assert!(error(r#"{"ask": {"bench": {"rounds": 1, "calls": 1}}}"#).contains("one `--input`"));
    assert!(error(r#"{"ask": "dance"}"#).contains("same version"));
    let refused = error(r#"{"ask": {"graph": {"table": true}}, "inputs": ["1x4x8x8"]}"#);
    assert!(refused.contains("`conv` (src/net.rs:1)"), "{refused}");
}

#[test]
fn quantization() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("net.qparams.json");
    let data = folder.path().join("batch.safetensors");
    let xs = tch::Tensor::randn([2, 3, 8, 8], (tch::Kind::Float, tch::Device::Cpu));
    tch::Tensor::write_safetensors(&[("xs", &xs)], &data).unwrap();
    let of = |ask: serde_json::Value, json: bool| {
        serde_json::json!({ "ask": ask, "inputs": ["1x3x8x8"], "json": json }).to_string()
    };
    let quantize = serde_json::json!({ "quantize": { "data": [data], "batches": 1, "output": output } });
    let written = json(&of(quantize, true));
    assert_eq!((written["sites"].as_u64(), written["weights"].as_u64()), (Some(2), Some(1)), "{written}");
    let accuracy = |qparams: Option<&std::path::Path>| serde_json::json!({ "accuracy": { "data": [], "batches": 2, "qparams": qparams, "keep": 1 } });
    let report = text(&of(accuracy(Some(&output)), false));
    for part in ["random values", "shadowed", "to leave in floats first: conv", "% of the FLOPs on codes"] {
        assert!(report.contains(part), "no `{part}` in\n{report}");
    }
    std::fs::write(&output, std::fs::read_to_string(&output).unwrap().replace("Net", "Other")).unwrap();
    let refused = asked(&of(accuracy(Some(&output)), false)).err().unwrap();
    assert!(refused.contains("`Other`") && refused.contains("calibrate again"), "{refused}");
    let wrong = folder.path().join("wrong.safetensors");
    tch::Tensor::write_safetensors(&[("ys", &xs)], &wrong).unwrap();
    let ask = serde_json::json!({ "quantize": { "data": [wrong], "batches": 1, "output": output } });
    let refused = asked(&of(ask, false)).err().unwrap();
    assert!(refused.contains("it has no tensor `xs`"), "{refused}");
}
