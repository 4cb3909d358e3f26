//! Which nodes stand in which module: the containment that each node's `nn_module_stack` tells.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fx_runtime::{Device, nn};
use resnet18::ResNet18;

use crate::Report;

/// For each module of ResNet-18 how many nodes stand in its forward, those of modules inside it included.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let graph = ResNet18::new(&vs.root(), 10).graph()?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in graph.nodes() {
        for module in graph.node(id).nn_module_stack() {
            *counts.entry(format!("{:24} {}", module.path, module.ty)).or_default() += 1;
        }
    }
    let mut out = String::new();
    for (module, count) in &counts {
        writeln!(out, "{count:>4}  {module}")?;
    }
    Ok(out)
}
