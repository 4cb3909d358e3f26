//! Kernels of eight bits give the codes of the reference form, but for one step where sums are rounded in another order.

use std::collections::BTreeMap;
use std::rc::Rc;

use fx_runtime::graph::{Graph, NodeId, Op};
use fx_runtime::graph_module::{GraphModule, Hook, Interpreter, Value, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::quant::{
    Prepared, QConfig, QConfigMapping, QEngine, QParams, QParamsFile, coverage, prepare, quantize, sqnr,
};
use fx_runtime::{Device, Freeze, Kind, Result, Tensor, nn};

use super::{alone, has_kernels};

/// The values of the reference form at its sites, by their names.
struct Sites<'s> {
    names: BTreeMap<NodeId, String>,
    values: &'s mut BTreeMap<String, Tensor>,
}

impl Hook for Sites<'_> {
    fn after(&mut self, _: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        if let (Some(name), Value::Tensor(tensor)) = (self.names.get(&id), &*value) {
            self.values.insert(name.clone(), tensor.f_detach_copy()?);
        }
        Ok(())
    }
}

/// Compares codes with those of the reference form, and goes on with the latter, so that each kernel is seen by itself.
struct Compare<'s> {
    qparams: &'s QParamsFile,
    exact: &'s BTreeMap<String, Tensor>,
    /// For each node with codes the largest difference.
    steps: &'s mut BTreeMap<String, i64>,
}

impl Hook for Compare<'_> {
    fn after(&mut self, graph: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        let node = graph.node(id);
        let (Some(site), Value::Tensor(codes)) = (node.meta.get::<String>("site"), &*value) else { return Ok(()) };
        assert_eq!(codes.kind(), Kind::Uint8, "{}", node.name);
        // A reduced range bounds what is observed, not what is stored.
        let of = QParams { quant_max: 255, ..self.qparams.sites[&site].clone() };
        let wanted = of.quantize(&self.exact[&site])?;
        // What has no kernel is more exact here, so that only kernels are compared.
        if node.name != format!("{site}_quantize") {
            let difference = codes.to_kind(Kind::Int).f_sub(&wanted.to_kind(Kind::Int))?.abs().max();
            self.steps.insert(node.name.clone(), difference.int64_value(&[]));
        }
        *value = Value::Tensor(Rc::new(wanted));
        Ok(())
    }
}

fn randn(shape: &[i64], seed: i64) -> Tensor {
    tch::manual_seed(seed);
    Tensor::randn(shape, (Kind::Float, Device::Cpu))
}

fn calibrated(net: &GraphModule, shape: &[i64], engine: QEngine) -> Result<(Prepared, QParamsFile)> {
    let mut prepared = prepare(net, &QConfigMapping::for_engine(engine), engine)?;
    (0..4).try_for_each(|seed| prepared.forward(&[value(randn(shape, seed))]).map(drop))?;
    let qparams = prepared.convert()?;
    Ok((prepared, qparams))
}

fn tensor(result: Value) -> Tensor {
    match result {
        Value::Tensor(tensor) => tensor.shallow_clone(),
        other => panic!("{other} is no tensor"),
    }
}

fn kinds(net: &GraphModule) -> Vec<String> {
    let graph = net.graph();
    let nodes = graph.nodes().into_iter();
    let known = |id| match &graph.node(id).op {
        Op::CallModule(kind) => Some(kind.0.clone()),
        _ => None,
    };
    nodes.filter_map(known).collect()
}

/// Checks every node with codes; yields the graph on codes, and its result beside that of the reference form.
fn check(net: &GraphModule, shape: &[i64], engine: QEngine) -> Result<(GraphModule, Tensor, Tensor)> {
    let _no_grad = tch::no_grad_guard();
    let (prepared, qparams) = calibrated(net, shape, engine)?;
    let (int8, reference) = (quantize(net, &qparams)?, prepared.reference(&qparams)?);
    let inputs = [value(randn(shape, 77))];
    let (mut exact, mut steps) = (BTreeMap::new(), BTreeMap::new());
    let names = prepared.sites().iter().map(|site| (site.node, site.name.clone())).collect();
    let wanted = tensor(Interpreter::new(&reference).with_hook(Sites { names, values: &mut exact }).run(&inputs)?);
    let compare = Compare { qparams: &qparams, exact: &exact, steps: &mut steps };
    let found = tensor(Interpreter::new(&int8).with_hook(compare).run(&inputs)?);
    assert_eq!(!steps.is_empty(), has_kernels());
    let wrong: Vec<_> = steps.iter().filter(|(_, steps)| **steps > 1).collect();
    assert!(wrong.is_empty(), "{wrong:?} in\n{}", int8.graph());
    Ok((int8, found, wanted))
}

