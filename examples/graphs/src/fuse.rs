//! Batch norms folded into convolutions by the user's own loop over nodes, as in PyTorch's tutorial "(beta) Building a
//! Convolution/Batch Norm fuser in FX".
//!
//! `GraphModule::transform` does it in one line, and `freeze` packs the layers too; this is what a pass of one's own on live
//! modules looks like.

use std::time::Instant;

use fx_runtime::graph::{Arg, Graph, NodeId, Op};
use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Device, Module as _, Tensor, nn};
use resnet18::ResNet18;

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

/// The fastest of some calls, in milliseconds.
fn fastest(net: &GraphModule, xs: &Tensor) -> Result<f64, Box<dyn std::error::Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let _ = tch::no_grad(|| call(net, &[xs]))?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

/// ResNet-18 with and without its batch norms.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let model = ResNet18::new(&vs.root(), 10);
    for (name, tensor) in model.named_buffers() {
        let lowest = if name.ends_with("running_var") { 0.5 } else { -0.5 };
        let _ = tch::no_grad(|| tensor.shallow_clone().uniform_(lowest, lowest + 1.0));
    }
    let net = model.graph_module()?;
    let mut fused = net.shallow_clone();
    let count = fuse(&mut fused)?;
    fused.lint()?;
    let xs = randn(&[2, 3, 224, 224]);
    let (wanted, found) = (call(&net, &[&xs])?, call(&fused, &[&xs])?);
    let largest = (&wanted - &found).abs().max().double_value(&[]);
    if count != 20 || largest > 1e-3 * wanted.abs().max().double_value(&[]) {
        return Err(format!("{count} batch norms folded, the results differ by {largest:e}").into());
    }
    let (before, after) = (fastest(&net, &xs)?, fastest(&fused, &xs)?);
    Ok(format!(
        "{count} batch norms folded, largest difference {largest:.1e}; {before:.1} ms before, {after:.1} ms after"
    ))
}
