//! What is looked into and what stays one node, which torch.fx decides by a tracer of one's own: here an attribute says it.

use fx_runtime::{Device, Module, Tensor, fx, nn, traceable};

use crate::Report;

/// Looked into.
#[derive(Debug, Module)]
struct Open {
    fc: nn::Linear,
}

#[traceable]
impl Open {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.fc.forward(x).relu()
    }
}

/// A `call_module` wherever it is called.
#[derive(Debug, Module)]
struct Closed {
    fc: nn::Linear,
}

impl Closed {
    #[fx(leaf)]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.fc.forward(x).relu()
    }
}

#[derive(Debug, Module)]
struct Net {
    open: Open,
    closed: Closed,
}

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.closed.forward(&self.open.forward(x))
    }
}

/// The listing, in which one of two alike modules is a leaf.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let linear = |name: &str| nn::linear(vs.root() / name, 4, 4, nn::LinearConfig::default());
    let net = Net { open: Open { fc: linear("open") }, closed: Closed { fc: linear("closed") } };
    let graph = net.graph_module()?;
    let modules = graph.graph().find_nodes("call_module", None).len();
    if modules != 2 {
        return Err(format!("{modules} modules are called:\n{graph}").into());
    }
    Ok(graph.to_string())
}
