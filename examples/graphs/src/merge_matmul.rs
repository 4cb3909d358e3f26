//! Products with one left side become one product: torch.fx's `merge_matmul`, here of queries, keys and values.

use fx_runtime::passes::passes::{LowerModules, MergeLinears};
use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Device, Module, Tensor, nn, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Attention {
    query: nn::Linear,
    key: nn::Linear,
    value: nn::Linear,
}

#[traceable]
impl Attention {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (q, k, v) = (self.query.forward(x), self.key.forward(x), self.value.forward(x));
        q.matmul(&k.transpose(-2, -1)).softmax(-1, q.kind()).matmul(&v)
    }
}

/// The graph with one linear layer in the place of three.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let linear = |name: &str| nn::linear(vs.root() / name, 8, 8, nn::LinearConfig::default());
    let net = Attention { query: linear("query"), key: linear("key"), value: linear("value") };
    let merged = net.graph_module()?.transform(&Pipeline::empty().then(LowerModules).then(MergeLinears))?;
    let x = randn(&[2, 5, 8]);
    let largest = (call(&merged, &[&x])? - net.forward(&x)).abs().max().double_value(&[]);
    let linears = merged.graph().find_nodes("call_function", Some("torch.linear")).len();
    if linears != 1 || largest > 1e-5 {
        return Err(format!("{linears} linear layers, a difference of {largest:e}:\n{merged}").into());
    }
    Ok(merged.to_string())
}
