//! What a model yields goes through an activation that is chosen at run time.

use fx_runtime::graph::Arg;
use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Sum;

#[traceable]
impl Sum {
    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        x * 2.0 + y
    }
}

/// The module with an op behind its output.
fn wrapped(net: &GraphModule, op: &str) -> Result<GraphModule, Box<dyn std::error::Error>> {
    let mut net = net.shallow_clone();
    let graph = net.graph_mut();
    for output in graph.find_nodes("output", None) {
        let results: Vec<Arg> = graph.node(output).args.clone();
        for (position, result) in results.into_iter().enumerate() {
            let call = graph.inserting_before(output)?.call(op, [result])?;
            graph.update_arg(output, position, call)?;
        }
    }
    Ok(net)
}

/// The model behind a relu and behind a GELU.
pub(crate) fn run() -> Report {
    let net = Sum.graph_module()?;
    let (x, y) = (randn(&[4]), randn(&[4]));
    let relu = wrapped(&net, "relu")?;
    if call(&relu, &[&x, &y])? != Sum.forward(&x, &y).relu() {
        return Err("the output is not wrapped".into());
    }
    Ok(relu.to_string())
}
