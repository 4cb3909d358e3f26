//! What a trace knows of the values of nodes beside their types.

use std::collections::{HashMap, HashSet};

use fx_ir::NodeId;

use crate::trace::Val;

/// Facts about values, by the node that each is the value of.
#[derive(Clone, Debug, Default)]
pub(in crate::trace) struct ValueFacts {
    /// What the user would call a module value: `layer1[*].conv1`.
    pub(in crate::trace) paths: HashMap<NodeId, String>,
    /// The fields of the structs that the forward has made.
    pub(in crate::trace) made: HashMap<NodeId, Vec<(String, Val)>>,
    /// The variants of enums that the forward has made, with what they hold.
    pub(in crate::trace) variants: HashMap<NodeId, (String, Vec<Val>)>,
    /// The values that are a function which has a name.
    pub(in crate::trace) named: HashMap<NodeId, String>,
    /// Opaque code whose value is still a `Result`.
    pub(in crate::trace) results: HashSet<NodeId>,
    /// Functions traced in place whose `Result` is taken off: values of its type are what `Ok` held.
    pub(in crate::trace) unwrapped: HashSet<NodeId>,
}
