//! How a graph is run: its operators bound, and which values are done with after each node.

use std::rc::Rc;

use fx_ir::{Arg, HostOp, NodeId, NodeMap, NodeSet, Op, RegionId};

use super::dispatch::Dispatch;
use super::{GraphModule, Submodule};
use crate::{Error, Result};

/// What a run needs beside the graph.
pub(super) struct Plan {
    /// The operators of `call_function` and `call_method` nodes.
    dispatches: NodeMap<Result<Dispatch, String>>,
    /// The modules of `call_module` nodes.
    modules: NodeMap<Rc<dyn Submodule>>,
    /// The nodes whose values no node behind this one reads.
    done: NodeMap<Vec<NodeId>>,
}

impl Plan {
    pub(super) fn of(module: &GraphModule) -> Plan {
        let graph = module.graph();
        let (mut dispatches, mut modules) = (NodeMap::default(), NodeMap::default());
        for id in graph.nodes() {
            let node = graph.node(id);
            match (&node.op, node.args.first()) {
                (Op::Call(op), _) => {
                    dispatches.insert(id, Dispatch::of(*op).map_err(|error| error.to_string()));
                }
                (Op::CallModule(_), Some(Arg::Str(path))) => {
                    if let Some(called) = module.shared_submodule(path) {
                        modules.insert(id, called);
                    }
                }
                _ => {}
            }
        }
        let mut plan = Plan { dispatches, modules, done: NodeMap::default() };
        plan.last_uses(module, graph.body());
        plan
    }

    /// Notes the last reader of each value of a region; what regions inside read, the node that owns them reads.
    fn last_uses(&mut self, module: &GraphModule, region: RegionId) {
        let graph = module.graph();
        let referred = referred(module);
        let own = graph.region(region);
        let mut seen = NodeSet::default();
        for &id in own.nodes.iter().rev() {
            let mut reads: Vec<NodeId> = graph.node(id).inputs().collect();
            let mut inner = graph.node(id).regions.clone();
            while let Some(region) = inner.pop() {
                for &node in &graph.region(region).nodes {
                    reads.extend(graph.node(node).inputs());
                    inner.extend(&graph.node(node).regions);
                }
            }
            // What nobody reads is done with at once.
            for value in reads.into_iter().chain([id]) {
                let is_own = own.params.contains(&value) || graph.region_of(value) == Some(region);
                if is_own && !referred.contains(value) && seen.insert(value) {
                    self.done.get_or_default(id).push(value);
                }
            }
        }
        for &id in &own.nodes {
            for &inner in &graph.node(id).regions {
                self.last_uses(module, inner);
            }
        }
    }

    /// The operator of a node.
    pub(super) fn dispatch(&self, id: NodeId) -> Result<&Dispatch> {
        match self.dispatches.get(id) {
            Some(Ok(dispatch)) => Ok(dispatch),
            Some(Err(reason)) => Err(Error::Refused(reason.clone())),
            None => Err(Error::Refused("is no call of an operator".to_owned())),
        }
    }

    /// The module that a node calls by a path that is written down.
    pub(super) fn module(&self, id: NodeId) -> Option<&Rc<dyn Submodule>> {
        self.modules.get(id)
    }

    /// The values that are done with after a node.
    pub(super) fn done_after(&self, id: NodeId) -> &[NodeId] {
        self.done.get(id).map_or(&[], Vec::as_slice)
    }
}

/// The nodes whose variables a mutable reference may refer to.
fn referred(module: &GraphModule) -> NodeSet {
    let refers = |op: &HostOp| {
        matches!(
            op,
            HostOp::RefMut
                | HostOp::MutSlice
                | HostOp::EndMut(_)
                | HostOp::UnwrapMut(_)
                | HostOp::UnwrapBorrow
                | HostOp::Interior
                | HostOp::Lock
        )
    };
    let graph = module.graph();
    let nodes = graph.nodes().into_iter().filter(|&id| graph.node(id).does_on_host(&refers));
    nodes.flat_map(|id| graph.node(id).inputs()).collect()
}
