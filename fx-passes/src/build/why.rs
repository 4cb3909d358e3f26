//! What `cargo fx why` is told: where a rule applied, and where and why it did not.
//!
//! The file has one fact a line, its fields between tabs:
//!
//! ```text
//! rule     NAME  DOC  BEFORE  AFTER  GUARD            each rule of the lists
//! pass     NAME  DOC                                  each pass without rules
//! asked    NAME                                       a rule, or such a pass, that is meant
//! model    MODEL                                      each model
//! applied  MODEL  RULE  COUNT
//! near     MODEL  RULE  MATCHED  NODE  PLACES  REASON    places between commas; MATCHED operations of the pattern fitted
//! ```

use std::collections::BTreeSet;

use fx_ir::Graph;

use crate::pass::PassContext;
use crate::pipeline::{Pipeline, Report};

/// The file below `fx`.
pub(super) const FILE: &str = "why.txt";

/// The lines of the file, each once.
#[derive(Default)]
pub(super) struct Why {
    known: BTreeSet<String>,
    told: Vec<String>,
}

impl Why {
    /// Tells of one model what the rules of that name did, and did not do.
    pub(super) fn tell(
        &mut self,
        name: &str,
        pipeline: &Pipeline,
        (graph, context): (&Graph, &PassContext),
        report: &Report,
    ) {
        let model = graph.name.as_str();
        for pass in pipeline.passes() {
            match pass.rules() {
                Some(set) => self.known.extend(set.rules().iter().map(|rule| {
                    line(&["rule", rule.name, rule.doc, rule.text.before, rule.text.after, rule.text.guard])
                })),
                None => _ = self.known.insert(line(&["pass", pass.name(), pass.doc()])),
            }
        }
        self.told.push(line(&["model", model]));
        let rules: BTreeSet<&str> = pipeline.rules_called(name).iter().map(|rule| rule.name).collect();
        self.known.extend(rules.iter().map(|rule| line(&["asked", rule])));
        let procedural = pipeline.pass_called(name).filter(|pass| pass.rules().is_none());
        self.known.extend(procedural.map(|pass| line(&["asked", pass.name()])));
        for (rule, count) in report.applied().filter(|(rule, count)| *count > 0 && rules.contains(rule)) {
            self.told.push(line(&["applied", model, rule, &count.to_string()]));
        }
        for why in pipeline.explain(name, graph, context).unwrap_or_default() {
            let places: Vec<String> = why.places.iter().map(ToString::to_string).collect();
            let (matched, places) = (why.matched.to_string(), places.join(","));
            self.told.push(line(&["near", model, why.rule, &matched, &why.node, &places, &why.reason]));
        }
    }

    /// The file; none where nothing was asked.
    pub(super) fn text(&self) -> Option<String> {
        let lines: Vec<&str> = self.known.iter().chain(&self.told).map(String::as_str).collect();
        (!self.told.is_empty()).then(|| lines.join("\n") + "\n")
    }
}

/// Fields hold no tabs and no ends of lines.
fn line(fields: &[&str]) -> String {
    let words = |field: &&str| field.split_whitespace().collect::<Vec<_>>().join(" ");
    fields.iter().map(words).collect::<Vec<_>>().join("\t")
}
