//! The verifier: what must hold of every graph between two passes, all faults at once.

mod flow;
mod host;
mod node;
mod operands;
mod ownership;
mod structure;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::{Graph, NodeId, Op};

/// One thing that is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the node at fault; the graph's own name where no node is.
    pub node: String,
    /// The rule that it breaks.
    pub rule: Rule,
    /// What is wrong, in a phrase that goes on from the node's name.
    pub message: String,
}

/// The rules, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Every id names a node or a region that exists.
    Dead,
    /// A node stands in one region, a region belongs to one control-flow node, and both know it.
    Owner,
    /// No two nodes bear one name.
    Name,
    /// Placeholders are parameters, and parameters are placeholders.
    Placeholder,
    /// A region ends in a yield, and yields nowhere else.
    Yield,
    /// A value is computed before it is read, on every way there, and still in scope.
    Dominance,
    /// An op has as many arguments and regions as it takes.
    Arity,
    /// Regions have the parameters that their node gives them, and yield what it hands on.
    Flow,
    /// A host operation is applied to what it can take.
    Operands,
    /// What is written to is a place, what is borrowed is a value, and what is moved is the mover's to move.
    Ownership,
    /// A node says which line of the user's it comes from.
    Origin,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Dead => "dead",
            Rule::Owner => "owner",
            Rule::Name => "name",
            Rule::Placeholder => "placeholder",
            Rule::Yield => "yield",
            Rule::Dominance => "dominance",
            Rule::Arity => "arity",
            Rule::Flow => "flow",
            Rule::Operands => "operands",
            Rule::Ownership => "ownership",
            Rule::Origin => "origin",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {} [{}]", self.node, self.message, self.rule)
    }
}

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

fn fault(graph: &Graph, id: NodeId, rule: Rule, message: impl Into<String>) -> Fault {
    Fault { node: graph.node(id).name.clone(), rule, message: message.into() }
}
