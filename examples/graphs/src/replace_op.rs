//! Additions become products: by a loop over nodes, by a declared pass, by a pattern and its replacement.

use fx_runtime::graph_module::GraphModule;
use fx_runtime::passes::fx_pass;
use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Graph, Module, Tensor, traceable};

use crate::{Report, call, randn};

/// Three spellings of an addition.
#[derive(Debug, Module)]
struct Sums;

#[traceable]
impl Sums {
    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let a = x + y;
        let b = a.g_add(y);
        b.f_add(x).unwrap()
    }
}

/// By a loop over nodes.
fn by_loop(mut net: GraphModule) -> Result<GraphModule, Box<dyn std::error::Error>> {
    let graph = net.graph_mut();
    for add in graph.find_nodes("call_function", Some("operator.add")) {
        let args = graph.node(add).args.clone();
        let mul = graph.inserting_after(add)?.call("mul", args)?;
        graph.try_replace_all_uses_with(add, mul)?;
        graph.erase_node(add)?;
    }
    Ok(net)
}

fx_pass! {
    /// a + b as a * b.
    AddToMul { |a: Tensor, b: Tensor| a + b => a * b }
}

/// By a pattern and its replacement, as graphs.
fn by_pattern(mut net: GraphModule) -> Result<GraphModule, Box<dyn std::error::Error>> {
    let pattern: Graph = "graph p(a: tensor, b: tensor) { %s = add(a, b) ; yield %s }".parse()?;
    let replacement: Graph = "graph r(a: tensor, b: tensor) { %s = mul(a, b) : tensor ; yield %s }".parse()?;
    net.replace_pattern(&pattern, &replacement)?;
    Ok(net)
}

/// All three, and what they compute.
pub(crate) fn run() -> Report {
    let net = Sums.graph_module()?;
    let (x, y) = (randn(&[3]), randn(&[3]));
    let wanted = &x * &y * &y * &x;
    let pass = net.transform(&Pipeline::empty().then(AddToMul))?;
    for product in [by_loop(net.shallow_clone())?, pass, by_pattern(net.shallow_clone())?] {
        product.lint()?;
        if call(&product, &[&x, &y])? != wanted {
            return Err(format!("another product:\n{product}").into());
        }
    }
    Ok(format!("{net}\nbecomes\n{}", by_loop(net.shallow_clone())?))
}
