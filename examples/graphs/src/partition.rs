//! A backend that takes some operators alone: the largest parts that it can have, each a module of its own.
//!
//! torch.fx's `CapabilityBasedPartitioner` and `split_module`. No part waits for what needs its own result.

use fx_runtime::graph::{Graph, NodeId, Op};
use fx_runtime::passes::parts::partition;
use fx_runtime::{Device, Module, Tensor, nn, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net {
    fc: nn::Linear,
}

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.relu() * 2.0;
        let z = self.fc.forward(&y).sigmoid() + &y;
        z.tanh()
    }
}

/// What the backend can do: operators of its own, no layer.
fn supports(graph: &Graph, id: NodeId) -> bool {
    matches!(graph.node(id).op, Op::Call(_))
}

/// The parts, and the graph that calls them.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = Net { fc: nn::linear(vs.root() / "fc", 4, 4, nn::LinearConfig::default()) };
    let graph = net.graph_module()?;
    let parts = partition(graph.graph(), supports);
    let split = graph.split_module(|_, id| parts.iter().position(|part| part.contains(&id)))?;
    split.lint()?;
    let x = randn(&[2, 4]);
    if parts.len() != 2 || call(&split, &[&x])? != net.forward(&x) {
        return Err(format!("{} parts that compute something else:\n{split}", parts.len()).into());
    }
    // Training the parts trains the model: its layer is shared with them.
    if !call(&split, &[&x])?.requires_grad() {
        return Err("the parts have lost the gradients".into());
    }
    let names =
        |part: &[NodeId]| part.iter().map(|&id| graph.graph().node(id).name.as_str()).collect::<Vec<_>>().join(", ");
    let listed: Vec<String> = parts.iter().map(|part| names(part)).collect();
    Ok(format!("parts: {}\n{split}", listed.join("; ")))
}
