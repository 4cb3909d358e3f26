//! Ops of a library of one's own, made of primitives: a graph calls them by their paths, and later they are inlined.

use fx_runtime::graph::{Arg, Graph};
use fx_runtime::graph_module::{FromValue, GraphModule, value};
use fx_runtime::{Error, Tensor};

use crate::{Report, call, randn};

/// `sin(x) + cos(y)`, a primitive that is no op of libtorch's.
fn sinusoid(x: &Tensor, y: &Tensor) -> Tensor {
    x.sin() + y.cos()
}

/// A graph that calls the primitive, and what it computes.
pub(crate) fn run() -> Report {
    let mut graph: Graph = "graph net(x: tensor, y: tensor) { %p = mul(x, y) : tensor ; yield %p }".parse()?;
    let product = graph.find_nodes("call_function", None)[0];
    let output = graph.find_nodes("output", None)[0];
    let params = graph.find_nodes("placeholder", None);
    let waves = graph
        .inserting_before(output)?
        .call_function("library::sinusoid", [Arg::Node(product), Arg::Node(params[1])])?;
    graph.update_arg(output, 0, waves)?;
    let mut net = GraphModule::new(graph);
    net.add_function("library::sinusoid", |args| {
        let [x, y] = args else { return Err(Error::Refused("`sinusoid` takes two tensors".to_owned())) };
        let pair = <&Tensor>::from_value(x).zip(<&Tensor>::from_value(y));
        let (x, y) = pair.ok_or_else(|| Error::Refused("`sinusoid` takes two tensors".to_owned()))?;
        Ok(value(sinusoid(x, y)))
    });
    let (x, y) = (randn(&[3]), randn(&[3]));
    if call(&net, &[&x, &y])? != sinusoid(&(&x * &y), &y) {
        return Err("the primitive computes something else".into());
    }
    Ok(net.to_string())
}
