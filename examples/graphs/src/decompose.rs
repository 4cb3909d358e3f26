//! An op becomes smaller ones: `relu(x)` is `(x > 0) * x`.

use fx_runtime::graph::Arg;
use fx_runtime::{Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net;

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        (x - 1.0).relu().sqrt()
    }
}

/// The graph without its relu.
pub(crate) fn run() -> Report {
    let mut net = Net.graph_module()?;
    let graph = net.graph_mut();
    for relu in graph.find_nodes("call_method", Some("relu")) {
        let x = graph.node(relu).args[0].clone();
        let mut at = graph.inserting_before(relu)?;
        let positive = at.call("gt", [x.clone(), Arg::Int(0)])?;
        let product = at.call("mul", [Arg::Node(positive), x])?;
        graph.try_replace_all_uses_with(relu, product)?;
        graph.erase_node(relu)?;
    }
    net.lint()?;
    let x = randn(&[6]);
    if call(&net, &[&x])? != Net.forward(&x) {
        return Err("decomposing changed the result".into());
    }
    Ok(net.to_string())
}
