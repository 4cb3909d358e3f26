//! Whether control flow yields a value or a reference, whichever way it takes.

use super::fault::{Fault, Rule, fault};
use super::host::is_fresh;
use crate::host::Yields;
use crate::{Arg, Graph, NodeId, NodeMap, Op, RegionId, Type};

/// What a node's value is to its readers, where that is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Owned,
    Reference,
    /// It may be either, and the printer sees to it.
    Unknown,
}

/// Checks every control-flow node of the graph.
pub(super) fn check_ownership(graph: &Graph, faults: &mut Vec<Fault>) {
    let mut check = Check { graph, held: NodeMap::default(), faults };
    check.region(graph.body());
}

struct Check<'a> {
    graph: &'a Graph,
    /// Of the nodes so far; one with several results is unknown.
    held: NodeMap<Held>,
    faults: &'a mut Vec<Fault>,
}

impl Check<'_> {
    /// What lies within a node is known before the node.
    fn region(&mut self, region: RegionId) {
        let graph = self.graph;
        for &id in &graph.region(region).nodes {
            for &inner in &graph.node(id).regions {
                self.region(inner);
            }
            let held = self.held_by(id);
            self.held.insert(id, held);
        }
    }

    fn held_by(&mut self, id: NodeId) -> Held {
        let node = self.graph.node(id);
        match &node.op {
            Op::Host(host) => match host.op.yields() {
                Yields::Reference => Held::Reference,
                Yields::Value if is_fresh(&host.op) => Held::Owned,
                _ => Held::Unknown,
            },
            Op::If | Op::Match(_) => self.joined(id),
            _ => Held::Unknown,
        }
    }

    /// The branches of a node yield all values or all references.
    fn joined(&mut self, id: NodeId) -> Held {
        let graph = self.graph;
        let ends = graph.node(id).regions.iter().filter_map(|&region| graph.yield_of(region));
        let yields: Vec<&[Arg]> = ends.map(|end| graph.node(end).args.as_slice()).collect();
        let most = yields.iter().map(|args| args.len()).max().unwrap_or(0);
        let mut first = Held::Unknown;
        for at in 0..most {
            let given: Vec<NodeId> = yields.iter().filter_map(|args| args.get(at)?.node()).collect();
            let is = |held: Held| given.iter().find(|&&id| self.held.get(id) == Some(&held));
            let whole = given.len() == yields.len();
            let found = (is(Held::Owned), is(Held::Reference));
            if let (Some(&owned), Some(&reference)) = found {
                // A tensor is handed on as a second handle, a layer as a reference, whatever it is.
                if matches!(graph.node(owned).ty, Type::List(_) | Type::Option(_) | Type::Tuple(_)) {
                    let (owned, reference) = (&graph.node(owned).name, &graph.node(reference).name);
                    let message = format!(
                        "yields the value `{owned}` from one region and the reference `{reference}` from another"
                    );
                    self.faults.push(fault(graph, id, Rule::Ownership, message));
                }
            }
            let all = |held: Held| whole && given.iter().all(|&id| self.held.get(id) == Some(&held));
            if at == 0 && most == 1 {
                first = [Held::Owned, Held::Reference].into_iter().find(|&held| all(held)).unwrap_or(first);
            }
        }
        first
    }
}
