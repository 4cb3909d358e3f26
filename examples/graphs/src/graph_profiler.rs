//! The profiler of the library: means, shares and spread of nodes, modules and source lines, as in PyTorch's tutorial
//! "(beta) Building a Simple CPU Performance Profiler with FX", which runs ResNet-18 on 5 images of 224 by 224.

use fx_runtime::graph_module::value;
use fx_runtime::{Device, nn};
use resnet18::ResNet18;

use crate::{Report, randn};

/// The profile of two runs behind one that is not counted.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 1000).graph_module()?;
    Ok(net.profile(&[value(randn(&[5, 3, 224, 224]))], 1, 2)?.to_string())
}
