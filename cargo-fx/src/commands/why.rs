//! `cargo fx why`: where a rewrite rule nearly matched, and what was in the way.

mod answer;

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use self::answer::{Answer, Model, Near, Rule};
use crate::Outcome;
use crate::driver::{Cargo, Workspace, build_script_output};
use crate::failure::Failure;

/// Say why a rewrite rule did not match: where it nearly did, and which condition failed there
///
/// RULE is a rule (`silu`, `activations.silu`) or a pass with all its rules (`activations`); an unknown one lists those that there
/// are. The build script is run anew, and so is the compiler on the package at the next build.
///
/// Exit code: 0 the rule applied somewhere, 1 it applied nowhere, 2 there is no such rule or the crate does not compile.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx why silu\n  cargo fx why fold-conv-bn --model my_crate::Net\n  cargo fx why activations \
                  --package my_crate --json"
)]
pub(crate) struct Options {
    /// The rule, or a pass for all of its rules
    rule: String,
    /// The model's type, with the name of its crate: `my_crate::Net`; by default all of the package
    #[arg(long, value_name = "PATH")]
    model: Option<String>,
    /// The package, where no model is given; by default that of this folder
    #[arg(long, short, value_name = "NAME", conflicts_with = "model")]
    package: Option<String>,
    /// How many near misses are shown of each rule in each model
    #[arg(long, default_value_t = 10, value_name = "N")]
    rows: usize,
    /// Print JSON instead, with all near misses
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cargo: Cargo,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let workspace = Workspace::read(&options.cargo)?;
    let (package, model) = match &options.model {
        None => (workspace.member(options.package.as_deref())?, None),
        Some(path) => {
            let (krate, ty) = path.split_once("::").ok_or_else(|| Failure::NoCrate { model: path.clone() })?;
            (workspace.library(krate)?, Some(ty.rsplit("::").next().unwrap_or(ty)))
        }
    };
    let text = build_script_output(package, &options.cargo, "why.txt", &[("FX_WHY", &options.rule)])?;
    let mut answer = Answer::parse(&text);
    if answer.asked.is_empty() {
        return Err(unknown(&options.rule, &answer));
    }
    if let Some(name) = model {
        let known = answer.models.iter().map(|model| model.name.clone()).collect();
        answer.models.retain(|model| model.name == name);
        if answer.models.is_empty() {
            return Err(Failure::UnknownModel { name: name.to_owned(), known });
        }
    }
    let has_applied = answer.models.iter().any(|model| model.rules.iter().any(|rule| rule.applied > 0));
    let text = if options.json { format!("{:#}\n", as_json(&answer)) } else { shown(&answer, options.rows) };
    Ok(Outcome { text, code: u8::from(!has_applied) })
}

/// How alike two names have to be for one to be proposed for the other, from 0 to 1.
const ALIKE: f64 = 0.8;

/// The rules that there are, those with a name like the one that was asked for in front.
fn unknown(name: &str, answer: &Answer) -> Failure {
    let alike = |known: &str| {
        let last = known.rsplit('.').next().unwrap_or(known);
        strsim::jaro_winkler(name, known).max(strsim::jaro_winkler(name, last))
    };
    let mut close: Vec<&str> =
        answer.known.iter().map(|rule| rule.name.as_str()).filter(|name| alike(name) > ALIKE).collect();
    close.sort_by(|a, b| alike(b).total_cmp(&alike(a)));
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let known: Vec<&str> = answer.known.iter().map(|rule| rule.name.as_str()).collect();
    Failure::UnknownRule { name: name.to_owned(), close: owned(&close), known: owned(&known) }
}

fn shown(answer: &Answer, rows: usize) -> String {
    let mut out = String::new();
    for rule in answer.known.iter().filter(|rule| answer.asked.contains(&rule.name)) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", headline(rule));
        for model in &answer.models {
            of_model(&mut out, rule, model, rows);
        }
    }
    out
}

fn headline(rule: &Rule) -> String {
    let doc = if rule.doc.is_empty() { String::new() } else { format!(": {}", rule.doc) };
    if rule.before.is_empty() {
        let name = &rule.name;
        return format!("{name}{doc}\n  a pass in Rust, without rules: `cargo fx view` shows what it changed");
    }
    let guard = if rule.guard.is_empty() { String::new() } else { format!(" if {}", rule.guard) };
    format!("{}{doc}\n  {} => {}{guard}", rule.name, rule.before, rule.after)
}

