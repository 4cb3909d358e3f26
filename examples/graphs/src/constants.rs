//! What weights alone decide is computed once, and what literals decide stands no more: torch.fx's `const_fold`.

use fx_runtime::graph::Graph;
use fx_runtime::passes::parts::{fold_constants, split_constants};
use fx_runtime::passes::pass::PassContext;
use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Device, Module, Tensor, nn, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net {
    weight: Tensor,
    gain: Tensor,
}

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&(&self.weight * self.gain.exp()).tr())
    }
}

/// The graph without what is computed from weights.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = Net { weight: vs.root().randn_standard("weight", &[3, 4]), gain: vs.root().ones("gain", &[4]) };
    let graph = net.graph_module()?;
    // As two graphs, without a value.
    let parts = split_constants(graph.graph(), &PassContext::new(false))?;
    // With the values of now.
    let folded = graph.transform(&Pipeline::empty())?;
    let x = randn(&[2, 4]);
    let is_same = call(&folded, &[&x])?.allclose(&net.forward(&x), 1e-6, 1e-6, false);
    let (reads, calls) = (folded.graph().find_nodes("get_attr", None).len(), folded.graph().nodes().len());
    if parts.parts.len() != 1 || reads != 1 || calls != 4 || !is_same {
        return Err(format!("not folded:\n{folded}").into());
    }
    let mut decided: Graph = "graph f(x: tensor) {
        %y = if(true) : tensor { %a = relu(x) : tensor ; yield %a } else { %b = neg(x) : tensor ; yield %b }
        yield %y
    }"
    .parse()?;
    fold_constants(&mut decided);
    if decided.to_line() != "graph f(x: tensor) { %a = relu(x) : tensor ; yield %a }" {
        return Err(format!("not decided:\n{decided}").into());
    }
    Ok(format!("{}\n\n{folded}", parts.parts[0].graph))
}
