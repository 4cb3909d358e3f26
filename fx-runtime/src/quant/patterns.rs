//! What int8 kernels compute as one: nodes that take part in quantization, with what follows them fused in.
//!
//! As FX does, batch norms are folded into the layers before them first, and then each op takes in what its kernel can: an
//! addition, then an activation. Only a value that nothing else reads is taken in. Source: the fused patterns of
//! `torch.ao.quantization.backend_config` (`_common_operator_config_utils.py`, `onednn.py`) in torch 2.11.

use std::collections::BTreeMap;

use fx_ir::ops::Quantization;
use fx_ir::{Arg, Graph, LayerRow, NodeId, NodeSet, Op, OpId, Type, ops};

use super::{QEngine, weighted};
use crate::graph_module::{GraphModule, Submodule};
use crate::{Error, Result};

/// Nodes that are computed as one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    /// The node that the pattern is named and configured by.
    pub(super) root: NodeId,
    /// The node whose value is the pattern's.
    pub(super) last: NodeId,
    /// The tensors that are quantized before it.
    pub(super) inputs: Vec<NodeId>,
    /// How it takes part in quantization.
    pub(super) quantization: Quantization,
}

/// The op that a node computes: its own, or that of its layer.
pub(super) fn op_of(graph: &Graph, id: NodeId) -> Option<OpId> {
    match &graph.node(id).op {
        Op::Call(op) => Some(*op),
        Op::CallModule(kind) => {
            let row = LayerRow::of_type(&kind.0)?;
            match row.op? {
                // Layers of all numbers of axes become one op; the function that makes a layer bears its op's name.
                ops::CONVOLUTION => OpId::lookup(row.constructors.first()?.name),
                op => Some(op),
            }
        }
        _ => None,
    }
}

/// The path of the module that a node calls.
pub(super) fn module_path(graph: &Graph, id: NodeId) -> Option<&str> {
    match (&graph.node(id).op, graph.node(id).args.first()) {
        (Op::CallModule(_), Some(Arg::Str(path))) => Some(path),
        _ => None,
    }
}

/// The module with batch norms folded; it itself stays as it is.
///
/// # Errors
///
/// [`Error::Quantization`] if a part of it is in training mode.
pub(super) fn folded(module: &GraphModule) -> Result<GraphModule> {
    check_inference(module)?;
    let mut module = module.shallow_clone();
    fold_batch_norms(&mut module)?;
    Ok(module)
}

/// Checks that no module is in training mode.
///
/// # Errors
///
/// [`Error::Quantization`] with the first that is.
pub(super) fn check_inference(module: &GraphModule) -> Result<()> {
    let is_training = |module: &dyn Submodule| module.module().is_some_and(|module| module.training() == Some(true));
    match module.named_submodules().find(|(_, module)| is_training(*module)) {
        Some((path, _)) => {
            let reason = "it is in training mode; call `eval()` first".to_owned();
            Err(Error::Quantization { site: path.to_owned(), reason })
        }
        None => Ok(()),
    }
}

/// Folds batch norms into the convolutions and linear layers before them, where nothing else reads those and their module
/// is called once; yields the paths of each layer and its norm.
pub(super) fn fold_batch_norms(module: &mut GraphModule) -> Result<Vec<(String, String)>> {
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    let graph = module.graph();
    for path in graph.nodes().into_iter().filter_map(|id| module_path(graph, id)) {
        *calls.entry(path.to_owned()).or_default() += 1;
    }
    let body = graph.region(graph.body()).nodes.clone();
    let mut pairs = Vec::new();
    for id in body {
        let graph = module.graph();
        let Some(norm_path) = module_path(graph, id) else { continue };
        let Some(layer) = graph.node(id).input(1).filter(|&layer| is_read_once(graph, layer)) else { continue };
        let Some(path) = module_path(graph, layer).filter(|&path| calls.get(path) == Some(&1)) else { continue };
        let (Some(at), Some(norm)) = (module.submodule(path), module.submodule(norm_path)) else { continue };
        let Some(folded) = weighted::folded(at, norm) else { continue };
        let (path, norm_path) = (path.to_owned(), norm_path.to_owned());
        module.put_submodule(path.clone(), folded?);
        pairs.push((path, norm_path));
        module.graph_mut().replace_all_uses_with(id, &Arg::Node(layer));
        // Nobody reads it any more.
        let _ = module.graph_mut().erase_node(id);
    }
    Ok(pairs)
}

/// The patterns of the body, in the order in which their values are computed.
pub(super) fn patterns(module: &GraphModule, engine: QEngine) -> Vec<Pattern> {
    let graph = module.graph();
    let nodes = &graph.region(graph.body()).nodes;
    let mut taken = NodeSet::default();
    let mut found = Vec::new();
    // From the output backwards, so that an addition takes a convolution in before that takes anything else in.
    for &id in nodes.iter().rev() {
        if taken.contains(id) {
            continue;
        }
        let Some(pattern) = ending_at(module, engine, id, &taken) else { continue };
        for part in [pattern.root, pattern.last].into_iter().chain(between(graph, &pattern)) {
            taken.insert(part);
        }
        found.push(pattern);
    }
    found.reverse();
    found
}

