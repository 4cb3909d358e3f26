//! Moves what stands around an `if` or `match` into its arms, where that lets it be fused.
//!
//! `let ys = conv(x); if self.shortcut { ys + x } else { ys }` is a convolution that adds, in one arm, and a convolution
//! in the other; `match mask { Some(m) => scores + m, None => scores }` with a softmax and a product behind it is an
//! attention in each arm. What only the arms read goes into those that read it, and what alone reads the result goes
//! into all, if a rule of the library applies there then or a layer is finished by it. Nothing is computed twice: one arm
//! runs.
//!
//! Into an arm that writes or prints nothing moves for its own sake; where the live model decides which arm runs, what
//! moves for the others' stands at its head. An `if` that an input decides stays as it is where an arm writes, and where a
//! layer's packed weights would be in more than one arm.

mod layers;
mod moves;
#[cfg(test)]
mod tests;

use fx_ir::{Arg, Graph, NodeId, Op, RegionId};

use crate::library::{Activations, Attention, Norms};
use crate::pass::{Changed, Pass, PassContext};
use crate::rewrite::{Facts, RuleSet, Through, is_quiet};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SinkIntoArms;

/// How far behind an `if` the last op of a rule's pattern may stand.
const REACH: usize = 6;

impl Pass for SinkIntoArms {
    described! {
        "sink-into-arms": "moves ops around an `if` or `match` into its arms, where they fuse";
        before: ["fold-batch-norm", "fuse-epilogue"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let controls: Vec<NodeId> = graph.nodes().into_iter().filter(|&id| has_arms(graph, id)).collect();
        if controls.is_empty() {
            return Changed::No;
        }
        let mut sink = Sink {
            facts: Facts::of(graph, cx),
            rules: [&Activations as &dyn Pass, &Norms, &Attention].into_iter().filter_map(Pass::rules).collect(),
        };
        let mut changed = false;
        loop {
            let steps = controls.iter().filter(|&&id| sink.all(graph, id)).count();
            if steps == 0 {
                return Changed::from(changed);
            }
            changed = true;
        }
    }
}

/// Returns whether the node is an `if` or `match` with one result.
fn has_arms(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let has_result = |&region: &RegionId| graph.yield_of(region).is_some_and(|end| graph.node(end).args.len() == 1);
    matches!(node.op, Op::If | Op::Match(_)) && node.regions.iter().all(has_result)
}

/// The arms in which nothing is written or printed.
fn quiet_arms(graph: &Graph, control: NodeId) -> impl Iterator<Item = RegionId> {
    let is_quiet = |&region: &RegionId| !graph.region(region).nodes.iter().any(|&id| graph.is_impure(id));
    graph.node(control).regions.iter().copied().filter(is_quiet)
}

struct Sink {
    facts: Facts,
    /// The rules whose patterns are looked for across the border of an arm.
    rules: Vec<&'static RuleSet>,
}

impl Sink {
    /// Moves all that is to be moved into the arms of `control`.
    fn all(&mut self, graph: &mut Graph, control: NodeId) -> bool {
        let mut moved = false;
        while self.one(graph, control) {
            moved = true;
        }
        moved
    }

    fn one(&mut self, graph: &mut Graph, control: NodeId) -> bool {
        let is_left = |graph: &Graph| graph.is_impure(control) && !self.is_decided_early(graph, control);
        if !graph.is_alive(control) || is_left(graph) {
            return false;
        }
        let Some(outside) = self.of_rule(graph, control).or_else(|| self.of_layer(graph, control)) else {
            return false;
        };
        self.sink(graph, control, &outside)
    }

    /// The nodes outside that a rule needs inside, found from the chain of what alone reads the result.
    fn of_rule(&self, graph: &Graph, control: NodeId) -> Option<Vec<NodeId>> {
        let mut last = control;
        for _ in 0..REACH {
            last = self.only_reader(graph, last)?;
            let mut arms = quiet_arms(graph, control).map(|arm| Through { control, arm });
            let found = arms.find_map(|through| {
                self.rules.iter().find_map(|rules| rules.through(graph, &self.facts, last, through))
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The only reader of a value, in its region, with no write in between.
    fn only_reader(&self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        let &[reader] = &graph.users(id)[..] else { return None };
        let node = graph.node(reader);
        let movable = node.regions.is_empty() && node.op != Op::Yield && is_quiet(node);
        (movable && graph.scope_of(reader) == graph.scope_of(id) && self.is_near(reader, id)).then_some(reader)
    }

    /// Returns whether nothing is written between the two.
    fn is_near(&self, a: NodeId, b: NodeId) -> bool {
        self.facts.epoch(a).is_some() && self.facts.epoch(a) == self.facts.epoch(b)
    }

    /// Returns whether the arm that runs is known once the live model is there.
    fn is_decided_early(&self, graph: &Graph, control: NodeId) -> bool {
        graph.node(control).args.first().is_some_and(|subject| self.is_frozen(subject))
    }

    fn is_frozen(&self, arg: &Arg) -> bool {
        self.facts.time(arg) < fx_ir::Binding::Call
    }
}
