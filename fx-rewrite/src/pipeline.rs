//! The pipeline: one ordered list of passes, with the verifier behind each that touched the graph.
//!
//! A fault that the verifier finds is a mistake of the pass before it, never of the user's. The run stops there, and the
//! error holds the graph before and after, so that the mistake can be told in a test.
//!
//! Passes may ask to run before or after others ([`Pass::after`], [`Pass::before`]); a list that does not do as they ask
//! does not run.

mod error;
mod explain;
mod observer;
mod order;
mod report;
#[cfg(test)]
mod tests;

use std::fmt;

use fx_ir::Graph;

use crate::library::{Activations, Arithmetic, Attention, Joins, Layout, Linears, Norms};
use crate::pass::{Pass, PassContext};
use crate::passes::{
    AffineNorm, CommonSubexpressions, DeadCode, FoldBatchNorm, FoldLayerScale, FoldLeadingNorm, FoldScale,
    FuseEpilogue, GroupPointwise, HoistFrozen, LayoutSafe, LowerModules, MergeArms, MergeLinears, PackKernels,
    RemoveIdentity, SinkIntoArms,
};
use crate::rewrite::Outcome;

pub use error::PipelineError;
pub use observer::Observer;
pub use order::Order;
pub use report::{Dump, Report, Step, never_applied};

/// Passes in the order in which they run.
pub struct Pipeline {
    passes: Vec<Place>,
    orders: Vec<Order>,
    stop_after: Option<String>,
    dump: Dump,
    unknown: Option<String>,
}

/// A pass in its place.
struct Place {
    pass: Box<dyn Pass>,
    /// Whether it was put between others, where a later one comes behind it.
    is_added: bool,
}

impl Pipeline {
    /// No passes yet.
    pub fn empty() -> Pipeline {
        Pipeline { passes: Vec::new(), orders: Vec::new(), stop_after: None, dump: Dump::None, unknown: None }
    }

    /// The passes that make a model's forward its frozen form: clean, recognise, lower, fold, fuse, pack, group.
    pub fn inference() -> Pipeline {
        Pipeline::empty()
            .then(RemoveIdentity)
            .then(CommonSubexpressions)
            .then(DeadCode)
            .then(Arithmetic)
            .then(Layout)
            .then(Joins)
            .then(SinkIntoArms)
            .then(Activations)
            .then(Norms)
            .then(Attention)
            .then(Linears)
            .then(LowerModules)
            .then(CommonSubexpressions)
            .then(FoldLayerScale)
            .then(SinkIntoArms)
            .then(FoldBatchNorm)
            .then(FoldScale)
            .then(MergeLinears)
            .then(FuseEpilogue)
            .then(FoldLeadingNorm)
            .then(LayoutSafe)
            .then(PackKernels)
            .then(MergeArms)
            .then(HoistFrozen)
            .then(CommonSubexpressions)
            .then(DeadCode)
            .then(AffineNorm)
            .then(GroupPointwise)
    }

    /// Appends a pass.
    #[must_use]
    pub fn then(mut self, pass: impl Pass + 'static) -> Pipeline {
        self.passes.push(Place { pass: Box::new(pass), is_added: false });
        self
    }

    /// Puts a pass as early as it may run: first, where it sees the graph as it was traced, or behind the last pass that
    /// it has to run [after](Pass::after). Of several, the one that was put in first runs first.
    #[must_use]
    pub fn with(self, pass: impl Pass + 'static) -> Pipeline {
        let is_earlier = |place: &Place| {
            let (earlier, name) = (place.pass.name(), pass.name());
            pass.after().contains(&earlier) || place.pass.before().contains(&name)
        };
        let at = self.passes.iter().rposition(is_earlier).map_or(0, |last| last + 1);
        self.put(at, pass)
    }

    /// Puts a pass in front of the first pass of that name.
    #[must_use]
    pub fn with_before(mut self, name: &str, pass: impl Pass + 'static) -> Pipeline {
        let Some(at) = self.place_of(name) else { return self };
        self.passes.insert(at, Place { pass: Box::new(pass), is_added: true });
        self
    }

    /// Puts a pass behind the first pass of that name, and behind those that were put there before.
    #[must_use]
    pub fn with_after(mut self, name: &str, pass: impl Pass + 'static) -> Pipeline {
        let Some(at) = self.place_of(name) else { return self };
        self.put(at + 1, pass)
    }

    fn put(mut self, mut at: usize, pass: impl Pass + 'static) -> Pipeline {
        while self.passes.get(at).is_some_and(|place| place.is_added) {
            at += 1;
        }
        self.passes.insert(at, Place { pass: Box::new(pass), is_added: true });
        self
    }