/// The longest pattern whose value is that node's.
fn ending_at(module: &GraphModule, engine: QEngine, last: NodeId, taken: &NodeSet) -> Option<Pattern> {
    let graph = module.graph();
    let free = |id: NodeId| is_read_once(graph, id) && !taken.contains(id);
    let last_op = op_of(graph, last)?;
    let before = tensors(graph, last).first().copied();
    // An addition may be computed on floats where no convolution takes it in.
    let is_added = |op| engine.adds_to_convolutions() && matches!(op, ops::ADD | ops::ADD_IN_PLACE);
    let takes_part = |first, op| class(module, engine, first).is_some() || is_added(op);
    let takes_in = |first| op_of(graph, first).is_some_and(|op| engine.fuses(op, last_op) && takes_part(first, op));
    let fused = before.filter(|&first| free(first) && takes_in(first));
    let after_activation = fused.unwrap_or(last);
    if engine.adds_to_convolutions()
        && matches!(op_of(graph, after_activation), Some(ops::ADD | ops::ADD_IN_PLACE))
        && let [left, right] = tensors(graph, after_activation)[..]
    {
        let is_convolution = |id: NodeId| op_of(graph, id) == Some(ops::CONV2D) && class(module, engine, id).is_some();
        for (root, other) in [(left, right), (right, left)] {
            if left != right && free(root) && is_convolution(root) {
                let inputs = inputs(graph, root, Quantization::Weighted).into_iter().chain([other]).collect();
                return Some(Pattern { root, last, inputs, quantization: Quantization::Weighted });
            }
        }
    }
    // An activation that its input takes in is no pattern by itself, and neither is a convolution whose bias is added.
    let root = fused.unwrap_or(last);
    let quantization = class(module, engine, root)?;
    Some(Pattern { root, last, inputs: inputs(graph, root, quantization), quantization })
}

/// All nodes of a pattern, in the order in which they are computed.
pub(super) fn members(graph: &Graph, pattern: &Pattern) -> Vec<NodeId> {
    let mut members = vec![pattern.root];
    members.extend(between(graph, pattern).into_iter().rev());
    members
}

/// The nodes of a pattern behind its root, the last first.
fn between(graph: &Graph, pattern: &Pattern) -> Vec<NodeId> {
    let mut inside = Vec::new();
    let mut at = pattern.last;
    while at != pattern.root {
        inside.push(at);
        let operands = tensors(graph, at);
        let leads = |id: &&NodeId| **id == pattern.root || !pattern.inputs.contains(id);
        let Some(next) = operands.iter().find(|&&id| id == pattern.root).or_else(|| operands.iter().find(leads)) else {
            break;
        };
        at = *next;
    }
    inside
}

/// How a node takes part in quantization; none if it is computed on floats.
fn class(module: &GraphModule, engine: QEngine, id: NodeId) -> Option<Quantization> {
    let graph = module.graph();
    let op = op_of(graph, id).filter(|&op| engine.takes(op))?;
    let quantization = op.row()?.quantization;
    let holds = match quantization {
        Quantization::Floats => false,
        Quantization::Weighted => match module_path(graph, id) {
            Some(path) => module.submodule(path).and_then(weighted::weight).is_some(),
            None => weight_path(graph, id).is_some(),
        },
        _ => true,
    };
    (holds && !tensors(graph, id).is_empty() && is_tensor(graph, id)).then_some(quantization)
}

/// The path of the weight of a layer, or of the tensor that an op reads as its weight.
pub(super) fn weight_site(graph: &Graph, id: NodeId) -> Option<String> {
    let of_module = module_path(graph, id).map(|path| format!("{path}.weight"));
    of_module.or_else(|| weight_path(graph, id).map(str::to_owned))
}

/// The path of the tensor that an op reads as its weight.
fn weight_path(graph: &Graph, id: NodeId) -> Option<&str> {
    match &graph.node(graph.node(id).input(1)?).op {
        Op::GetAttr(path) if matches!(graph.node(id).op, Op::Call(_)) => Some(path),
        _ => None,
    }
}

/// The tensors that are quantized before a node.
fn inputs(graph: &Graph, id: NodeId, quantization: Quantization) -> Vec<NodeId> {
    let mut inputs = tensors(graph, id);
    let takes_all = match op_of(graph, id) {
        Some(ops::ADD | ops::ADD_IN_PLACE | ops::MUL | ops::MUL_IN_PLACE | ops::MATMUL) => true,
        _ => quantization == Quantization::Shares,
    };
    if !takes_all {
        inputs.truncate(1);
    }
    inputs
}

/// The tensors that a node reads, each once, those of a list too.
fn tensors(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let mut found: Vec<NodeId> = Vec::new();
    for input in graph.node(id).inputs().filter(|&input| is_tensor(graph, input)) {
        if !found.contains(&input) {
            found.push(input);
        }
    }
    found
}

fn is_tensor(graph: &Graph, id: NodeId) -> bool {
    matches!(graph.node(id).ty, Type::Tensor(_))
}

/// Returns whether exactly one argument of one node reads the value.
fn is_read_once(graph: &Graph, id: NodeId) -> bool {
    let users = graph.users(id);
    users.len() == 1 && graph.node(users[0]).inputs().filter(|&input| input == id).count() == 1
}
