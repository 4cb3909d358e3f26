//! Passes that have to run in an order: torch.fx's `PassManager` with its constraints, which are the passes' own here.

use fx_runtime::graph::{Arg, Graph};
use fx_runtime::passes::pass::{Changed, Pass, PassContext};
use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net;

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        x + y
    }
}

/// Exchanges calls of an op; returns how many there were.
fn exchange(graph: &mut Graph, from: &str, to: &str) -> Changed {
    let found = graph.find_nodes("call_function", Some(from));
    let mut count = 0;
    for id in found {
        let args: Vec<Arg> = graph.node(id).args.clone();
        let made = graph.inserting_after(id).and_then(|mut at| at.call(to, args));
        count += usize::from(made.and_then(|made| graph.try_replace_all_uses_with(id, made)).is_ok());
        let _ = graph.erase_node(id);
    }
    Changed::from(count > 0)
}

/// Additions become products.
struct AddToMul;

impl Pass for AddToMul {
    fn name(&self) -> &'static str {
        "add-to-mul"
    }

    fn doc(&self) -> &'static str {
        "makes products of additions"
    }

    fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
        exchange(graph, "operator.add", "mul")
    }
}

/// Products become quotients, once the additions are products.
struct MulToDiv;

impl Pass for MulToDiv {
    fn name(&self) -> &'static str {
        "mul-to-div"
    }

    fn doc(&self) -> &'static str {
        "makes quotients of products"
    }

    fn after(&self) -> &'static [&'static str] {
        &["add-to-mul"]
    }

    fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
        exchange(graph, "operator.mul", "div")
    }
}

/// The list in its order, and what is said of one in another.
pub(crate) fn run() -> Report {
    let net = Net.graph_module()?;
    // `with` puts a pass as early as it may run.
    let pipeline = Pipeline::empty().with(AddToMul).with(MulToDiv);
    let quotient = net.transform(&pipeline)?;
    let (x, y) = (randn(&[3]), randn(&[3]));
    if call(&quotient, &[&x, &y])? != &x / &y {
        return Err(format!("no quotient:\n{quotient}").into());
    }
    let said = match net.transform(&Pipeline::empty().then(MulToDiv).then(AddToMul)) {
        Err(error) => error.to_string(),
        Ok(other) => return Err(format!("a list that contradicts itself ran:\n{other}").into()),
    };
    if !said.contains("mul-to-div") || !said.contains("add-to-mul") {
        return Err(format!("the error names no passes: {said}").into());
    }
    Ok(format!("{pipeline}\n{quotient}\n\nthe other way round: {said}"))
}
