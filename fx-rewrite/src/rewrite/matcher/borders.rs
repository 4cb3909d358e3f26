//! The borders of a match: the conditions around it under which its replacement can take its place.

use fx_ir::{Arg, Effect, Graph, Node, NodeId, Op, OpId};

use super::Matcher;
use super::canonical::{first_param, position_of};
use crate::rewrite::mismatch::Mismatch;
use crate::rewrite::{Found, Rule, Template};

impl Matcher<'_> {
    /// Nothing inside is read from outside, nothing is written in between, and every output is still unread where the
    /// replacement will stand.
    pub(super) fn check_borders(&mut self, outputs: &[NodeId]) -> Result<(), Mismatch> {
        let nodes = &mut self.bound.nodes;
        nodes.sort_unstable();
        nodes.dedup();
        let root = outputs[0];
        for &id in nodes.iter() {
            if !outputs.contains(&id) {
                let reader = self.graph.users(id).into_iter().find(|user| nodes.binary_search(user).is_err());
                if let Some(user) = reader {
                    return Err(Mismatch::Escapes { node: id, user });
                }
            }
            if self.facts.epoch(id).is_none() || self.facts.epoch(id) != self.facts.epoch(root) {
                return Err(Mismatch::Write(id));
            }
            if !is_quiet(self.graph.node(id)) {
                return Err(Mismatch::Effect(id));
            }
        }
        if self.rule.may_alias() || outputs.iter().any(|&id| is_view(self.graph, id)) {
            let mut values = self.captured().into_iter().chain(outputs.iter().copied());
            if let Some(id) = values.find(|&id| self.facts.is_written(id)) {
                return Err(Mismatch::Written(id));
            }
        }
        self.check_apart(outputs)?;
        if let [_, _, ..] = outputs {
            self.check_outputs(outputs)?;
        }
        Ok(())
    }

    /// Every condition beside the pattern holds.
    pub(super) fn check_guards(&self) -> Result<(), Mismatch> {
        let found = Found { graph: self.graph, facts: self.facts, rule: self.rule, bound: &self.bound };
        match self.rule.guards.iter().find(|guard| !(guard.holds)(&found)) {
            Some(guard) => Err(Mismatch::Guard(guard.text)),
            None => Ok(()),
        }
    }

    /// The nodes that captures are bound to.
    fn captured(&self) -> Vec<NodeId> {
        self.bound.slots.iter().flatten().flat_map(Arg::nodes).collect()
    }

    /// A result of its own that the caller gets may not become a tensor that the caller knows already.
    fn check_apart(&self, outputs: &[NodeId]) -> Result<(), Mismatch> {
        let is_own = |&&id: &&NodeId| self.facts.is_handed_out(id) && !is_view(self.graph, id);
        let Some(&output) = outputs.iter().find(is_own).filter(|_| self.rule.may_alias()) else { return Ok(()) };
        match self.captured().into_iter().find(|&id| self.facts.is_known_outside(id)) {
            Some(captured) => Err(Mismatch::Shared { output, captured }),
            None => Ok(()),
        }
    }

    /// Nobody may read an output before the last of them stands.
    fn check_outputs(&self, outputs: &[NodeId]) -> Result<(), Mismatch> {
        let order = self.graph.block_order();
        let Some(&last) = outputs.iter().max_by_key(|&&id| order.position(id)) else { return Ok(()) };
        for &output in outputs {
            let early = |user: &NodeId| !order.is_before(last, *user) && self.bound.nodes.binary_search(user).is_err();
            if let Some(user) = self.graph.users(output).into_iter().find(early) {
                return Err(Mismatch::Early { output, user });
            }
        }
        Ok(())
    }
}

/// Whether it nothings but compute. An op that draws random numbers draws none where it is told so.
pub(crate) fn is_quiet(node: &Node) -> bool {
    match (node.op.effect(), &node.op) {
        (Effect::Pure, _) => true,
        (Effect::Random, Op::Call(op)) => {
            let silenced = |name: &str, value: &Arg| {
                let at = position_of(*op, name).map(|at| at + first_param(*op));
                at.and_then(|at| node.args.get(at)) == Some(value)
            };
            silenced("train", &Arg::Bool(false)) || silenced("dropout_p", &Arg::Float(0.0))
        }
        _ => false,
    }
}

fn is_view(graph: &Graph, id: NodeId) -> bool {
    matches!(&graph.node(id).op, Op::Call(op) if op.is_view())
}

impl Rule {
    /// Returns whether a result can share memory with a captured tensor.
    fn may_alias(&self) -> bool {
        self.after.iter().any(|output| match output {
            Template::Operator(..) | Template::Neg(_) | Template::Module(..) => false,
            Template::Call(op, _) => OpId::lookup(op).is_none_or(OpId::is_view),
            _ => true,
        })
    }
}
