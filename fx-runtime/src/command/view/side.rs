//! One of the two graphs, node by node.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{Graph, ModuleScope, NodeId, Op, Type};
use serde_json::{Map, Value as Json, json};

use crate::graph_module::{GraphModule, Profile};

/// The nodes of a graph with what is known of each.
pub(super) struct Side {
    /// The mean time of a run, in milliseconds.
    ms: Option<f64>,
    nodes: Vec<Shown>,
}

/// A node.
struct Shown {
    id: NodeId,
    /// Whether it calls a layer, or a function of the runtime's, which may stand for several nodes.
    is_kernel: bool,
    flops: u64,
    json: Map<String, Json>,
}

/// The modules that nodes stand in, each once.
#[derive(Default)]
pub(super) struct Modules(Vec<ModuleScope>);

impl Modules {
    fn number(&mut self, module: &ModuleScope) -> usize {
        self.0.iter().position(|known| known == module).unwrap_or_else(|| {
            self.0.push(module.clone());
            self.0.len() - 1
        })
    }

    pub(super) fn json(&self) -> Json {
        self.0.iter().map(|module| json!([module.path, module.ty])).collect()
    }
}

impl Side {
    /// The nodes of a module's graph, with costs by the shapes that are known.
    pub(super) fn of(module: &GraphModule, profile: Option<&Profile>, modules: &mut Modules) -> Side {
        let graph = module.graph();
        let numbers: BTreeMap<NodeId, usize> = graph.nodes().into_iter().zip(0..).collect();
        let costs: BTreeMap<NodeId, (u64, u64)> =
            module.costs().nodes.into_iter().map(|cost| (cost.id, (cost.flops, cost.bytes))).collect();
        let times: BTreeMap<&str, f64> = profile
            .iter()
            .flat_map(|profile| &profile.nodes)
            .map(|timing| (timing.name.as_str(), milliseconds(timing.mean())))
            .collect();
        let shown = |id: NodeId| {
            let node = graph.node(id);
            let mut json = described(graph, id, &numbers);
            if let Some(home) = home(node.nn_module_stack()) {
                json.insert("module".to_owned(), json!(modules.number(home)));
            }
            let (flops, bytes) = costs.get(&id).copied().unwrap_or_default();
            for (key, figure) in [("flops", flops), ("bytes", bytes)].into_iter().filter(|&(_, figure)| figure > 0) {
                json.insert(key.to_owned(), json!(figure));
            }
            if let Some(time) = times.get(node.name.as_str()) {
                json.insert("ms".to_owned(), json!(time));
            }
            let is_call = matches!(node.op, Op::CallModule(_) | Op::Host(_));
            Shown { id, is_kernel: is_call && node.ty.is_tensor(), flops, json }
        };
        let nodes = graph.nodes().into_iter().map(shown).collect();
        let runs = profile.map(|profile| &profile.runs);
        let mean = |runs: &Vec<std::time::Duration>| {
            let count = u32::try_from(runs.len()).unwrap_or(u32::MAX).max(1);
            milliseconds(runs.iter().sum::<std::time::Duration>().as_secs_f64() / f64::from(count))
        };
        Side { ms: runs.map(mean), nodes }
    }

    /// Says of each node which nodes of the graph before it came from. A kernel that holds its weights in a form of its own has
    /// the operations of these; of several nodes that stand for the same ones it is the last, which yields their value.
    pub(super) fn trace_back(&mut self, before: &Side, sources: impl Fn(NodeId) -> BTreeSet<usize>) {
        let sources: Vec<BTreeSet<usize>> = self.nodes.iter().map(|node| sources(node.id)).collect();
        let known = self.nodes.iter().zip(&sources).filter(|(node, _)| node.flops > 0);
        let mut counted: BTreeSet<usize> = known.flat_map(|(_, from)| from).copied().collect();
        for (node, from) in self.nodes.iter_mut().zip(&sources).rev() {
            if node.is_kernel && node.flops == 0 {
                let rest = from.iter().filter(|&&at| counted.insert(at)).filter_map(|&at| before.nodes.get(at));
                node.flops = rest.map(|source| source.flops).sum();
                if node.flops > 0 {
                    node.json.insert("flops".to_owned(), json!(node.flops));
                }
            }
            if !from.is_empty() {
                node.json.insert("from".to_owned(), json!(from));
            }
        }
    }

    pub(super) fn json(&self) -> Json {
        let nodes: Vec<&Map<String, Json>> = self.nodes.iter().map(|node| &node.json).collect();
        json!({ "ms": self.ms, "nodes": nodes })
    }
}

/// What a node says of itself.
fn described(graph: &Graph, id: NodeId, numbers: &BTreeMap<NodeId, usize>) -> Map<String, Json> {
    let node = graph.node(id);
    let (args, kwargs) = graph.operands(id);
    let mut out = Map::new();
    let mut put = |key: &str, value: Json| out.insert(key.to_owned(), value);
    put("name", json!(node.name));
    put("opcode", json!(node.op.opcode()));
    put("target", json!(graph.target(id)));
    put("args", json!(args));
    let inputs: BTreeSet<usize> = node.inputs().filter_map(|input| numbers.get(&input).copied()).collect();
    put("in", json!(inputs));
    if !node.kwargs.is_empty() {
        put("kwargs", json!(kwargs));
    }
    if node.ty != Type::Unknown {
        put("type", json!(node.ty.to_string()));
    }
    if let Some(lines) = node.origin.lines() {
        put("at", json!(lines));
    }
    if !node.origin.passes.is_empty() {
        put("passes", json!(node.origin.passes));
    }
    if let Some((owner, branch)) = graph.branch_of(id) {
        put("owner", json!(numbers.get(&owner)));
        put("branch", json!(branch));
    }
    match &node.op {
        Op::CallModule(kind) => _ = put("layer", json!(kind.0)),
        Op::Rust(code) => _ = put("opaque", json!(code.opaque.as_deref().unwrap_or_default())),
        _ => {}
    }
    out
}

/// The innermost module that all of a node stands in; a kernel across the border of two blocks stands in what holds both.
fn home(stack: &[ModuleScope]) -> Option<&ModuleScope> {
    let is_below = |inner: &ModuleScope, outer: &ModuleScope| {
        let rest = inner.path.strip_prefix(outer.path.as_str());
        outer.path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let meets = |one: &&ModuleScope| stack.iter().all(|other| is_below(other, one) || is_below(one, other));
    stack.iter().filter(meets).max_by_key(|module| module.path.len())
}

/// Seconds as milliseconds, to a tenth of a microsecond.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e7).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_stands_in_what_holds_all_of_it() {
        let stack = |paths: &[&str]| -> Vec<ModuleScope> {
            paths.iter().map(|path| ModuleScope { path: (*path).to_owned(), ty: "T".to_owned() }).collect()
        };
        let of = |paths: &[&str]| home(&stack(paths)).map(|module| module.path.clone());
        assert_eq!(of(&["", "layer1", "layer1.0"]).as_deref(), Some("layer1.0"));
        assert_eq!(of(&["", "layer1", "layer1.0", "layer1.1"]).as_deref(), Some("layer1"));
        assert_eq!(of(&["", "layer1.0", "layer10"]).as_deref(), Some(""));
        assert_eq!(of(&[]), None);
    }
}
