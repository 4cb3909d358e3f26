//! Live graphs under the passes of a build: what becomes of layers, and that the numbers stay.

use fx_ir::{Arg, Node, Op};
use tch::{Device, Kind, Tensor};

use super::super::{GraphModule, Tolerance, Value, bisect, convert, value};
use crate::instance::Tracer;
use crate::passes::fx_pass;
use crate::passes::passes::{DeadCode, FoldBatchNorm, LowerModules};
use crate::passes::pipeline::Pipeline;
use crate::{Freeze, nn};

fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

fn run(module: &GraphModule, xs: &Tensor) -> Tensor {
    tensor(module.run(&[value(xs)]).unwrap())
}

#[allow(clippy::needless_pass_by_value, reason = "what a run yields is handed over")]
fn tensor(value: Value) -> Tensor {
    convert::tensor(&value).unwrap().shallow_clone()
}

/// The nodes as `target(inputs)`, in order.
fn listing(module: &GraphModule) -> Vec<String> {
    let graph = module.graph();
    let nodes = graph.nodes().into_iter().map(|id| graph.node(id)).filter(|node| node.op != Op::Placeholder);
    let target = |node: &Node| match (&node.op, node.args.first()) {
        (Op::CallModule(_), Some(Arg::Str(path))) | (Op::GetAttr(path), None) => path.clone(),
        (Op::Call(op), _) => op.name().to_owned(),
        _ => "output".to_owned(),
    };
    nodes.map(|node| format!("{} {}", node.op.opcode(), target(node))).collect()
}

/// `fc(pool(relu(bn(conv(xs)) + shortcut(xs))).flatten())`, its batch norm with statistics of its own.
fn residual(vs: &nn::VarStore) -> GraphModule {
    let p = vs.root();
    let conv = nn::conv2d(&p / "conv", 3, 8, 3, nn::ConvConfig { padding: 1, bias: false, ..Default::default() });
    let bn = nn::batch_norm2d(&p / "bn", 8, nn::BatchNormConfig::default());
    let shortcut = nn::conv2d(&p / "shortcut", 3, 8, 1, nn::ConvConfig::default());
    let fc = nn::linear(&p / "fc", 8, 5, nn::LinearConfig::default());
    tch::no_grad(|| {
        let _ = bn.running_mean.shallow_clone().uniform_(-0.5, 0.5);
        let _ = bn.running_var.shallow_clone().uniform_(0.5, 2.0);
    });
    let mut t = Tracer::new("Residual");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("conv", &conv, &[&xs], 1);
    let ys = t.module("bn", &bn, &[&ys], 1);
    let skip = t.module("shortcut", &shortcut, &[&xs], 2);
    let ys = t.call("add", &[&ys, &skip], 3);
    let ys = t.call("relu", &[&ys], 3);
    let ys = t.module("pool", &nn::adaptive_avg_pool2d([1, 1]), &[&ys], 4);
    let ys = t.call("flatten", &[&ys, &Arg::Int(1), &Arg::Int(-1)], 4);
    let ys = t.module("fc", &fc, &[&ys], 5);
    t.finish(&[&ys]).unwrap()
}

#[test]
fn a_frozen_graph_has_one_kernel_where_there_were_five_nodes() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = residual(&vs);
    let frozen = net.freeze(&Freeze::default()).unwrap();
    let modules: Vec<String> = listing(frozen.module());
    assert_eq!(
        modules,
        [
            "call_module conv",
            "call_module shortcut",
            "call_module pool",
            "call_function flatten",
            "call_module fc",
            "output output"
        ]
    );
    for size in [&[2, 3, 9, 7][..], &[1, 3, 32, 32]] {
        let xs = randn(size);
        let (found, wanted) = (tensor(frozen.run(&[value(&xs)]).unwrap()), run(&net, &xs));
        assert!(found.allclose(&wanted, 1e-4, 1e-5, false), "{size:?}");
        assert!(!found.requires_grad());
    }
}

#[test]
fn later_training_does_not_reach_a_frozen_graph() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = residual(&vs);
    let frozen = net.freeze(&Freeze::default()).unwrap();
    let xs = randn(&[2, 3, 8, 8]);
    let before = tensor(frozen.run(&[value(&xs)]).unwrap());
    tch::no_grad(|| vs.trainable_variables().iter_mut().for_each(|weight| _ = weight.fill_(0.1)));
    assert_eq!(tensor(frozen.run(&[value(&xs)]).unwrap()), before);
    assert!(!run(&net, &xs).allclose(&before, 1e-3, 1e-3, false));
}

#[test]
fn inputs_are_looked_at_by_name() {
    let vs = nn::VarStore::new(Device::Cpu);
    let frozen = residual(&vs).freeze(&Freeze::default()).unwrap();
    let error = frozen.run(&[value(randn(&[1, 3, 8, 8]).to_kind(Kind::Double))]).unwrap_err().to_string();
    assert!(error.contains("`xs`") && error.contains("Double"), "{error}");
    let error = frozen.run(&[value(randn(&[1, 4, 8, 8]))]).unwrap_err().to_string();
    assert!(error.contains("src/net.rs:"), "{error}");
}

