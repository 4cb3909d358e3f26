//! The pipeline: one ordered list of passes, with the verifier between each two.
//!
//! A fault that the verifier finds is a mistake of the pass before it, never of the user's. The run stops there, and the
//! error holds the graph before and after, so that the mistake can be told in a test.

use std::fmt;

use fx_ir::{Fault, Graph};

use crate::library;
use crate::pass::{Changed, Pass, PassContext};
use crate::passes::{
    CommonSubexpressions, DeadCode, FoldBatchNorm, FuseEpilogue, LayoutSafe, LowerModules, PackKernels, RemoveIdentity,
};
use crate::rewrite::{Outcome, WhyNot};

/// Passes in the order in which they run.
pub struct Pipeline {
    first: Vec<Box<dyn Pass>>,
    passes: Vec<Box<dyn Pass>>,
    stop_after: Option<String>,
    dump: Dump,
    unknown: Option<String>,
}

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

/// What happened, pass by pass.
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
    /// Did it change the graph?
    pub changed: Changed,
    /// How many nodes there were before and after.
    pub nodes: (usize, usize),
    /// The graph before and after, where a dump was asked for.
    pub dump: Option<(String, String)>,
    /// What each rule did, if the pass is made of rules.
    pub rules: Outcome,
}

/// Why a pipeline did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineError {
    /// No pass of the pipeline bears this name.
    UnknownPass {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A pass left a graph that the verifier refuses.
    Broken {
        /// The pass; `trace` if the graph was refused before the first.
        pass: &'static str,
        /// What is wrong.
        faults: Vec<Fault>,
        /// The graph before the pass.
        before: String,
        /// The graph after it.
        after: String,
    },
}

impl Pipeline {
    /// No passes yet.
    pub fn empty() -> Pipeline {
        Pipeline { first: Vec::new(), passes: Vec::new(), stop_after: None, dump: Dump::None, unknown: None }
    }

    /// What turns a model's forward into its frozen form: clean, recognise, lower, fold, fuse, pack.
    pub fn inference() -> Pipeline {
        let mut clean = Pipeline::empty().then(RemoveIdentity).then(CommonSubexpressions).then(DeadCode);
        clean.passes.extend(library::passes());
        clean
            .then(LowerModules)
            .then(CommonSubexpressions)
            .then(FoldBatchNorm)
            .then(FuseEpilogue)
            .then(LayoutSafe)
            .then(PackKernels)
            .then(CommonSubexpressions)
            .then(DeadCode)
    }

    /// Appends a pass.
    #[must_use]
    pub fn then(mut self, pass: impl Pass + 'static) -> Pipeline {
        self.passes.push(Box::new(pass));
        self
    }

    /// Puts a pass first: it sees the graph as it was traced, after the passes that were put first before it.
    #[must_use]
    pub fn with(mut self, pass: impl Pass + 'static) -> Pipeline {
        self.first.push(Box::new(pass));
        self
    }

