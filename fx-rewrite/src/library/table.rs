//! The rules as a table for readers, made from the rules themselves.

use std::fmt::Write as _;

use crate::pass::Pass;

/// A page in Markdown: for each pass its rules, each with what it replaces, by what, and when.
pub fn table(passes: &[Box<dyn Pass>]) -> String {
    let mut page =
        String::from("# Rules\n\nWhat each pass rewrites, in the order in which passes and rules are tried.\n");
    for pass in passes {
        let Some(rules) = pass.rules() else { continue };
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {}\n\n{}.\n\n", pass.name(), sentence(pass.doc()));
        page.push_str("| rule | before | after | if |\n|---|---|---|---|\n");
        for rule in rules.rules() {
            let name = rule.name.strip_prefix(pass.name()).unwrap_or(rule.name).trim_start_matches('.');
            let cells = [rule.text.before, rule.text.after, rule.text.guard].map(code);
            let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
        }
    }
    page
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

fn sentence(doc: &str) -> String {
    let mut chars = doc.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
