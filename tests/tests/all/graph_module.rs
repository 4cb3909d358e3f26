//! The graph of a live model that runs: ResNet-18 against the model itself, in both modes, with its gradients and costs.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Kind, Module as _, Tensor, nn};
use resnet18::ResNet18;

fn model() -> (nn::VarStore, ResNet18, GraphModule) {
    tch::manual_seed(3);
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 10);
    let graph = net.graph_module().expect("a graph");
    graph.lint().expect("all that it names");
    (vs, net, graph)
}

fn images(count: i64, size: i64) -> Tensor {
    Tensor::randn([count, 3, size, size], (Kind::Float, Device::Cpu))
}

fn run(graph: &GraphModule, xs: &Tensor) -> Tensor {
    match graph.run(&[value(xs)]) {
        Ok(Value::Tensor(ys)) => ys.shallow_clone(),
        other => panic!("{other:?} in place of a tensor"),
    }
}

#[test]
fn resnet18_computes_the_same_in_inference_and_in_training() {
    let (_vs, net, graph) = model();
    let xs = images(2, 64);
    assert_eq!(run(&graph, &xs), net.forward(&xs));
    net.train();
    graph.train();
    // In training the statistics of the batch count, and both models keep one set of running ones.
    assert_eq!(run(&graph, &xs), net.forward(&xs));
    net.eval();
    assert!(run(&graph, &xs).allclose(&run(&graph, &xs), 0.0, 0.0, false));
}

#[test]
fn gradients_reach_the_parameters_of_the_model() {
    let (vs, net, graph) = model();
    let xs = images(2, 64);
    let gradients = |ys: &Tensor| {
        ys.square().sum(Kind::Float).backward();
        let grads: Vec<Tensor> = vs.trainable_variables().iter().map(|weight| weight.grad().copy()).collect();
        vs.trainable_variables().iter_mut().for_each(Tensor::zero_grad);
        grads
    };
    let (of_graph, of_model) = (gradients(&run(&graph, &xs)), gradients(&net.forward(&xs)));
    assert_eq!(of_graph.len(), 62);
    assert!(of_graph.iter().zip(&of_model).all(|(a, b)| a.allclose(b, 1e-5, 1e-6, false)));
}

/// 1,814,073,344 multiply-adds for 1,000 classes, as torchvision states them: of 10 classes it is 512 * 990 fewer.
#[test]
fn resnet18_has_as_many_multiply_adds_as_torchvision_says() {
    let (_vs, _net, mut graph) = model();
    graph.propagate_shapes(&[value(images(1, 224))]).expect("a run");
    let costs = graph.costs();
    assert_eq!(costs.macs(), 1_814_073_344 - 512 * 990);
    let block = costs.by_module().into_iter().find(|(path, ..)| path == "layer1.0").map(|(_, flops, _)| flops);
    // Two convolutions of 64 by 64 channels on 56 by 56 pixels.
    assert_eq!(block, Some(2 * 2 * 56 * 56 * 64 * 64 * 9), "{costs}");
}

#[test]
fn a_profile_knows_nodes_modules_and_lines() {
    let (_vs, _net, graph) = model();
    let profile = graph.profile(&[value(images(1, 64))], 1, 3).expect("a profile");
    let node = profile.nodes.iter().find(|node| node.name == "layer1_0_conv1").expect("a node");
    assert_eq!((node.opcode, node.calls, node.times.len()), ("call_module", 3, 3));
    let of_module = |path: &str| profile.modules.iter().find(|module| module.name == path).expect("a module").mean();
    assert!(of_module("") > of_module("layer1.0"));
    let of_nodes: f64 = profile.nodes.iter().map(fx_runtime::graph_module::Timing::mean).sum();
    assert!((of_module("") - of_nodes).abs() < 1e-9 * of_nodes.max(1.0), "{profile}");
}