    /// Leaves out every pass of that name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Pipeline {
        self = self.checked(name);
        self.first.retain(|pass| pass.name() != name);
        self.passes.retain(|pass| pass.name() != name);
        self
    }

    /// Stops after the first pass of that name.
    #[must_use]
    pub fn stop_after(mut self, name: &str) -> Pipeline {
        self = self.checked(name);
        self.stop_after = Some(name.to_owned());
        self
    }

    /// Keeps graphs as text.
    #[must_use]
    pub fn dump(mut self, dump: Dump) -> Pipeline {
        if let Dump::Pass(name) = &dump {
            self = self.checked(name);
        }
        self.dump = dump;
        self
    }

    /// The passes in order.
    pub fn passes(&self) -> impl Iterator<Item = &dyn Pass> {
        self.first.iter().chain(&self.passes).map(AsRef::as_ref)
    }

    /// Runs the passes on a graph.
    ///
    /// # Errors
    /// A name that no pass bears, or a graph that the verifier refuses; the graph is then as the pass left it.
    pub fn run(&self, graph: &mut Graph, cx: &PassContext) -> Result<Report, PipelineError> {
        if let Some(name) = &self.unknown {
            let known = self.passes().map(Pass::name).collect();
            return Err(PipelineError::UnknownPass { name: name.clone(), known });
        }
        let traced = graph.clone();
        if let Err(faults) = graph.lint() {
            let text = graph.to_string();
            return Err(PipelineError::Broken { pass: "trace", faults, before: text.clone(), after: text });
        }
        let mut report = Report::default();
        for (position, pass) in self.passes().enumerate() {
            report.steps.push(self.step(pass, graph, cx));
            if let Err(faults) = graph.lint() {
                let before = self.replay(traced, position, cx);
                return Err(PipelineError::Broken { pass: pass.name(), faults, before, after: graph.to_string() });
            }
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
        let kept = text.filter(|_| self.dump != Dump::Changes || changed == Changed::Yes);
        let dump = kept.map(|before| (before, graph.to_string()));
        Step { pass: pass.name(), changed, nodes: (count, graph.nodes().len()), dump, rules }
    }

    /// Why a rule did not apply, node by node, wherever it could have begun: what is left when its pass has run. The name
    /// is that of a pass (`fold-conv-bn` or `FoldConvBn`) or of one of its rules.
    ///
    /// # Errors
    /// If no pass and no rule bears the name.
    pub fn explain(&self, name: &str, graph: &Graph, cx: &PassContext) -> Result<Vec<WhyNot>, PipelineError> {
        let name = hyphened(name);
        let rule = |pass: &dyn Pass| pass.rules().is_some_and(|set| set.rules().iter().any(|rule| rule.name == name));
        let found = self.passes().position(|pass| pass.name() == name || rule(pass));
        let Some((at, pass)) = found.and_then(|at| self.passes().nth(at).map(|pass| (at, pass))) else {
            let known = self.passes().filter(|pass| pass.rules().is_some()).map(Pass::name).collect();
            return Err(PipelineError::UnknownPass { name, known });
        };
        let mut graph = graph.clone();
        for pass in self.passes().take(at + 1) {
            pass.run(&mut graph, cx);
        }
        let told = pass.rules().map(|rules| rules.explain(&graph, cx)).unwrap_or_default();
        Ok(told.into_iter().filter(|why| pass.name() == name || why.rule == name).collect())
    }

    /// The graph that pass number `end` was given.
    fn replay(&self, mut graph: Graph, end: usize, cx: &PassContext) -> String {
        for pass in self.passes().take(end) {
            pass.run(&mut graph, cx);
        }
        graph.to_string()
    }

    fn checked(mut self, name: &str) -> Pipeline {
        if !self.passes().any(|pass| pass.name() == name) {
            self.unknown.get_or_insert_with(|| name.to_owned());
        }
        self
    }
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

/// `FoldConvBn` as `fold-conv-bn`; a name that has its hyphens stays.
fn hyphened(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// One pass a line: its number, its name, what it does.
impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.passes().map(|pass| pass.name().len()).max().unwrap_or(0);
        for (number, pass) in (1..).zip(self.passes()) {
            writeln!(f, "{number:>2}  {:width$}  {}", pass.name(), pass.doc())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.passes().map(Pass::name)).finish()
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PipelineError::UnknownPass { name, known } => {
                write!(f, "there is no pass `{name}`; the passes are {}", known.join(", "))
            }
            PipelineError::Broken { pass, faults, before, after } => {
                writeln!(f, "the pass `{pass}` left a graph that is not sound; this is a bug in fx")?;
                for fault in faults {
                    writeln!(f, "  {fault}")?;
                }
                write!(f, "before:\n{before}\nafter:\n{after}")
            }
        }
    }
}

impl std::error::Error for PipelineError {}

#[cfg(test)]
#[allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]
mod tests {
    use expect_test::expect;
    use fx_ir::ParseError;

    use super::*;

    /// Forgets how the graph ends.
    struct Careless;

    impl Pass for Careless {
        fn name(&self) -> &'static str {
            "careless"
        }