#[test]
fn a_transformed_graph_trains_what_no_pass_touched() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = residual(&vs);
    let folded = net.transform(&Pipeline::empty().then(LowerModules).then(FoldBatchNorm).then(DeadCode)).unwrap();
    let xs = randn(&[2, 3, 8, 8]);
    assert!(run(&folded, &xs).allclose(&run(&net, &xs), 1e-4, 1e-5, false));
    assert!(listing(&folded).iter().all(|node| node != "call_module bn"), "{:?}", listing(&folded));
    run(&folded, &xs).sum(Kind::Float).backward();
    let weights = vs.variables();
    assert!(weights["fc.weight"].grad().defined() && !weights["conv.weight"].grad().defined());
}

fx_pass! {
    /// a + b as a * b.
    AddToMul { |a: Tensor, b: Tensor| a + b => a * b }
}

#[test]
fn a_pass_of_ones_own_runs_on_a_live_graph() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = residual(&vs);
    let other = net.transform(&Pipeline::empty().then(AddToMul)).unwrap();
    assert_eq!(listing(&other).iter().filter(|node| *node == "call_function mul").count(), 1);
    assert_eq!(listing(&net).iter().filter(|node| *node == "call_function add").count(), 1, "the first is as it was");
    let error = net.transform(&Pipeline::inference()).unwrap_err().to_string();
    assert!(error.contains("GraphModule::freeze_with"), "{error}");
}

/// A batch norm before a convolution folds where the border is no wider than its shift allows.
#[test]
fn what_weights_decide_is_decided_when_the_graph_is_frozen() {
    for (padding, shifts) in [(0, true), (1, true), (1, false)] {
        let vs = nn::VarStore::new(Device::Cpu);
        let bn = nn::batch_norm2d(vs.root() / "bn", 4, nn::BatchNormConfig::default());
        let config = nn::ConvConfig { padding, ..Default::default() };
        let conv = nn::conv2d(vs.root() / "conv", 4, 6, 3, config);
        if shifts {
            tch::no_grad(|| _ = bn.running_mean.shallow_clone().uniform_(0.5, 1.0));
        }
        let mut t = Tracer::new("PreNorm");
        t.file("src/net.rs");
        let xs = t.input("xs", true);
        let ys = t.module("bn", &bn, &[&xs], 1);
        let ys = t.module("conv", &conv, &[&ys], 1);
        let net = t.finish(&[&ys]).unwrap();
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let modules = listing(frozen.module());
        let folds = padding == 0 || !shifts;
        assert_eq!(modules.len(), if folds { 2 } else { 3 }, "{modules:?}");
        let xs = randn(&[2, 4, 7, 7]);
        let (found, wanted) = (tensor(frozen.run(&[value(&xs)]).unwrap()), conv.forward(&bn.forward(&xs)));
        assert!(found.allclose(&wanted, 1e-4, 1e-5, false), "padding {padding}");
    }
}

#[test]
fn a_weight_that_is_read_twice_lies_in_memory_once() {
    let vs = nn::VarStore::new(Device::Cpu);
    let gain = vs.root().var("gain", &[4], nn::Init::Const(2.0));
    let mut t = Tracer::new("Gain");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let g = t.tensor("gain", &gain);
    let ys = t.call("mul", &[&xs, &g], 1);
    let ys = t.call("sub", &[&ys, &g], 2);
    let net = t.finish(&[&ys]).unwrap();
    let frozen = net.freeze(&Freeze::default()).unwrap();
    assert_eq!(listing(frozen.module()), ["get_attr gain", "call_function mul", "call_function sub", "output output"]);
    let xs = randn(&[3, 4]);
    assert_eq!(tensor(frozen.run(&[value(&xs)]).unwrap()), &xs * &gain - &gain);
}

fx_pass! {
    /// A rule that is none: the two are a little apart.
    WrongGelu { |x: Tensor| x.gelu("none") => x.gelu("tanh") }
}

#[test]
fn a_wrong_rule_is_found_by_bisection() {
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.call("neg", &[&xs], 1);
    let ys = t.call("gelu", &[&ys, &Arg::Str("none".to_owned())], 2);
    let ys = t.call("exp", &[&ys], 3);
    let net = t.finish(&[&ys]).unwrap();
    let inputs = [value(randn(&[64]))];
    let rewritten = net.transform(&Pipeline::empty().then(WrongGelu)).unwrap();
    let found = bisect(&net, &rewritten, &inputs, Tolerance::default()).unwrap().expect("a difference");
    assert_eq!((found.node.as_str(), found.place.as_deref(), found.agreeing), ("gelu", Some("src/net.rs:2"), 1));
    assert_eq!(found.passes, ["wrong-gelu"], "{found}");
    assert!(found.largest > 1e-5 && found.largest < 1e-2 && found.reference.shape == [64], "{found}");
    // The same under another name is no difference.
    let same = net.transform(&Pipeline::inference().stop_after("common-subexpressions")).unwrap();
    assert!(bisect(&net, &same, &inputs, Tolerance::default()).unwrap().is_none());
}