fn conv(vs: &nn::VarStore, name: &str, [input, out, kernel]: [i64; 3], config: nn::ConvConfig) -> nn::Conv2D {
    nn::conv2d(vs.root() / name, input, out, kernel, config)
}

fn padded(padding: i64) -> nn::ConvConfig {
    nn::ConvConfig { padding, ..nn::ConvConfig::default() }
}

/// A stem with a batch norm and a maximum, a block with a residual, two branches joined, a mean, and a linear layer.
fn picture_net() -> Result<GraphModule> {
    tch::manual_seed(42);
    let vs = nn::VarStore::new(Device::Cpu);
    let stem = conv(&vs, "stem", [3, 16, 3], padded(1));
    let norm = nn::batch_norm2d(vs.root() / "norm", 16, nn::BatchNormConfig::default());
    let first = conv(&vs, "first", [16, 16, 3], padded(1));
    let second = conv(&vs, "second", [16, 16, 1], padded(0));
    let depthwise = conv(&vs, "depthwise", [16, 16, 3], nn::ConvConfig { groups: 16, ..padded(1) });
    let pool = nn::max_pool2d(3, nn::MaxPoolConfig { stride: 2, padding: 1, ..nn::MaxPoolConfig::default() });
    let fc = nn::linear(vs.root() / "fc", 32, 10, nn::LinearConfig::default());
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("stem", &stem, &[&xs], 1);
    let ys = t.module("norm", &norm, &[&ys], 2);
    let ys = t.call("relu", &[&ys], 2);
    let ys = t.module("pool", &pool, &[&ys], 3);
    let zs = t.module("first", &first, &[&ys], 4);
    let zs = t.call("relu", &[&zs], 4);
    let zs = t.module("second", &second, &[&zs], 5);
    let zs = t.call("add", &[&zs, &ys], 6);
    let zs = t.call("relu", &[&zs], 6);
    let us = t.module("depthwise", &depthwise, &[&zs], 7);
    let us = t.call("hardswish", &[&us], 7);
    let gate = t.call("sigmoid", &[&zs], 8);
    let us = t.call("mul", &[&us, &gate], 8);
    let zs = t.call("cat", &[&Arg::List(vec![zs, us]), &Arg::Int(1)], 9);
    let zs = t.call("adaptive_avg_pool2d", &[&zs, &Arg::List(vec![Arg::Int(1), Arg::Int(1)])], 10);
    let zs = t.call("flatten", &[&zs, &Arg::Int(1), &Arg::Int(-1)], 11);
    let zs = t.module("fc", &fc, &[&zs], 12);
    let net = t.finish(&[&zs])?;
    net.eval();
    Ok(net)
}

#[test]
fn kernels_give_the_codes_of_the_reference_form() -> Result<()> {
    let _alone = alone();
    let net = picture_net()?;
    for engine in [QEngine::Fx, QEngine::Onednn, QEngine::X86] {
        let (int8, found, wanted) = check(&net, &[2, 3, 18, 14], engine)?;
        // The reference form rounds the result, which nothing reads as codes, as well.
        assert!(sqnr(&wanted, &found)? > 30.0, "{engine}");
        let count = |kind: &str| kinds(&int8).iter().filter(|found| found.contains(kind)).count();
        let found = (count("Int8Conv"), count("Int8Linear"), count("Dequantize"));
        assert_eq!(found, if has_kernels() { (4, 1, 0) } else { (0, 0, 0) }, "{:?}", kinds(&int8));
    }
    Ok(())
}

#[test]
fn a_frozen_graph_keeps_its_kernels() -> Result<()> {
    let _alone = alone();
    let (net, shape) = (picture_net()?, [1, 3, 18, 14]);
    let (_, qparams) = calibrated(&net, &shape, QEngine::Onednn)?;
    let int8 = quantize(&net, &qparams)?;
    let inputs = [value(randn(&shape, 9))];
    let (exact, by_node) = (tensor(net.run(&inputs)?), tensor(int8.run(&inputs)?));
    let frozen = int8.freeze(&Freeze::new())?;
    assert!(tensor(frozen.run(&inputs)?) == by_node || !has_kernels());
    assert!(sqnr(&exact, &by_node)? > 25.0);
    Ok(())
}

