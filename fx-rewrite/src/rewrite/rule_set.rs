//! The rules of a pass, found by what a node does, applied until none applies.
//!
//! Nodes are visited in the order of execution, at each the rules in the order in which they are written; the first
//! that applies is applied, and what it touched is visited again. So the cost grows with the graph and with what
//! changes, not with graph times rules. A pass that goes on for ever stops at its budget, and says so.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::OnceLock;

use fx_ir::{Arg, Graph, NodeId, Op};

use super::apply::apply;
use super::facts::Facts;
use super::found::Bound;
use super::matcher::{Matcher, Through, op_of};
use super::mismatch::{Attempt, Mismatch};
use super::rule::Head;
use super::{Found, Rule, WhyNot};
use crate::context::{Changed, PassContext};

/// The rules of one pass.
pub struct RuleSet {
    rules: &'static [Rule],
    index: OnceLock<Index>,
}

/// By what a node does, the rules to try there.
struct Index {
    by_head: HashMap<Head, Vec<usize>>,
    /// The distance above a change at which a pattern can begin.
    depth: usize,
}

/// The effect of the rules of a pass on a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For every rule of the pass, in order, how often it was applied.
    pub applied: Vec<(&'static str, usize)>,
    /// Whether the budget was spent before the rules came to an end.
    pub exhausted: bool,
}

impl Outcome {
    /// Returns whether any rule applied.
    pub fn changed(&self) -> Changed {
        Changed::from(self.applied.iter().any(|&(_, count)| count > 0))
    }
}

/// The rules and how often each applied; a word on the budget if it was spent.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, count) in &self.applied {
            writeln!(f, "{rule}: {count}")?;
        }
        if self.exhausted {
            writeln!(f, "stopped: the rules go on for ever, each result is matched again")?;
        }
        Ok(())
    }
}

/// A place where a pattern was replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The value that now stands for each result of the pattern.
    pub results: Vec<Arg>,
    /// The value that each capture was bound to; a node may have been replaced since.
    pub captures: Vec<(&'static str, Arg)>,
}

/// The outcome of replacing a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replaced {
    /// The places, in the order in which they were found.
    pub matches: Vec<Match>,
    /// The places that are left although the pattern is there: what replaced it could share memory with what others read.
    pub refused: Vec<WhyNot>,
    /// Whether the rules were stopped because the replacement is matched again and again.
    pub exhausted: bool,
}

impl Match {
    fn of(rule: &Rule, bound: Bound, results: Vec<Arg>) -> Match {
        let bound = rule.captures.iter().zip(bound.slots);
        Match { results, captures: bound.filter_map(|(capture, arg)| Some((capture.name, arg?))).collect() }
    }
}

impl RuleSet {
    /// The rules in the order in which they are tried.
    pub const fn new(rules: &'static [Rule]) -> RuleSet {
        RuleSet { rules, index: OnceLock::new() }
    }

