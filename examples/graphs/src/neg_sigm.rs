//! `neg` and `sigmoid` change places, which the documentation of torch.fx's `Transformer` does.

use fx_runtime::{Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net;

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.sigmoid().neg()
    }
}

/// The graph in which they have changed places.
pub(crate) fn run() -> Report {
    let mut net = Net.graph_module()?;
    let graph = net.graph_mut();
    // What is to be changed is looked up first, so that nothing is changed twice.
    let sigmoids = graph.find_nodes("call_method", Some("sigmoid"));
    let found = [(sigmoids, "neg"), (graph.find_nodes("call_function", Some("torch.neg")), "sigmoid")];
    for (node, to) in found.into_iter().flat_map(|(nodes, to)| nodes.into_iter().map(move |node| (node, to))) {
        let args = graph.node(node).args.clone();
        let other = graph.inserting_after(node)?.call(to, args)?;
        graph.try_replace_all_uses_with(node, other)?;
        graph.erase_node(node)?;
    }
    let x = randn(&[4]);
    if call(&net, &[&x])? != x.neg().sigmoid() {
        return Err("they have not changed places".into());
    }
    Ok(net.to_string())
}