/// A transposed convolution, a border that is mirrored and a softmax stay in floats.
#[test]
fn what_has_no_kernel_is_computed_on_floats() -> Result<()> {
    let _alone = alone();
    tch::manual_seed(42);
    let vs = nn::VarStore::new(Device::Cpu);
    let up = nn::conv_transpose2d(vs.root() / "up", 8, 6, 3, nn::ConvTransposeConfig::default());
    let reflecting = nn::ConvConfig { padding_mode: nn::PaddingMode::Reflect, ..padded(1) };
    let around = conv(&vs, "around", [6, 8, 3], reflecting);
    let [second, last] = ["second", "last"].map(|name| conv(&vs, name, [8, 8, 1], padded(0)));
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("up", &up, &[&xs], 1);
    let ys = t.module("around", &around, &[&ys], 2);
    let ys = t.call("softmax", &[&ys, &Arg::Int(1), &Arg::Path("Kind::Float".to_owned())], 3);
    let ys = t.module("second", &second, &[&ys], 4);
    let ys = t.module("last", &last, &[&ys], 4);
    let net = t.finish(&[&ys])?;
    let (int8, found, wanted) = check(&net, &[2, 8, 6, 5], QEngine::Onednn)?;
    assert!(sqnr(&wanted, &found)? > 30.0);
    let wanted = ["ConvTranspose2D", "Conv2D", "Quantize", "Int8Conv", "Int8Conv"];
    assert!(!has_kernels() || kinds(&int8) == wanted, "{:?}", kinds(&int8));

    let (_, qparams) = calibrated(&net, &[2, 8, 6, 5], QEngine::Onednn)?;
    let coverage = coverage(&net, &qparams, &[value(randn(&[2, 8, 6, 5], 1))])?;
    let in_floats: Vec<&str> =
        coverage.layers.iter().filter(|layer| layer.in_floats.is_some()).map(|layer| layer.name.as_str()).collect();
    assert!(!has_kernels() || in_floats == ["up", "around"], "{coverage}");
    assert!(!has_kernels() || coverage.share() > 0.05 && coverage.share() < 0.5, "{coverage}");
    assert!(coverage.to_string().contains("% of the FLOPs on codes"), "{coverage}");
    Ok(())
}

#[test]
fn parameters_of_another_graph_are_refused() -> Result<()> {
    let _alone = alone();
    let (_, qparams) = calibrated(&picture_net()?, &[1, 3, 18, 14], QEngine::Onednn)?;
    let vs = nn::VarStore::new(Device::Cpu);
    let fc = nn::linear(vs.root(), 4, 4, nn::LinearConfig::default());
    let mut t = Tracer::new("other");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("fc", &fc, &[&xs], 1);
    let message = quantize(&t.finish(&[&ys])?, &qparams).expect_err("another graph").to_string();
    assert!(message.contains("`net`") && message.contains("not of `other`"), "{message}");
    Ok(())
}

/// Linear layers with a residual in floats behind them, a weight that is no layer's, and a dropout.
#[test]
fn transformers_keep_their_residuals_in_floats() -> Result<()> {
    let _alone = alone();
    tch::manual_seed(4);
    let vs = nn::VarStore::new(Device::Cpu);
    let [first, second] =
        [[16, 32], [32, 16]].map(|[input, out]| nn::linear(vs.root() / out, input, out, nn::LinearConfig::default()));
    let norm = nn::layer_norm(vs.root() / "norm", vec![16], nn::LayerNormConfig::default());
    let weight = vs.root().kaiming_uniform("weight", &[48, 16]);
    let dropout = nn::dropout(0.1);
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let weight = t.tensor("weight", &weight);
    let ys = t.module("norm", &norm, &[&xs], 2);
    let ys = t.module("first", &first, &[&ys], 3);
    let ys = t.call("gelu", &[&ys, &Arg::Str("none".to_owned())], 3);
    let ys = t.module("dropout", &dropout, &[&ys], 4);
    let ys = t.module("second", &second, &[&ys], 5);
    let ys = t.module("dropout", &dropout, &[&ys], 5);
    let ys = t.call("add", &[&xs, &ys], 6);
    let ys = t.call("linear", &[&ys, &weight, &Arg::None], 7);
    let net = t.finish(&[&ys])?;
    net.eval();
    let (int8, found, wanted) = check(&net, &[2, 5, 16], QEngine::Fx)?;
    assert!(sqnr(&wanted, &found)? > 30.0);
    let expected = ["LayerNorm", "Quantize", "Int8Linear", "Dropout", "Int8Linear", "Quantize", "Int8Linear"];
    assert!(!has_kernels() || kinds(&int8) == expected, "{:?}", kinds(&int8));
    Ok(())
}