    /// The rules.
    pub fn rules(&self) -> &'static [Rule] {
        self.rules
    }

    /// Applies the rules until none applies.
    pub fn run(&self, pass: &'static str, graph: &mut Graph, cx: &PassContext) -> Outcome {
        self.run_where(pass, graph, cx, &mut |_| true, &mut |_| ())
    }

    /// Applies the rules where `filter` says yes, and tells of each place.
    pub(super) fn replace(
        &self,
        pass: &'static str,
        graph: &mut Graph,
        cx: &PassContext,
        filter: &mut dyn FnMut(&Found<'_>) -> bool,
    ) -> Replaced {
        let mut matches = Vec::new();
        let outcome = self.run_where(pass, graph, cx, filter, &mut |found| matches.push(found));
        Replaced { matches, refused: self.refused(graph, cx), exhausted: outcome.exhausted }
    }

    /// The nodes at which a rule would apply but for the memory that its replacement could share.
    fn refused(&self, graph: &Graph, cx: &PassContext) -> Vec<WhyNot> {
        let (facts, index) = (Facts::of(graph, cx), self.index());
        let mut refused = Vec::new();
        for id in graph.nodes() {
            for &at in index.rules_at(graph, id) {
                let rule = &self.rules[at];
                let attempt = Matcher::new(graph, &facts, rule).find(id).err();
                let is_shared = |attempt: &Attempt| matches!(attempt.mismatch, Mismatch::Shared { .. });
                refused.extend(attempt.filter(is_shared).map(|attempt| why_not(rule, graph, id, attempt)));
            }
        }
        refused
    }

    fn run_where(
        &self,
        pass: &'static str,
        graph: &mut Graph,
        cx: &PassContext,
        filter: &mut dyn FnMut(&Found<'_>) -> bool,
        told: &mut dyn FnMut(Match),
    ) -> Outcome {
        let nodes = graph.nodes();
        let mut outcome = Outcome { applied: self.rules.iter().map(|rule| (rule.name, 0)).collect(), exhausted: false };
        let index = self.index();
        if !nodes.iter().any(|&id| !index.rules_at(graph, id).is_empty()) {
            return outcome;
        }
        let mut budget = 4 * nodes.len() + 100;
        let mut facts = Facts::of(graph, cx);
        let mut queue = Queue::new(nodes);
        while let Some(id) = queue.next(graph) {
            for &at in index.rules_at(graph, id) {
                let rule = &self.rules[at];
                let Ok((bound, outputs)) = Matcher::new(graph, &facts, rule).find(id) else { continue };
                if !filter(&Found { graph, facts: &facts, rule, bound: &bound }) {
                    continue;
                }
                if budget == 0 {
                    outcome.exhausted = true;
                    return outcome;
                }
                budget -= 1;
                outcome.applied[at].1 += 1;
                let applied = apply(graph, &mut facts, pass, rule, &bound, &outputs);
                queue.revisit(graph, index.depth, &applied.made, &applied.results);
                told(Match::of(rule, bound, applied.results));
                break;
            }
        }
        outcome
    }

    /// The nodes in the region of `root` that have to move into the arms for a rule to apply there, if one would.
    pub(crate) fn through(&self, graph: &Graph, facts: &Facts, root: NodeId, through: Through) -> Option<Vec<NodeId>> {
        let rules = self.index().rules_at(graph, root).iter().map(|&at| &self.rules[at]);
        rules.into_iter().find_map(|rule| Matcher::new(graph, facts, rule).find_through(root, through))
    }

    /// The reason why the rule of that name does not apply at a node; `None` if it does, or if there is no such rule.
    pub fn why_not(&self, rule: &str, graph: &Graph, node: NodeId, cx: &PassContext) -> Option<WhyNot> {
        let rule = self.rules.iter().find(|one| one.name == rule)?;
        let facts = Facts::of(graph, cx);
        explain(rule, graph, &facts, node)
    }

    /// For every rule and every node where it could begin why it does not apply; what is left after a pass has run.
    pub fn explain(&self, graph: &Graph, cx: &PassContext) -> Vec<WhyNot> {
        let facts = Facts::of(graph, cx);
        let index = self.index();
        let mut told = Vec::new();
        for id in graph.nodes() {
            for &at in index.rules_at(graph, id) {
                told.extend(explain(&self.rules[at], graph, &facts, id));
            }
        }
        told
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut by_head: HashMap<Head, Vec<usize>> = HashMap::new();
            for (at, rule) in self.rules.iter().enumerate() {
                for head in rule.heads() {
                    let rules = by_head.entry(head).or_default();
                    if rules.last() != Some(&at) {
                        rules.push(at);
                    }
                }
            }
            let terms = self.rules.iter().flat_map(|rule| rule.before);
            Index { by_head, depth: terms.map(super::Term::depth).max().unwrap_or(0) }
        })
    }
}

fn explain(rule: &'static Rule, graph: &Graph, facts: &Facts, node: NodeId) -> Option<WhyNot> {
    Some(why_not(rule, graph, node, Matcher::new(graph, facts, rule).find(node).err()?))
}

fn why_not(rule: &'static Rule, graph: &Graph, node: NodeId, attempt: Attempt) -> WhyNot {
    let Attempt { matched, mismatch, .. } = attempt;
    let (reason, at) = (mismatch.tell(graph), graph.node(node));
    WhyNot { rule: rule.name, node: at.name.clone(), reason, matched, places: at.origin.places.clone() }
}

impl Index {
    fn rules_at(&self, graph: &Graph, id: NodeId) -> &[usize] {
        let node = graph.node(id);
        let layer = match &node.op {
            Op::CallModule(kind) => self.of_layer(&kind.0),
            _ => None,
        };
        let rules = layer.or_else(|| op_of(node).and_then(|(op, _)| self.by_head.get(&Head::Op(op.name()))));
        rules.map_or(&[], Vec::as_slice)
    }

    fn of_layer(&self, kind: &str) -> Option<&Vec<usize>> {
        // The table holds `'static` names only, so a look-up by the node's own name goes through them.
        let head = self.by_head.keys().find(|head| matches!(head, Head::Module(name) if *name == kind))?;
        self.by_head.get(head)
    }
}

/// The nodes still to be visited, each once at a time.
struct Queue {
    waiting: VecDeque<NodeId>,
    is_waiting: HashSet<NodeId>,
}

impl Queue {
    fn new(nodes: Vec<NodeId>) -> Queue {
        Queue { is_waiting: nodes.iter().copied().collect(), waiting: nodes.into() }
    }

    fn next(&mut self, graph: &Graph) -> Option<NodeId> {
        while let Some(id) = self.waiting.pop_front() {
            self.is_waiting.remove(&id);
            if graph.is_alive(id) {
                return Some(id);
            }
        }
        None
    }

    fn push(&mut self, id: NodeId) {
        if self.is_waiting.insert(id) {
            self.waiting.push_back(id);
        }
    }

    /// What was made, and whatever lies at most `depth` above it, may match now.
    fn revisit(&mut self, graph: &Graph, depth: usize, made: &[NodeId], results: &[Arg]) {
        let mut level: Vec<NodeId> = made.iter().copied().chain(results.iter().filter_map(Arg::node)).collect();
        for _ in 0..=depth {
            for &id in &level {
                self.push(id);
            }
            level = level.iter().flat_map(|&id| graph.users(id)).collect();
            level.sort_unstable();
            level.dedup();
        }
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| rule.name)).finish()
    }
}
