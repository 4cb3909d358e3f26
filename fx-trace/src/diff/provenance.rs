//! Which nodes of the control trace's graph a kernel of the test trace stands for: traces of fx say what each of their events
//! computes, in the user's names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::samples::Samples;
use super::welch::double;
use crate::node::NodeInfo;

/// A node of the test trace that does what others did in the control trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replacement {
    /// The node, with the name of its event.
    pub by: Ran,
    /// The user's names for all that it computes, in their order.
    pub labels: Vec<String>,
    /// The passes that made it.
    pub passes: Vec<String>,
    /// The nodes of the control trace whose work it does.
    pub replaced: Vec<Ran>,
}

/// A node of one trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ran {
    /// The user's name for it: the path of a module, or the node's name.
    pub node: String,
    /// The name of its events: `aten::batch_norm`.
    pub name: String,
    /// Its exclusive time in an iteration, in nanoseconds.
    pub exclusive: f64,
}

impl Replacement {
    /// The time of the nodes that were replaced, in nanoseconds for each iteration, and that of what replaced them.
    pub fn times(&self) -> [f64; 2] {
        [self.replaced.iter().map(|ran| ran.exclusive).fold(0.0, |sum, time| sum + time), self.by.exclusive]
    }
}

/// `conv1 (Conv + bn1 + relu)`.
impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, rest) = self.labels.split_first().map_or((&self.by.node, &[][..]), |(first, rest)| (first, rest));
        let kernel = self.by.name.rsplit("::").next().unwrap_or(&self.by.name);
        write!(f, "{first} ({kernel}")?;
        rest.iter().try_for_each(|label| write!(f, " + {label}"))?;
        f.write_str(")")
    }
}

/// What a side's traces say of a node.
#[derive(Clone, Debug)]
pub(super) struct NodeSamples {
    pub(super) info: NodeInfo,
    pub(super) name: String,
    pub(super) exclusive: f64,
}

impl NodeSamples {
    fn users_name(&self) -> &str {
        if self.info.opcode == "call_module" { &self.info.target } else { &self.info.node }
    }

    fn ran(&self, iterations: usize, name: &str) -> Ran {
        let exclusive = self.exclusive / double(iterations.max(1));
        Ran { node: name.to_owned(), name: self.name.clone(), exclusive }
    }
}

/// The replacements, those that save most first. A node that is as it was is none.
pub(super) fn replacements(control: &Samples, test: &Samples) -> Vec<Replacement> {
    let names = names(control);
    let mut found: Vec<Replacement> = test
        .nodes
        .values()
        .filter_map(|node| {
            let mut parts: Vec<&str> = Vec::new();
            // A pass keeps the name of the node whose value it computes otherwise.
            for name in node.info.labels.iter().chain([&node.info.node]) {
                let part = names.get(name.as_str()).copied().flatten();
                parts.extend(part.filter(|part| !parts.contains(part)));
            }
            let replaced: Vec<&NodeSamples> = parts.iter().filter_map(|part| control.nodes.get(*part)).collect();
            let is_same = matches!(replaced.as_slice(), [one] if one.name == node.name);
            if replaced.is_empty() || is_same {
                return None;
            }
            Some(Replacement {
                by: node.ran(test.count(), &node.info.node),
                labels: node.info.labels.clone(),
                passes: node.info.passes.clone(),
                replaced: replaced.iter().map(|one| one.ran(control.count(), one.users_name())).collect(),
            })
        })
        .collect();
    let won = |one: &Replacement| one.times()[0] - one.times()[1];
    found.sort_by(|a, b| won(b).total_cmp(&won(a)).then_with(|| a.by.node.cmp(&b.by.node)));
    found
}

/// The nodes of the control trace that the test trace has neither as they were nor in a replacement.
pub(super) fn gone(control: &Samples, test: &Samples, replacements: &[Replacement]) -> Vec<Ran> {
    if test.nodes.is_empty() {
        return Vec::new();
    }
    let replaced: BTreeSet<&str> =
        replacements.iter().flat_map(|one| &one.replaced).map(|ran| ran.node.as_str()).collect();
    let nodes = control
        .nodes
        .values()
        .filter(|node| !replaced.contains(node.users_name()) && !test.nodes.contains_key(&node.info.node));
    nodes.map(|node| node.ran(control.count(), node.users_name())).collect()
}

/// The nodes by their names, and by the paths of the modules that they alone call; a path that several call names none.
fn names(side: &Samples) -> BTreeMap<&str, Option<&str>> {
    let mut names = BTreeMap::<&str, Option<&str>>::new();
    for (name, node) in &side.nodes {
        if node.info.opcode == "call_module" {
            names.entry(&node.info.target).and_modify(|known| *known = None).or_insert(Some(name));
        }
    }
    names.extend(side.nodes.keys().map(|name| (name.as_str(), Some(name.as_str()))));
    names
}
