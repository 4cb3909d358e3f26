//! Graphs that run: operators, layers, tensors, hooks, freed values, errors.

use std::cell::RefCell;

use fx_ir::{Arg, NodeId, OpId};
use tch::{Device, Kind};

use super::*;
use crate::graph::{from_json, to_json};
use crate::instance::Tracer;
use crate::nn;

fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

fn tensor(value: &Value) -> &Tensor {
    convert::tensor(value).unwrap()
}

/// `relu(fc(xs)) + gain`
fn net(vs: &nn::VarStore) -> (nn::Linear, Tensor, GraphModule) {
    let fc = nn::linear(vs.root() / "fc", 4, 3, nn::LinearConfig::default());
    let gain = vs.root().var("gain", &[3], nn::Init::Const(0.5));
    let mut t = Tracer::new("Net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("fc", &fc, &[&xs], 4);
    let ys = t.call("relu", &[&ys], 5);
    let gained = t.tensor("gain", &gain);
    let ys = t.call("add", &[&ys, &gained], 6);
    let module = t.finish(&[&ys]).unwrap();
    (fc, gain, module)
}

#[test]
fn every_operator_of_the_op_table_and_of_the_catalog_can_be_bound() {
    let unbound: Vec<String> = fx_ir::catalog::entries()
        .iter()
        .filter_map(|entry| OpId::of_method(entry.method))
        .filter_map(|op| dispatch::Dispatch::of(op).err().map(|error| error.to_string()))
        .collect();
    assert!(unbound.is_empty(), "{}", unbound.join("\n"));
}

#[test]
fn computes_what_the_model_computes_and_shares_its_parameters() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (fc, gain, module) = net(&vs);
    module.lint().unwrap();
    let xs = randn(&[2, 4]);
    let run = || tensor(&module.run(&[value(&xs)]).unwrap()).shallow_clone();
    assert_eq!(run(), fc.forward(&xs).relu() + &gain);
    let names: Vec<String> = module.named_parameters().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["gain", "fc.weight", "fc.bias"]);

    run().sum(Kind::Float).backward();
    assert_eq!(gain.grad().size(), [3]);
    tch::no_grad(|| {
        let _ = fc.ws.shallow_clone().fill_(0.0);
    });
    assert_eq!(run(), fc.forward(&xs).relu() + &gain);
}

#[test]
fn an_edited_graph_runs_as_it_is() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (fc, gain, mut module) = net(&vs);
    let xs = randn(&[2, 4]);
    module.run(&[value(&xs)]).unwrap();
    let relu = module.graph().find_nodes("call_method", Some("relu"))[0];
    module.graph_mut().node_mut(relu).op = Op::Call(OpId::lookup("sigmoid").unwrap());
    let ys = module.run(&[value(&xs)]).unwrap();
    assert_eq!(*tensor(&ys), fc.forward(&xs).sigmoid() + &gain);

    module.add_submodule("fc", nn::linear(vs.root() / "other", 4, 3, nn::LinearConfig::default()));
    assert_ne!(*tensor(&module.run(&[value(&xs)]).unwrap()), *tensor(&ys));
    assert!(module.delete_submodule("fc"));
    let error = module.lint().unwrap_err().to_string();
    assert_eq!(error, "graph `Net` `fc` calls the module `fc`, which is not there");
}

#[test]
fn errors_name_the_node_and_the_line() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (_, _, module) = net(&vs);
    let error = module.run(&[value(randn(&[2, 5]))]).unwrap_err().to_string();
    assert!(error.starts_with("at `fc` (src/net.rs:4): libtorch: "), "{error}");
    let error = module.run(&[]).unwrap_err().to_string();
    assert_eq!(error, "graph `Net` takes 1 inputs (xs), got 0");
    let error = module.run(&[value(true)]).unwrap_err().to_string();
    assert!(error.contains("`Linear` takes a tensor"), "{error}");
}

/// Writes down what runs, and doubles what `relu` yields.
struct Log<'l>(&'l RefCell<Vec<String>>);

impl Hook for Log<'_> {
    fn before(&mut self, graph: &Graph, id: NodeId) -> Result<()> {
        self.0.borrow_mut().push(graph.node(id).name.clone());
        Ok(())
    }

    fn after(&mut self, graph: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        if graph.node(id).name == "relu" {
            *value = super::value(tensor(value) * 2.0);
        }
        Ok(())
    }
}

#[test]
fn hooks_see_each_node_and_may_replace_its_value() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (fc, gain, module) = net(&vs);
    let (xs, log) = (randn(&[2, 4]), RefCell::new(Vec::new()));
    let ys = Interpreter::new(&module).with_hook(Log(&log)).run(&[value(&xs)]).unwrap();
    assert_eq!(*tensor(&ys), fc.forward(&xs).relu() * 2.0 + &gain);
    assert_eq!(log.into_inner(), ["fc", "relu", "gain", "add"]);
}