fn of_model(out: &mut String, rule: &Rule, model: &Model, rows: usize) {
    let Some(of) = model.rules.iter().find(|of| of.name == rule.name) else {
        if !rule.before.is_empty() {
            let _ = writeln!(
                out,
                "\n  `{}`: applied nowhere, and no node is of the kind that the pattern ends in\n",
                model.name
            );
        }
        return;
    };
    let _ = writeln!(out, "\n  `{}`: applied {}, {} near misses", model.name, times(of.applied), of.near.len());
    for near in of.near.iter().take(rows) {
        let _ = writeln!(out, "    {}{}: {}{}", near.node, at(near), near.reason, fitted(near));
    }
    if of.near.len() > rows {
        let _ = writeln!(out, "    and {} more: `--rows {}`", of.near.len() - rows, of.near.len());
    }
    out.push('\n');
}

fn times(count: usize) -> String {
    match count {
        0 => "nowhere".to_owned(),
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

fn at(near: &Near) -> String {
    if near.places.is_empty() { String::new() } else { format!(" ({})", near.places.join(", ")) }
}

fn fitted(near: &Near) -> String {
    match near.matched {
        0 => String::new(),
        1 => " (1 operation fits)".to_owned(),
        count => format!(" ({count} operations fit)"),
    }
}

fn as_json(answer: &Answer) -> Json {
    let near = |near: &Near| json!({ "node": near.node, "source": near.places, "reason": near.reason, "matched": near.matched });
    let models = answer.models.iter().flat_map(|model| {
        model.rules.iter().map(move |rule| {
            let near: Vec<Json> = rule.near.iter().map(near).collect();
            json!({ "model": model.name, "rule": rule.name, "applied": rule.applied, "near": near })
        })
    });
    let rules = answer.known.iter().filter(|rule| answer.asked.contains(&rule.name)).map(|rule| {
        json!({ "name": rule.name, "doc": rule.doc, "before": rule.before, "after": rule.after, "guard": rule.guard })
    });
    json!({ "rules": rules.collect::<Vec<_>>(), "models": models.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const TEXT: &str = "asked\tactivations.silu\npass\tdead-code\terases what nothing reads\n\
        rule\tactivations.silu\tx * sigmoid(x) is SiLU.\tx * x.sigmoid()\tx.silu()\t\n\
        rule\tactivations.relu\t\tx.clamp_min(0.0)\tx.relu()\tis_float(x)\nmodel\tNet\nmodel\tOther\n\
        near\tNet\tactivations.silu\t1\tmul\tsrc/net.rs:3,src/net.rs:4\t`add` is `add.Tensor`, not `sigmoid`\n\
        near\tNet\tactivations.silu\t2\tmul_1\t\t`sigmoid` is also read by `add`\n\
        applied\tNet\tactivations.silu\t3\n";

    #[test]
    fn the_nearest_first() {
        expect![[r"
            activations.silu: x * sigmoid(x) is SiLU.
              x * x.sigmoid() => x.silu()

              `Net`: applied 3 times, 2 near misses
                mul_1: `sigmoid` is also read by `add` (2 operations fit)
                and 1 more: `--rows 2`


              `Other`: applied nowhere, and no node is of the kind that the pattern ends in

        "]]
        .assert_eq(&shown(&Answer::parse(TEXT), 1));
        let json = as_json(&Answer::parse(TEXT));
        assert_eq!(json["models"][0]["near"][1]["source"], json!(["src/net.rs:3", "src/net.rs:4"]));
        assert_eq!(json["models"][0]["applied"], 3);
    }

    #[test]
    fn a_pass_in_rust() {
        let text = "asked\tdead-code\npass\tdead-code\terases what nothing reads\nmodel\tNet\n";
        assert_eq!(
            shown(&Answer::parse(text), 1),
            "dead-code: erases what nothing reads\n  a pass in Rust, without rules: `cargo fx view` shows what it changed\n"
        );
    }

    #[test]
    fn names_that_are_close() {
        let message = unknown("silo", &Answer::parse(TEXT)).to_string();
        expect![[r"
            there is no rule `silo`; did you mean activations.silu? The rules, and the passes without, are:
              dead-code
              activations.silu
              activations.relu"]]
        .assert_eq(&message);
        assert!(!unknown("xyz", &Answer::parse(TEXT)).to_string().contains("did you mean"));
    }
}
