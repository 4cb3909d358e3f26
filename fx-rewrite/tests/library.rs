//! The library's rules: each applies to its own pattern, and the page about them is up to date.

use expect_test::expect_file;
use fx_rewrite::pass::PassContext;
use fx_rewrite::{Graph, library};

#[test]
fn every_rule_applies_to_what_it_is_about() {
    let mut silent = Vec::new();
    for pass in library::passes() {
        let Some(rules) = pass.rules() else { continue };
        for rule in rules.rules() {
            let examples = rule.examples();
            if examples.is_empty() {
                silent.push(rule.name);
            }
            for graph in examples {
                check(&*pass, graph, rule.name);
            }
        }
    }
    assert_eq!(silent, [""; 0]);
}

fn check(pass: &dyn fx_rewrite::pass::Pass, mut graph: Graph, rule: &str) {
    let before = graph.to_string();
    assert_eq!(graph.lint(), Ok(()), "{before}");
    let outcome =
        pass.rules().map(|rules| rules.run(pass.name(), &mut graph, &PassContext::new(true))).unwrap_or_default();
    assert_eq!(graph.lint(), Ok(()), "{rule}: {before}\n{graph}");
    assert!(!outcome.exhausted && outcome.applied.iter().any(|&(_, count)| count > 0), "{rule}: {before}\n{graph}");
}

#[test]
fn the_page_of_rules_is_up_to_date() {
    expect_file!["../RULES.md"].assert_eq(&library::table(&library::passes()));
}
