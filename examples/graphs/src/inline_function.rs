//! A call of a function that was not looked into is replaced by the nodes of the function.

use std::collections::BTreeMap;

use fx_runtime::graph::{Arg, Op, Spot};
use fx_runtime::{Module, Tensor, fx, traceable};

use crate::{Report, call, randn};

/// A step that stays one node where it is called.
#[fx(leaf)]
fn step(x: &Tensor) -> Tensor {
    x.relu() + 1.0
}

#[derive(Debug, Module)]
struct Outer;

#[traceable]
impl Outer {
    fn forward(&self, x: &Tensor) -> Tensor {
        step(&x.neg()).sigmoid()
    }
}

/// The same step as a model, whose graph is put in its place.
#[derive(Debug, Module)]
struct Step;

#[traceable]
impl Step {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.relu() + 1.0
    }
}

/// The call, inlined.
pub(crate) fn run() -> Report {
    let mut net = Outer.graph_module()?;
    let inner = Step.graph_module()?.into_graph();
    let graph = net.graph_mut();
    let calls = graph.nodes().into_iter().filter(|&id| matches!(graph.node(id).op, Op::Host(_)));
    let [called] = calls.collect::<Vec<_>>()[..] else { return Err("one call of a function was expected".into()) };
    let input = graph.node(called).args[0].nodes().next().map(Arg::Node).ok_or("the call reads nothing")?;
    let param = inner.region(inner.body()).params[0];
    let outputs = graph.graph_copy(&inner, &mut BTreeMap::from([(param, input)]), Spot::Before(called));
    graph.try_replace_all_uses_with(called, outputs[0].clone())?;
    graph.erase_node(called)?;
    net.lint()?;
    let x = randn(&[4]);
    if call(&net, &[&x])? != Outer.forward(&x) {
        return Err("inlining changed the result".into());
    }
    Ok(net.to_string())
}