    /// Leaves out every pass of that name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Pipeline {
        if self.place_of(name).is_some() {
            self.leave_out(name);
        }
        self
    }

    /// Leaves out every pass of that name, if there is one.
    pub fn leave_out(&mut self, name: &str) {
        self.passes.retain(|place| place.pass.name() != name);
    }

    /// Asks that all passes of the first name run before those of the second, where the list has both; it is checked
    /// when the list is whole.
    #[must_use]
    pub fn in_order(mut self, first: &str, second: &str) -> Pipeline {
        self.orders.push(Order { first: first.to_owned(), second: second.to_owned(), asked_by: None });
        self
    }

    /// Stops after the first pass of that name.
    #[must_use]
    pub fn stop_after(mut self, name: &str) -> Pipeline {
        if self.place_of(name).is_some() {
            self.stop_after = Some(name.to_owned());
        }
        self
    }

    /// Keeps graphs as text.
    #[must_use]
    pub fn dump(mut self, dump: Dump) -> Pipeline {
        if let Dump::Pass(name) = &dump {
            let _ = self.place_of(name);
        }
        self.dump = dump;
        self
    }

    /// The place of the first pass of that name; that there is none is told when the list is checked.
    fn place_of(&mut self, name: &str) -> Option<usize> {
        let at = self.passes.iter().position(|place| place.pass.name() == name);
        if at.is_none() {
            self.unknown.get_or_insert_with(|| name.to_owned());
        }
        at
    }

    /// The passes in order.
    pub fn passes(&self) -> impl Iterator<Item = &dyn Pass> {
        self.passes.iter().map(|place| &*place.pass)
    }

    /// Checks that every name is one that a pass bears, and that every pass stands where it and the others require it
    /// to.
    pub fn check(&self) -> Result<(), PipelineError> {
        let names: Vec<&'static str> = self.passes().map(Pass::name).collect();
        if let Some(name) = &self.unknown {
            return Err(PipelineError::UnknownPass { name: name.clone(), known: names });
        }
        for order in self.orders() {
            if let Some(places) = order.broken_in(&names) {
                return Err(PipelineError::Order { order, places, passes: names });
            }
        }
        Ok(())
    }

    /// The requirements of the passes, and of whoever made the list.
    pub fn orders(&self) -> impl Iterator<Item = Order> {
        self.passes().flat_map(Order::asked_by).chain(self.orders.iter().cloned())
    }

    /// Runs the passes on a graph.
    ///
    /// # Errors
    /// What [`check`](Pipeline::check) finds, or a graph that the verifier refuses; the graph is then as the pass left it.
    pub fn run(&self, graph: &mut Graph, cx: &PassContext) -> Result<Report, PipelineError> {
        self.run_observed(graph, cx, &mut ())
    }

    /// The same, with an observer that sees the graph before the first pass and behind each.
    ///
    /// # Errors
    /// As [`run`](Pipeline::run); the observer has then seen the passes before the one that failed.
    pub fn run_observed(
        &self,
        graph: &mut Graph,
        cx: &PassContext,
        observer: &mut dyn Observer,
    ) -> Result<Report, PipelineError> {
        self.check()?;
        let traced = graph.clone();
        if let Err(faults) = graph.lint() {
            let text = graph.to_string();
            return Err(PipelineError::Broken { pass: "trace", faults, before: text.clone(), after: text });
        }
        observer.begin(graph);
        let mut report = Report::default();
        for (position, pass) in self.passes().enumerate() {
            let revision = graph.revision();
            let step = self.step(pass, graph, cx);
            let is_touched = step.changed.is_yes() || graph.revision() != revision;
            if is_touched && let Err(faults) = graph.lint() {
                let before = self.replay(traced, position, cx);
                return Err(PipelineError::Broken { pass: pass.name(), faults, before, after: graph.to_string() });
            }
            observer.behind(pass, &step, graph);
            report.steps.push(step);
            if self.stop_after.as_deref() == Some(pass.name()) {
                break;
            }
        }
        Ok(report)
    }

    fn step(&self, pass: &dyn Pass, graph: &mut Graph, cx: &PassContext) -> Step {
        let wanted = match &self.dump {
            Dump::None => false,
            Dump::Changes => true,
            Dump::Pass(name) => name == pass.name(),
        };
        let (text, count) = (wanted.then(|| graph.to_string()), graph.nodes().len());
        let (changed, rules) = match pass.rules() {
            Some(rules) => {
                let outcome = rules.run(pass.name(), graph, cx);
                (outcome.changed(), outcome)
            }
            None => (pass.run(graph, cx), Outcome::default()),
        };
        let kept = text.filter(|_| self.dump != Dump::Changes || changed.is_yes());
        let dump = kept.map(|before| (before, graph.to_string()));
        Step { pass: pass.name(), changed, nodes: (count, graph.nodes().len()), dump, rules }
    }

    /// The graph that pass number `end` was given.
    fn replay(&self, mut graph: Graph, end: usize, cx: &PassContext) -> String {
        for pass in self.passes().take(end) {
            pass.run(&mut graph, cx);
        }
        graph.to_string()
    }
}

/// One pass a line: its number, its name, what it does, and after or before which others it has to run.
impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.passes().map(|pass| pass.name().len()).max().unwrap_or(0);
        for (number, pass) in (1..).zip(self.passes()) {
            write!(f, "{number:>2}  {:width$}  {}", pass.name(), pass.doc())?;
            let asked = [("after", pass.after()), ("before", pass.before())];
            let asked = asked.into_iter().filter(|(_, names)| !names.is_empty());
            let asked: Vec<String> = asked.map(|(word, names)| format!("{word} {}", names.join(", "))).collect();
            if asked.is_empty() {
                writeln!(f)?;
            } else {
                writeln!(f, " ({})", asked.join("; "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.passes().map(Pass::name)).finish()
    }
}
