//! The inverse of a chain of operations, each by its own inverse, from the end to the beginning.

use fx_runtime::graph::{Arg, Graph, Op, OpId, Origin, Type};
use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Kind, Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Chain;

#[traceable]
impl Chain {
    fn forward(&self, x: &Tensor) -> Tensor {
        ((x.tanh() * 3.0 + 7.0) / 2.0).exp()
    }
}

/// Each op, and the op that undoes it with the same further arguments.
const INVERSES: [(&str, &str); 8] = [
    ("exp", "log"),
    ("log", "exp"),
    ("tanh", "atanh"),
    ("atanh", "tanh"),
    ("add.Scalar", "sub.Scalar"),
    ("sub.Scalar", "add.Scalar"),
    ("mul.Scalar", "div.Scalar"),
    ("div.Scalar", "mul.Scalar"),
];

/// The graph that undoes one of a single input in which each node reads the one before.
fn inverse(graph: &Graph) -> Result<Graph, String> {
    let mut undone = Graph::new(format!("inverse of {}", graph.name));
    let body = undone.body();
    let mut value = undone.add_param(body, "y", Type::TENSOR, Origin::default());
    for id in graph.nodes().into_iter().rev() {
        let node = graph.node(id);
        let Op::Call(op) = node.op else { continue };
        let inverse = INVERSES.iter().find(|(name, _)| *name == op.name()).map(|(_, inverse)| *inverse);
        let inverse = inverse.ok_or_else(|| format!("`{}` (`{}`) has no inverse in the list", node.name, op.name()))?;
        let call = OpId::lookup(inverse).map(Op::Call).ok_or_else(|| format!("there is no op `{inverse}`"))?;
        let args = std::iter::once(Arg::Node(value)).chain(node.args[1..].iter().cloned()).collect();
        let name = inverse.split('.').next().unwrap_or(inverse);
        value = undone.push(body, call, args, name, Type::TENSOR, Origin::default());
    }
    undone.push(body, Op::Yield, vec![Arg::Node(value)], "output", Type::Unknown, Origin::default());
    Ok(undone)
}

/// The chain, its inverse, and that one undoes the other.
pub(crate) fn run() -> Report {
    let net = Chain.graph_module()?;
    let undone = GraphModule::new(inverse(net.graph())?);
    let x = randn(&[5]).to_kind(Kind::Double);
    let again = call(&undone, &[&call(&net, &[&x])?])?;
    if !again.allclose(&x, 1e-9, 1e-9, false) {
        return Err("the inverse does not lead back".into());
    }
    Ok(format!("{undone}"))
}
