//! Why rules did not apply, by the names that people call them.

use fx_ir::Graph;

use super::{Pipeline, PipelineError};
use crate::pass::{Pass, PassContext};
use crate::rewrite::{Rule, WhyNot};

impl Pipeline {
    /// Why a rule did not apply, node by node, wherever it could have begun: what is left when its pass has run. The name
    /// is that of a pass (`fold-conv-bn` or `FoldConvBn`), or of a rule with or without its pass in front
    /// (`activations.silu` or `silu`).
    ///
    /// # Errors
    /// If no pass and no rule bears the name.
    pub fn explain(&self, name: &str, graph: &Graph, cx: &PassContext) -> Result<Vec<WhyNot>, PipelineError> {
        let (name, last) = (hyphened(name), self.explainable(name)?);
        let (mut graph, mut told) = (graph.clone(), Vec::new());
        for pass in self.passes().take(last + 1) {
            pass.run(&mut graph, cx);
            if rules_called(pass, &name).next().is_some() {
                let all = pass.rules().map(|rules| rules.explain(&graph, cx)).unwrap_or_default();
                told.extend(all.into_iter().filter(|why| is_called(pass, why.rule, &name)));
            }
        }
        Ok(told)
    }

    /// The position of the last pass that bears the name, or that has a rule of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn explainable(&self, name: &str) -> Result<usize, PipelineError> {
        let name = hyphened(name);
        let is_meant = |pass: &dyn Pass| pass.name() == name || rules_called(pass, &name).next().is_some();
        let position = self.passes().enumerate().filter(|(_, pass)| is_meant(*pass)).last();
        position.map(|(at, _)| at).ok_or_else(|| {
            let known = self.passes().filter(|pass| pass.rules().is_some()).map(Pass::name).collect();
            PipelineError::UnknownPass { name, known }
        })
    }

    /// The pass that bears the name.
    pub fn pass_called(&self, name: &str) -> Option<&dyn Pass> {
        let name = hyphened(name);
        self.passes().find(|pass| pass.name() == name)
    }

    /// The rules that a name means: all of the pass that bears it, or those that bear it.
    pub fn rules_called(&self, name: &str) -> Vec<&'static Rule> {
        let name = hyphened(name);
        self.passes().flat_map(|pass| rules_called(pass, &name)).collect()
    }
}

fn rules_called<'n>(pass: &dyn Pass, name: &'n str) -> impl Iterator<Item = &'static Rule> + use<'n> {
    let of = pass.name();
    let rules = pass.rules().map_or(&[][..], |set| set.rules());
    rules.iter().filter(move |rule| of == name || names(of, rule.name, name))
}

fn is_called(pass: &dyn Pass, rule: &str, name: &str) -> bool {
    pass.name() == name || names(pass.name(), rule, name)
}

/// Returns whether a rule of that pass bears the name, with or without the pass in front.
fn names(pass: &str, rule: &str, name: &str) -> bool {
    rule == name || rule.strip_prefix(pass).and_then(|rest| rest.strip_prefix('.')) == Some(name)
}

/// `FoldConvBn` and `fold_conv_bn` as `fold-conv-bn`; a name that has its hyphens stays.
fn hyphened(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() && !out.ends_with('.') {
            out.push('-');
        }
        out.extend(if c == '_' { '-' } else { c }.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_by_name() {
        let pipeline = Pipeline::inference();
        let of = |name: &str| pipeline.rules_called(name).iter().map(|rule| rule.name).collect::<Vec<_>>();
        assert_eq!(of("silu_quotient"), ["activations.silu-quotient"]);
        assert_eq!(of("activations.silu"), ["activations.silu"]);
        assert!(of("Activations").len() > 10 && of("Activations").contains(&"activations.relu6"));
        assert!(of("fold-batch-norm").is_empty() && of("silo").is_empty());
        assert!(pipeline.explainable("fold-batch-norm").is_ok() && pipeline.explainable("silo").is_err());
    }

    #[test]
    fn near_misses_say_how_near() {
        let text = "graph f(x: tensor, y: tensor) { %s = sigmoid(x) : tensor  @ net.rs:3
            %a = mul(%s, y) : tensor  @ net.rs:4
            yield %a }";
        let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let told = Pipeline::inference().explain("silu", &graph, &PassContext::default()).unwrap_or_default();
        let [why] = &told[..] else { panic!("{told:?}") };
        assert_eq!((why.rule, why.node.as_str(), why.matched), ("activations.silu", "a", 2));
        assert_eq!(why.places.iter().map(ToString::to_string).collect::<Vec<_>>(), ["net.rs:4"]);
    }
}
