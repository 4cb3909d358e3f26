//! What is wrong with a graph, and which rule says so.

use std::fmt;

use crate::{Graph, NodeId};

/// One thing that is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the node at fault; the graph's own name where no node is.
    pub node: String,
    /// The rule that it breaks.
    pub rule: Rule,
    /// The fault, in a phrase that goes on from the node's name.
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

/// A fault of a node.
pub(super) fn fault(graph: &Graph, id: NodeId, rule: Rule, message: impl Into<String>) -> Fault {
    Fault { node: graph.node(id).name.clone(), rule, message: message.into() }
}
