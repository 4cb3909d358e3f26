//! Both modes in one listing: where a model in training does the same as in inference, but for the mode of its layers.
//!
//! The instance graph of such a model is listed by one function, which asks the runtime's tracer for the mode.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{Arg, Graph, HostOp, Node, NodeId, Op, RegionId};

/// Where the graph of a forward depends on its mode.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ModeUses {
    /// Arguments of ops that are the mode, each with its position.
    pub args: BTreeSet<(NodeId, usize)>,
    /// Calls of layers that run them in training in a graph of training, and in the mode that they keep in the other.
    pub layers: BTreeSet<NodeId>,
}

/// Where `graph` says the mode; `None` where that in training differs in anything else.
pub fn mode_uses(graph: &Graph, in_training: &Graph) -> Option<ModeUses> {
    let (ours, theirs) = (graph.nodes(), in_training.nodes());
    if ours.len() != theirs.len() || !same_shape((graph, graph.body()), (in_training, in_training.body())) {
        return None;
    }
    let renamed: BTreeMap<NodeId, NodeId> = theirs.iter().copied().zip(ours.iter().copied()).collect();
    let mut uses = ModeUses::default();
    for (&id, &other) in ours.iter().zip(&theirs) {
        let (node, other) = (graph.node(id), in_training.node(other));
        if node.op != other.op || node.args.len() != other.args.len() || node.name != other.name || node.ty != other.ty
        {
            return None;
        }
        let as_ours = |arg: &Arg| arg.map_nodes(&mut |id| renamed.get(&id).map_or(Arg::None, |&id| Arg::Node(id)));
        for (position, (arg, other)) in node.args.iter().zip(&other.args).enumerate() {
            match (arg, as_ours(other)) {
                (arg, other) if *arg == other => {}
                (Arg::Bool(false), Arg::Bool(true)) if matches!(node.op, Op::Call(_)) => {
                    uses.args.insert((id, position));
                }
                (Arg::Bool(false), Arg::Bool(true)) if is_part_call(node) => {}
                _ => return None,
            }
        }
        let without_mode = |node: &Node| {
            let mut node = node.clone();
            node.clear_mode();
            node.kwargs
        };
        if without_mode(node) != without_mode(other) {
            return None;
        }
        match (node.mode(), other.mode()) {
            (mode, other) if mode == other => {}
            (None, Some(true)) => {
                uses.layers.insert(id);
            }
            _ => return None,
        }
    }
    Some(uses)
}

/// A call of a part, which asks for the mode itself.
fn is_part_call(node: &Node) -> bool {
    matches!(node.op.host(), Some(HostOp::CallPart(_)))
}

/// Whether both regions hold as many parameters and nodes, and their nodes such regions.
fn same_shape((graph, region): (&Graph, RegionId), (other, of_other): (&Graph, RegionId)) -> bool {
    let (a, b) = (graph.region(region), other.region(of_other));
    let same_regions = |(&a, &b): (&NodeId, &NodeId)| {
        let (a, b) = (&graph.node(a).regions, &other.node(b).regions);
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| same_shape((graph, a), (other, b)))
    };
    a.params.len() == b.params.len() && a.nodes.len() == b.nodes.len() && a.nodes.iter().zip(&b.nodes).all(same_regions)
}
