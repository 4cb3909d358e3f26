//! Batch norms folded into convolutions by the user's own loop over nodes, as in PyTorch's tutorial "(beta) Building a
//! Convolution/Batch Norm fuser in FX".
//!
//! `GraphModule::transform` does it in one line, and `freeze` packs the layers too; this is what a pass of one's own on live
//! modules looks like.

use fusion_tutorial::Tutorial;
use fx_runtime::graph::{Arg, Graph, NodeId, Op};
use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Device, Module, Tensor, nn};
use resnet18::ResNet18;
use resnet18::timing::in_turns;

use crate::{Report, call, randn};

/// The path of the module of this type that a node calls.
fn path_of<'g>(graph: &'g Graph, id: NodeId, ty: &str) -> Option<&'g str> {
    let node = graph.node(id);
    match (&node.op, node.args.first()) {
        (Op::CallModule(kind), Some(Arg::Str(path))) if kind.0 == ty => Some(path),
        _ => None,
    }
}

/// The convolution that computes `bn(conv(x))` in inference: its weight times `gamma / sqrt(var + eps)`.
fn folded(conv: &nn::Conv2D, bn: &nn::BatchNorm) -> Option<nn::Conv2D> {
    let (gamma, beta) = (bn.ws.as_ref()?, bn.bs.as_ref()?);
    let mut fused = conv.shallow_clone().ok()?;
    let scale = gamma / (&bn.running_var + bn.config.eps).sqrt();
    let bias = conv.bs.as_ref().map_or_else(|| bn.running_mean.neg(), |bias| bias - &bn.running_mean);
    fused.ws = &conv.ws * scale.view([-1, 1, 1, 1]);
    fused.bs = Some(bias * &scale + beta);
    Some(fused)
}

/// Folds every batch norm behind a convolution that nobody else reads; returns how many.
fn fuse(net: &mut GraphModule) -> Result<usize, Box<dyn std::error::Error>> {
    let mut count = 0;
    for norm in net.graph().nodes() {
        let graph = net.graph();
        let Some(bn_path) = path_of(graph, norm, "BatchNorm").map(str::to_owned) else { continue };
        let Some(conv) = graph.node(norm).input(1) else { continue };
        let Some(conv_path) = path_of(graph, conv, "Conv2D").map(str::to_owned) else { continue };
        if graph.users(conv) != [norm] {
            continue;
        }
        let module = |path: &str| net.submodule(path).and_then(fx_runtime::graph_module::Submodule::as_any);
        let pair = module(&conv_path).and_then(<dyn std::any::Any>::downcast_ref::<nn::Conv2D>);
        let pair = pair.zip(module(&bn_path).and_then(<dyn std::any::Any>::downcast_ref::<nn::BatchNorm>));
        let Some(fused) = pair.and_then(|(conv, bn)| tch::no_grad(|| folded(conv, bn))) else { continue };
        net.add_submodule(conv_path, fused);
        net.delete_submodule(&bn_path);
        let graph = net.graph_mut();
        graph.try_replace_all_uses_with(norm, conv)?;
        graph.erase_node(norm)?;
        count += 1;
    }
    Ok(count)
}

/// A model's graph with statistics that batch norms do not have at first, so that folding does something.
fn graph_of(model: &dyn Module, graph: GraphModule) -> GraphModule {
    for (name, tensor) in model.named_buffers() {
        let lowest = if name.ends_with("running_var") { 0.5 } else { -0.5 };
        let _ = tch::no_grad(|| tensor.shallow_clone().uniform_(lowest, lowest + 1.0));
    }
    graph
}

/// The graph without the batch norms, of which there are so many, and how far its results are from those with them.
fn fused(net: &GraphModule, count: usize, xs: &Tensor) -> Result<(GraphModule, f64), Box<dyn std::error::Error>> {
    let mut without = net.shallow_clone();
    let found = fuse(&mut without)?;
    without.lint()?;
    let (wanted, result) = (call(net, &[xs])?, call(&without, &[xs])?);
    let largest = (&wanted - &result).abs().max().double_value(&[]);
    if found != count || largest > 1e-3 * wanted.abs().max().double_value(&[]) {
        return Err(format!("{found} batch norms folded, the results differ by {largest:e}").into());
    }
    Ok((without, largest))
}

/// The tutorial's model on its input, and ResNet-18.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let tutorial = Tutorial::new(&(vs.root() / "tutorial"));
    let net = graph_of(&tutorial, tutorial.graph_module()?);
    let (without, largest) = fused(&net, 3, &randn(&[5, 1, 1, 1]))?;
    let resnet = ResNet18::new(&(vs.root() / "resnet18"), 10);
    let (_, largest_of_resnet) = fused(&graph_of(&resnet, resnet.graph_module()?), 20, &randn(&[2, 3, 64, 64]))?;
    Ok(format!("{without}\nlargest difference {largest:.1e}; of ResNet-18, 20 batch norms: {largest_of_resnet:.1e}"))
}

/// ResNet-18 on 10 images, with its batch norms and without, in turns; an error if it is no faster without.
pub(crate) fn benchmark() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = ResNet18::new(&vs.root(), 1000);
    let (xs, net) = (randn(&[10, 3, 224, 224]), graph_of(&model, model.graph_module()?));
    let (without, _) = fused(&net, 20, &xs)?;
    let forward = |net: &GraphModule| drop(tch::no_grad(|| call(net, &[&xs])).map_err(|error| error.to_string()));
    let [before, after] = in_turns(5, 2, [&|| forward(&net), &|| forward(&without)]);
    let times = format!(
        "unfused {:.1} ms (median {:.1}), fused {:.1} ms (median {:.1})",
        before.min(),
        before.median(),
        after.min(),
        after.median()
    );
    if before.min() <= after.min() || before.median() <= after.median() {
        return Err(format!("folding saves no time: {times}").into());
    }
    Ok(times)
}
