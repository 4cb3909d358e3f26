//! Why an edit is refused.

use std::fmt;

/// The reason why an edit was refused; nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The node of this name is a parameter, which belongs to its region.
    Parameter(String),
    /// The node of this name ends its region, and nothing comes after it.
    End(String),
    /// The anchor stands inside the node or region that would be moved.
    Inside(String),
    /// The region has a parameter of this name that is read; replace it first.
    ParamRead(String),
    /// The region does not end in a yield.
    NoYield,
    /// The node was erased.
    Erased {
        /// Its number.
        node: String,
        /// The graph that it was in.
        graph: String,
    },
    /// The node is one of another graph.
    OtherGraph {
        /// Its number.
        node: String,
        /// The graph that was to be edited.
        graph: String,
    },
    /// The node is read.
    InUse {
        /// Its name.
        node: String,
        /// The names of those that read it.
        users: Vec<String>,
    },
    /// The node would read what is not computed before it: what comes later, itself (a cycle), or what is out of scope.
    Order {
        /// Its name.
        node: String,
        /// The name of what it would read.
        input: String,
    },
    /// The node has fewer arguments.
    Position {
        /// Its name.
        node: String,
        /// The position that was asked for.
        position: usize,
        /// How many arguments it has.
        count: usize,
    },
    /// There is no such op.
    UnknownOp {
        /// The name that was asked for.
        op: String,
        /// A name like it.
        nearest: Option<String>,
    },
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Parameter(name) => write!(f, "`{name}` is a parameter and cannot be moved"),
            EditError::End(name) => {
                write!(f, "`{name}` ends its region: it cannot be moved, and nothing comes after it")
            }
            EditError::Inside(name) => write!(f, "`{name}` stands inside what would be moved before it"),
            EditError::ParamRead(name) => write!(f, "the parameter `{name}` of the region is still read"),
            EditError::NoYield => write!(f, "the region does not end in a yield"),
            EditError::Erased { node, graph } => write!(f, "node {node} of the graph `{graph}` was erased"),
            EditError::OtherGraph { node, graph } => {
                write!(f, "node {node} is none of the graph `{graph}` but of another; copy it with `node_copy` first")
            }
            EditError::InUse { node, users } => {
                let users: Vec<String> = users.iter().map(|user| format!("`{user}`")).collect();
                write!(f, "`{node}` is read by {}; let them read something else first", users.join(", "))
            }
            EditError::Order { node, input } if node == input => write!(f, "`{node}` would read itself"),
            EditError::Order { node, input } => {
                write!(f, "`{node}` would read `{input}`, which is not computed before it")
            }
            EditError::Position { node, position, count } => {
                write!(f, "`{node}` has {count} arguments and none at position {position}")
            }
            EditError::UnknownOp { op, nearest: None } => write!(f, "there is no op `{op}`"),
            EditError::UnknownOp { op, nearest: Some(name) } => {
                write!(f, "there is no op `{op}`; there is one called `{name}`")
            }
        }
    }
}

impl std::error::Error for EditError {}
