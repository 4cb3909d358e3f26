//! Looking through an `if` or `match`: whether a pattern would be found if one of its arms stood in its place.
//!
//! What is outside and belongs to the match (the readers of the result, and what was computed before for the arms alone)
//! is what has to move into the arms for the rule to apply.

use fx_ir::{Arg, Graph, NodeId, RegionId};

use super::Matcher;
use crate::rewrite::matcher::is_quiet;

/// An `if` or `match` with one result, and the arm that is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Through {
    pub(crate) control: NodeId,
    pub(crate) arm: RegionId,
}

impl Through {
    /// The result of the arm, if that is one node.
    pub(crate) fn result(self, graph: &Graph) -> Option<NodeId> {
        match &graph.node(graph.yield_of(self.arm)?).args[..] {
            [result] => result.node(),
            _ => None,
        }
    }
}

impl Matcher<'_> {
    /// The nodes outside of the arms that the pattern takes with `root` as its one output, if it is found only by looking
    /// into the arm.
    pub(in crate::rewrite) fn find_through(mut self, root: NodeId, through: Through) -> Option<Vec<NodeId>> {
        let [before] = self.rule.before else { return None };
        (self.region, self.through) = (self.graph.scope_of(root), Some(through));
        let found = self.output(before, root) && self.bound.is_through;
        if !found || !self.is_closed(root, through) || self.check_guards().is_err() {
            return None;
        }
        let outside = |id: &NodeId| self.graph.scope_of(*id) == self.region;
        Some(self.bound.nodes.iter().copied().filter(outside).collect())
    }

    /// The node of an argument; of what is looked through, that which the arm yields.
    pub(super) fn looked_through(&mut self, arg: &Arg) -> Option<NodeId> {
        let id = arg.node()?;
        match self.through {
            Some(through) if through.control == id => {
                self.bound.is_through = true;
                through.result(self.graph)
            }
            _ => Some(id),
        }
    }

    /// Returns whether nothing inside is read from outside once the nodes stand in the arm, and nothing is written in
    /// between.
    fn is_closed(&mut self, root: NodeId, through: Through) -> bool {
        let nodes = &mut self.bound.nodes;
        nodes.sort_unstable();
        nodes.dedup();
        let end = self.graph.yield_of(through.arm);
        let may_read = |user: NodeId| {
            let scope = self.graph.scope_of(user);
            let in_arm = scope.is_some_and(|scope| self.graph.scopes(scope).any(|one| one == through.arm));
            let in_other = !in_arm && scope.is_some_and(|scope| self.graph.is_inside(scope, through.control));
            nodes.binary_search(&user).is_ok() || Some(user) == end || in_other
        };
        let epoch = self.facts.epoch(root);
        nodes.iter().all(|&id| {
            let closed = id == root || self.graph.users(id).into_iter().all(may_read);
            closed && epoch.is_some() && self.facts.epoch(id) == epoch && is_quiet(self.graph.node(id))
        })
    }
}
