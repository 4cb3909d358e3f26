//! The report of a run of a pipeline: step by step, and rule by rule.

use crate::pass::Changed;
use crate::rewrite::Outcome;

/// Of which passes the graph is kept as text, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dump {
    /// Of none.
    #[default]
    None,
    /// Of those that changed something.
    Changes,
    /// Of the pass of that name.
    Pass(String),
}

/// The effects of a run, pass by pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One step a pass, in order.
    pub steps: Vec<Step>,
}

/// One pass's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The pass's name.
    pub pass: &'static str,
    /// Whether it changed the graph.
    pub changed: Changed,
    /// The number of nodes before and after.
    pub nodes: (usize, usize),
    /// The graph before and after, where a dump was asked for.
    pub dump: Option<(String, String)>,
    /// The outcome of each rule, if the pass is made of rules.
    pub rules: Outcome,
}

impl Report {
    /// Every rule of the run and how often it was applied, in order.
    pub fn applied(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.steps.iter().flat_map(|step| step.rules.applied.iter().copied())
    }

    /// The passes whose rules went on for ever and were stopped.
    pub fn exhausted(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.steps.iter().filter(|step| step.rules.exhausted).map(|step| step.pass)
    }
}

/// The rules that applied in none of these runs; of a build, those that never fired.
pub fn never_applied(reports: &[Report]) -> Vec<&'static str> {
    let mut rules: Vec<&'static str> = Vec::new();
    for (rule, _) in reports.iter().flat_map(Report::applied) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules.retain(|rule| !reports.iter().flat_map(Report::applied).any(|(name, count)| name == *rule && count > 0));
    rules
}