        fn doc(&self) -> &'static str {
            "breaks graphs"
        }

        fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
            let body = graph.body();
            let count = graph.region(body).nodes.len();
            graph.truncate(body, count - 1);
            Changed::Yes
        }
    }

    const TEXT: &str = "graph f(x: tensor) { %a = neg(x) : tensor ; %b = dropout(x, 0.5, false) : tensor ; yield %b }";

    #[test]
    fn the_list_is_visible() {
        expect![[r#"
             1  remove-identity        takes out dropout, Identity and handles that only pass their input on
             2  common-subexpressions  merges nodes that compute the same
             3  dead-code              erases nodes without readers and without effects, control flow included
             4  arithmetic             takes out arithmetic that does nothing, and gives powers and reciprocals their canonical form
             5  layout                 makes one of chains of reshapes, permutations and transpositions
             6  activations            turns activations spelled out in elementary ops into the op that says it
             7  norms                  turns normalisations spelled out in elementary ops into the op that says it
             8  attention              turns attention written by hand into one op
             9  linears                turns products with weights that are known at freeze time into linear layers
            10  lower-modules          turns convolutions, linear layers and activations into ops on their weights
            11  common-subexpressions  merges nodes that compute the same
            12  fold-batch-norm        folds batch norms into the weights of the layers before them
            13  fuse-epilogue          fuses additions and activations into the convolutions and linear layers before them
            14  layout-safe            turns view into reshape and hands tensors to foreign code in row-major order
            15  pack-kernels           packs each layer into a kernel at freeze time
            16  common-subexpressions  merges nodes that compute the same
            17  dead-code              erases nodes without readers and without effects, control flow included
        "#]].assert_eq(&Pipeline::inference().to_string());
    }

    #[test]
    fn passes_are_put_in_and_left_out() {
        let pipeline =
            Pipeline::inference().with(Careless).with(DeadCode).without("pack-kernels").without("layout-safe");
        let names: Vec<_> = pipeline.passes().map(Pass::name).collect();
        expect!["careless dead-code remove-identity common-subexpressions dead-code arithmetic layout activations norms attention linears lower-modules common-subexpressions fold-batch-norm fuse-epilogue common-subexpressions dead-code"].assert_eq(&names.join(" "));
    }

    #[test]
    fn a_report_says_what_each_pass_did() -> Result<(), ParseError> {
        let mut graph: Graph = TEXT.parse()?;
        let pipeline = Pipeline::inference().dump(Dump::Changes).stop_after("dead-code");
        let report = pipeline.run(&mut graph, &PassContext::default()).unwrap_or_default();
        let told = |step: &Step| {
            let dump = step.dump.as_ref().map(|(before, after)| format!("\n{before}\n=>\n{after}"));
            format!("{} {:?} {:?}{}\n", step.pass, step.changed, step.nodes, dump.unwrap_or_default())
        };
        let text: String = report.steps.iter().map(told).collect();
        expect![[r#"
            remove-identity Yes (4, 3)
            graph f(x: tensor) {
              %a = neg(x) : tensor
              %b = dropout(x, 0.5, false) : tensor
              yield %b
            }
            =>
            graph f(x: tensor) {
              %a = neg(x) : tensor
              yield x
            }
            common-subexpressions No (3, 3)
            dead-code Yes (3, 2)
            graph f(x: tensor) {
              %a = neg(x) : tensor
              yield x
            }
            =>
            graph f(x: tensor) {
              yield x
            }
        "#]]
        .assert_eq(&text);
        Ok(())
    }

    #[test]
    fn a_broken_graph_names_the_pass_that_broke_it() -> Result<(), ParseError> {
        let mut graph: Graph = TEXT.parse()?;
        let pipeline = Pipeline::empty().then(RemoveIdentity).then(Careless).then(DeadCode);
        let error = pipeline.run(&mut graph, &PassContext::default()).err().map(|error| error.to_string());
        expect![[r#"
            the pass `careless` left a graph that is not sound; this is a bug in fx
              `f` has a region that does not end in a yield [yield]
            before:
            graph f(x: tensor) {
              %a = neg(x) : tensor
              yield x
            }
            after:
            graph f(x: tensor) {
              %a = neg(x) : tensor
            }"#]]
        .assert_eq(&error.unwrap_or_default());
        Ok(())
    }

    #[test]
    fn a_name_that_no_pass_bears_is_told() -> Result<(), ParseError> {
        let mut graph: Graph = TEXT.parse()?;
        let pipeline = Pipeline::empty().then(RemoveIdentity).without("remove-identities");
        let error = pipeline.run(&mut graph, &PassContext::default()).err().map(|error| error.to_string());
        let want = "there is no pass `remove-identities`; the passes are remove-identity";
        assert_eq!(error.as_deref(), Some(want));
        Ok(())
    }

    /// Layers enough to show a pass whose cost grows with the square of the graph.
    #[test]
    fn large_graphs_are_no_trouble() -> Result<(), ParseError> {
        let mut text = "graph f(self: module<Net>, x_0: tensor) {\n".to_owned();
        for i in 0..1000 {
            let layer = format!(
                "%conv_{i} = get_attr[conv_{i}](self) : module<Conv2D>
                %bn_{i} = get_attr[bn_{i}](self) : module<BatchNorm>
                %c_{i} = call_module[Conv2D](%conv_{i}, x_{i}) : tensor
                %d_{i} = call_module[BatchNorm](%bn_{i}, %c_{i}) : tensor
                %s_{i} = add(%d_{i}, x_{i}) : tensor
                %x_{} = relu(%s_{i}) : tensor\n",
                i + 1
            );
            text.push_str(&layer.replace(&format!("x_{i})"), &format!("{}x_{i})", if i > 0 { "%" } else { "" })));
        }
        let mut graph: Graph = (text + "yield %x_1000 }").parse()?;
        let start = std::time::Instant::now();
        assert!(Pipeline::inference().run(&mut graph, &PassContext::new(true)).is_ok());
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        let runs = graph.nodes().into_iter().filter(|&id| graph.node(id).name.starts_with('x')).count();
        assert_eq!(runs, 1001);
        Ok(())
    }
}
