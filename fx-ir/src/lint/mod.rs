//! The verifier: what must hold of every graph between two passes, all faults at once.

mod fault;
mod flow;
mod host;
mod node;
mod operands;
mod ownership;
mod structure;
#[cfg(test)]
mod tests;

pub use fault::{Fault, Rule};

use crate::{Graph, NodeId, Op};
use fault::fault;

impl Graph {
    /// Checks the graph.
    ///
    /// # Errors
    /// Every fault there is. Where the structure itself is broken (dead ids, wrong owners), the rules that walk it are
    /// not tried.
    pub fn lint(&self) -> Result<(), Vec<Fault>> {
        let mut faults = structure::check_structure(self);
        if faults.is_empty() {
            faults.extend(structure::check_names(self));
            let order = self.block_order();
            for region in self.live_regions() {
                flow::check_region(self, region, &mut faults);
            }
            for id in self.nodes() {
                node::check_dominance(self, &order, id, &mut faults);
                node::check_arity(self, id, &mut faults);
                flow::check_control_flow(self, id, &mut faults);
                host::check_host(self, id, &mut faults);
            }
            ownership::check_ownership(self, &mut faults);
        }
        faults.sort_by_key(|fault| fault.rule);
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Checks that every node but parameters and yields has a source line: what a pass makes inherits those of what it
    /// replaces.
    ///
    /// # Errors
    /// One fault for each node without one.
    pub fn lint_origins(&self) -> Result<(), Vec<Fault>> {
        let bare = |id: &NodeId| {
            let node = self.node(*id);
            node.origin.places.is_empty() && !matches!(node.op, Op::Placeholder | Op::Yield)
        };
        let message = |id| fault(self, id, Rule::Origin, "has no source line");
        let faults: Vec<_> = self.nodes().into_iter().filter(bare).map(message).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}