/// Weights of four bits move means, which corrected biases move back; the file keeps them.
#[test]
fn corrected_biases_bring_means_back() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let (net, shape, engine) = (picture_net()?, [4, 3, 18, 14], QEngine::Fx);
    let coarse = QConfig { weight: QConfig::weight_per_channel().quant_range(-8, 7), ..engine.default_qconfig() };
    let mut prepared = prepare(&net, &QConfigMapping::for_engine(engine).global(coarse), engine)?;
    let batches: Vec<Tensor> = (0..4).map(|seed| randn(&shape, seed)).collect();
    batches.iter().try_for_each(|batch| prepared.forward(batch).map(drop))?;
    let plain = prepared.convert()?;
    let corrected = prepared.bias_correction(&plain, &batches)?;
    assert_eq!(corrected.biases.len(), 5);
    let inputs = [value(randn(&shape, 77))];
    let exact = tensor(net.run(&inputs)?);
    let [before, after] = [&plain, &corrected].map(|qparams| {
        let reference = tensor(prepared.reference(qparams)?.run(&inputs)?);
        let kernels = tensor(quantize(&net, qparams)?.run(&inputs)?);
        assert!(sqnr(&reference, &kernels)? > 25.0 || !has_kernels());
        sqnr(&exact, &reference)
    });
    let (before, after) = (before?, after?);
    assert!(after > before + 0.5, "{before} dB, with corrected biases {after} dB");
    let folder = std::env::temp_dir().join(format!("fx-biases-{}.json", std::process::id()));
    corrected.save(&folder)?;
    let read = QParamsFile::load(&folder, &net);
    std::fs::remove_file(&folder).expect("it was written");
    assert_eq!(read?, corrected);
    let mut wrong = corrected.clone();
    wrong.biases.insert("fc.weight".to_owned(), vec![0.0; 3]);
    let message = quantize(&net, &wrong).expect_err("a refusal").to_string();
    assert!(message.contains("`fc.weight`") && message.contains("10 numbers"), "{message}");
    wrong.biases = BTreeMap::from([("nowhere.weight".to_owned(), vec![0.0])]);
    assert!(quantize(&net, &wrong).expect_err("a refusal").to_string().contains("`nowhere.weight`"));
    Ok(())
}

/// Data that says nothing of a model is refused with the site, and constants are no reason to.
#[test]
fn calibration_data_that_is_none() -> Result<()> {
    let _alone = alone();
    let net = picture_net()?;
    let fresh = || prepare(&net, &QConfigMapping::for_engine(QEngine::Fx), QEngine::Fx);
    let filled = |number: f64| randn(&[1, 3, 18, 14], 1).fill(number);
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut prepared = fresh()?;
        let seen = prepared.forward(&filled(number)).map(drop);
        let message = seen.and_then(|()| prepared.convert().map(drop)).expect_err("a refusal").to_string();
        assert!(message.contains("`xs`") || message.contains("`stem`"), "{number}: {message}");
    }
    let mut prepared = fresh()?;
    assert!(prepared.convert().expect_err("nothing was seen").to_string().contains("`xs`"));
    prepared.forward(&randn(&[0, 3, 18, 14], 1))?;
    assert!(prepared.convert().is_err(), "an empty batch says nothing");
    for number in [0.0, 3.0] {
        let mut prepared = fresh()?;
        prepared.forward(&filled(number))?;
        let qparams = prepared.convert()?;
        let ys = tensor(quantize(&net, &qparams)?.run(&[value(filled(number))])?);
        assert!(ys.isfinite().all().int64_value(&[]) == 1, "{number}");
    }
    Ok(())
}