#[test]
fn values_are_freed_at_their_last_use_unless_they_are_kept() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (_, _, module) = net(&vs);
    let relu = module.graph().find_nodes("call_method", Some("relu"))[0];
    let mut freed = Interpreter::new(&module);
    freed.run(&[value(randn(&[2, 4]))]).unwrap();
    assert!(freed.value_of(relu).is_none());
    let mut kept = Interpreter::new(&module).keep_values();
    kept.run(&[value(randn(&[2, 4]))]).unwrap();
    assert!(kept.value_of(relu).is_some());
    // A part of the graph, from a value in its middle.
    let ones = Tensor::ones([2, 3], (Kind::Float, Device::Cpu));
    let mut part = Interpreter::new(&module).given(relu, value(&ones));
    assert_eq!(*tensor(&part.run(&[value(randn(&[2, 4]))]).unwrap()), ones + 0.5);
}

#[test]
fn shapes_are_those_of_a_run() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (_, _, mut module) = net(&vs);
    module.propagate_shapes(&[value(randn(&[2, 4]))]).unwrap();
    let types: Vec<String> = module.graph().nodes().iter().map(|&id| module.graph().node(id).ty.to_string()).collect();
    assert_eq!(types[..5], ["f32[2, 4]", "f32[2, 3]", "f32[2, 3]", "f32[3]", "f32[2, 3]"]);
}

