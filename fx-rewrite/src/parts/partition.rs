//! The largest parts that a backend can take.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fx_ir::{Graph, NodeId};

use super::dependencies::Dependencies;

/// Groups the nodes of the body that `supports` says yes to, so that no two groups could be one without a cycle. Groups
/// come in the order of their first nodes, nodes in the order in which they stand.
///
/// A cycle is one through what is not supported, another group, or an effect; nodes that nothing connects may be in one
/// group. What it yields can be [split](super::split_module) off part by part.
///
/// ```
/// use fx_rewrite::{Graph, parts::partition};
///
/// let text = "graph f(x: tensor) { %a = relu(x) ; %b = neg(%a) ; %c = sigmoid(%b) ; %d = add(%a, %c) ; yield %d }";
/// let graph: Graph = text.parse()?;
/// let parts = partition(&graph, |graph, id| graph.node(id).name != "b");
/// let names = |part: &[fx_ir::NodeId]| part.iter().map(|&id| graph.node(id).name.clone()).collect::<Vec<_>>();
/// assert_eq!(parts.iter().map(|part| names(part)).collect::<Vec<_>>(), [vec!["a"], vec!["c", "d"]]);
/// # Ok::<(), fx_ir::ParseError>(())
/// ```
pub fn partition(graph: &Graph, supports: impl Fn(&Graph, NodeId) -> bool) -> Vec<Vec<NodeId>> {
    let dependencies = Dependencies::of(graph);
    let mut groups = Groups::new(&dependencies);
    let mut taken: Vec<usize> = Vec::new();
    for (at, &id) in dependencies.nodes.iter().enumerate() {
        if !supports(graph, id) {
            continue;
        }
        let joined = taken.iter().copied().find(|&group| groups.may_merge(group, at));
        match joined {
            Some(group) => groups.merge(group, at),
            None => taken.push(at),
        }
    }
    // A group that grew may have become the link between two others.
    loop {
        let mergeable = pairs(&taken).find(|&(first, second)| groups.may_merge(first, second));
        let Some((first, second)) = mergeable else { break };
        groups.merge(first, second);
        taken.retain(|&group| group != second);
    }
    taken.into_iter().map(|group| groups.members[&group].iter().map(|&at| dependencies.nodes[at]).collect()).collect()
}

fn pairs(groups: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    groups.iter().enumerate().flat_map(|(at, &first)| groups[at + 1..].iter().map(move |&second| (first, second)))
}

/// Nodes by position, gathered in groups that are named after their first.
struct Groups {
    members: BTreeMap<usize, BTreeSet<usize>>,
    /// For each group those that have to run right before it, itself left out.
    before: Vec<BTreeSet<usize>>,
    after: Vec<BTreeSet<usize>>,
}

impl Groups {
    fn new(dependencies: &Dependencies) -> Groups {
        let nodes = &dependencies.nodes;
        let positions: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let before: Vec<BTreeSet<usize>> =
            nodes.iter().map(|&id| dependencies.before(id).iter().map(|id| positions[id]).collect()).collect();
        let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes.len()];
        for (at, firsts) in before.iter().enumerate() {
            for &first in firsts {
                after[first].insert(at);
            }
        }
        let members = (0..nodes.len()).map(|at| (at, BTreeSet::from([at]))).collect();
        Groups { members, before, after }
    }

    /// Returns whether the two as one would not depend on themselves.
    fn may_merge(&self, a: usize, b: usize) -> bool {
        !self.reaches_around(a, b) && !self.reaches_around(b, a)
    }

    /// Returns whether there is a way from one group to another through a third.
    fn reaches_around(&self, from: usize, to: usize) -> bool {
        let mut seen: BTreeSet<usize> = self.after[from].iter().copied().filter(|&next| next != to).collect();
        let mut waiting: Vec<usize> = seen.iter().copied().collect();
        while let Some(at) = waiting.pop() {
            for &next in &self.after[at] {
                if next == to {
                    return true;
                }
                if next != from && seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
        false
    }

    fn merge(&mut self, into: usize, other: usize) {
        let moved = self.members.remove(&other).unwrap_or_default();
        self.members.entry(into).or_default().extend(moved);
        absorb(&mut self.before, &mut self.after, into, other);
        absorb(&mut self.after, &mut self.before, into, other);
    }
}

/// Moves the borders of `other` to `into`.
fn absorb(side: &mut [BTreeSet<usize>], opposite: &mut [BTreeSet<usize>], into: usize, other: usize) {
    for neighbour in std::mem::take(&mut side[other]) {
        opposite[neighbour].remove(&other);
        if neighbour != into {
            opposite[neighbour].insert(into);
            side[into].insert(neighbour);
        }
    }
}