/// A convolution, a transposed one, a linear layer and attention, by the counts of `torch.utils.flop_counter`.
#[test]
fn operations_are_counted_as_pytorch_counts_them() {
    let vs = nn::VarStore::new(Device::Cpu);
    let config = nn::ConvConfig { stride: 2, padding: 1, groups: 2, ..Default::default() };
    let conv = nn::conv2d(vs.root() / "conv", 4, 6, 3, config);
    let up =
        nn::conv_transpose2d(vs.root() / "up", 6, 4, 2, nn::ConvTransposeConfig { stride: 2, ..Default::default() });
    let fc = nn::linear(vs.root() / "fc", 8, 5, nn::LinearConfig::default());
    let mut t = Tracer::new("Net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("conv", &conv, &[&xs], 0);
    let ys = t.module("up", &up, &[&ys], 0);
    let ys = t.module("fc", &fc, &[&ys], 0);
    let zs = t.call("transpose", &[&ys, &Arg::Int(2), &Arg::Int(3)], 0);
    let ys = t.call("matmul", &[&ys, &zs], 0);
    let mut module = t.finish(&[&ys]).unwrap();
    module.propagate_shapes(&[value(randn(&[3, 4, 8, 8]))]).unwrap();
    let costs = module.costs();
    let flops: Vec<u64> = costs.nodes.iter().map(|node| node.flops).collect();
    // 2 N H W k k (C / groups) C', 2 N H W k k C C' of the input's H and W, 2 m n k twice.
    let expected = [2 * 3 * 16 * 9 * 2 * 6, 2 * 3 * 16 * 4 * 6 * 4, 2 * 3 * 4 * 8 * 8 * 5, 0, 2 * 3 * 4 * 8 * 8 * 5];
    assert_eq!(flops, expected);
    assert_eq!((costs.flops(), costs.macs()), (expected.iter().sum(), expected.iter().sum::<u64>() / 2));
    // Of the linear layer: its input, its weight and bias, its output, of four bytes each.
    assert_eq!(costs.nodes[2].bytes, 4 * (3 * 4 * 8 * 8 + 5 * 8 + 5 + 3 * 4 * 8 * 5));
    assert!(costs.to_string().contains("conv"), "{costs}");
}

#[test]
fn a_profile_accounts_for_the_time_of_a_run() {
    let mut t = Tracer::new("Net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.call("matmul", &[&xs, &xs], 1);
    let ys = t.call("relu", &[&ys], 2);
    let module = t.finish(&[&ys]).unwrap();
    let profile = module.profile(&[value(randn(&[800, 800]))], 2, 5).unwrap();
    assert_eq!(profile.nodes.iter().map(|node| (node.name.as_str(), node.calls)).next(), Some(("matmul", 5)));
    let names: Vec<&str> = profile.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["src/net.rs:1", "src/net.rs:2"]);
    let of_nodes: f64 = profile.nodes.iter().map(Timing::mean).sum();
    let of_runs: f64 = profile.runs.iter().map(std::time::Duration::as_secs_f64).sum::<f64>() / 5.0;
    assert!((0.9..=1.0).contains(&(of_nodes / of_runs)), "{profile}");
    assert!(profile.to_string().contains("call_function  matmul"), "{profile}");
}

#[test]
fn a_replacement_that_shares_memory_is_refused_aloud() {
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.call("neg", &[&xs], 1);
    let ys = t.call("neg", &[&ys], 2);
    let mut net = t.finish(&[&ys]).unwrap();
    // Twice negated is a tensor of its own, which the caller may write to; the input is not.
    let before: Graph = "graph p(x: tensor) { %a = neg(x) ; %b = neg(%a) ; yield %b }".parse().unwrap();
    let after: Graph = "graph r(x: tensor) { yield x }".parse().unwrap();
    let said = net.replace_pattern(&before, &after).unwrap_err().to_string();
    assert!(said.contains("`neg_1`") && said.contains("`xs`"), "{said}");
    // What the pattern is not found in is no fault.
    let none: Graph = "graph p(x: tensor) { %a = relu(x) ; %b = neg(%a) ; yield %b }".parse().unwrap();
    assert_eq!(net.replace_pattern(&none, &after).unwrap(), 0);
}

#[test]
fn a_mistake_is_an_error_that_names_node_and_place() {
    let vs = nn::VarStore::new(Device::Cpu);
    let (_, _, module) = net(&vs);
    let xs = [value(randn(&[2, 4]))];
    let said = |module: &GraphModule| module.run(&xs).unwrap_err().to_string();
    let edited = |edit: &dyn Fn(&mut Graph)| {
        let mut other = module.shallow_clone();
        edit(other.graph_mut());
        other
    };
    // A graph of another model: its modules and tensors are not there.
    let other = GraphModule::new(module.graph().clone());
    assert_eq!(said(&other), "at `fc` (src/net.rs:4): graph `Net` has no module `fc`");
    let lint = other.lint().unwrap_err().to_string();
    assert!(lint.contains("`fc`") && lint.contains("`gain`"), "{lint}");
    // A missing attribute.
    let mut other = module.shallow_clone();
    other.add_submodule("other", nn::relu());
    assert!(other.shared_tensor("weight").unwrap_err().to_string().contains("`weight`"));
    assert!(other.shared_layer::<nn::Linear>("other").unwrap_err().to_string().contains("`ReLU` at `other`"));
    // Wrong arguments, of an op and of a layer.
    let wrong = edited(&|graph| {
        let relu = graph.find_nodes("call_method", Some("relu"))[0];
        graph.node_mut(relu).args.push(Arg::Str("fast".to_owned()));
    });
    let lint = wrong.lint().unwrap_err().to_string();
    assert!(lint.contains("relu"), "{lint}");
    let wrong = edited(&|graph| {
        let fc = graph.find_nodes("call_module", Some("fc"))[0];
        graph.node_mut(fc).args.push(Arg::Int(3));
    });
    assert!(said(&wrong).starts_with("at `fc` (src/net.rs:4): "), "{}", said(&wrong));
    // An unknown op, a node in use, and a cycle.
    let mut graph = module.graph().clone();
    let [fc, relu] = ["call_module", "call_method"].map(|opcode| graph.find_nodes(opcode, None)[0]);
    let unknown = graph.inserting_after(relu).unwrap().call("relo", [relu]).unwrap_err().to_string();
    assert!(unknown.contains("`relo`"), "{unknown}");
    let used = graph.erase_node(fc).unwrap_err().to_string();
    assert!(used.contains("`fc`") && used.contains("`relu`"), "{used}");
    let cycle = graph.update_arg(fc, 1, relu).unwrap_err().to_string();
    assert!(cycle.contains("`fc`") && cycle.contains("`relu`"), "{cycle}");
    // A node of another graph, and one that is gone.
    let stranger = module.graph().deep_copy().0.find_nodes("call_module", None)[0];
    let foreign = graph.update_arg(relu, 0, stranger).unwrap_err().to_string();
    assert!(foreign.contains("`Net`") && foreign.contains("of another"), "{foreign}");
    // Another number of inputs, and one of another shape.
    let count = module.run(&[]).unwrap_err().to_string();
    assert!(count.contains("takes 1 inputs (xs), got 0"), "{count}");
    let shape = module.run(&[value(randn(&[2, 5]))]).unwrap_err().to_string();
    assert!(shape.starts_with("at `fc` (src/net.rs:4): "), "{shape}");
    // JSON of another version, and of a graph with an unknown op.
    let text = to_json(module.graph());
    let spelled = |key: &str, value: &str| [format!("\"{key}\":{value}"), format!("\"{key}\": {value}")];
    let exchanged = |key: &str, from: &str, to: &str| {
        let pairs = spelled(key, from).into_iter().zip(spelled(key, to));
        pairs.fold(text.clone(), |text, (from, to)| text.replace(&from, &to))
    };
    let version = from_json(&exchanged("version", "1", "7"));
    let version = version.unwrap_err().to_string();
    assert!(version.contains("`Net`") && version.contains("version 7"), "{version}");
    let unknown = from_json(&exchanged("op", "\"relu\"", "\"relo\""));
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains("node `relu`") && unknown.contains("relo"), "{unknown}");
}
