//! `cargo fx adopt`: makes a crate of tch models one of fx.

use std::fmt::Write as _;
use std::path::PathBuf;

use similar::TextDiff;

use crate::Outcome;
use crate::adopt::{Change, Plan, Request, plan};
use crate::failure::Failure;

/// How many lines that stay are shown around those that change.
const CONTEXT: usize = 3;

/// Edit a crate of tch models so that fx compiles them: dependencies, build.rs, `use` lines, derives, `#[traceable]`
///
/// Run it once in a crate; what is there already stays, and so do comments and formatting. Layers become those of
/// `fx_runtime::nn`, which have tch's names; structs and enums that hold layers derive `fx_runtime::Module`; and
/// `#[fx_runtime::traceable]` is put on the models: the types with a `forward` or `forward_t` that are no part of another,
/// and the functions that build a model out of closures. Nothing is written unless all of it can be.
///
/// Exit code: 0 done or nothing to do, 2 a file cannot be read, parsed or written, or the crate is for another tch.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx adopt --dry-run\n  cargo fx adopt --fx-path ../fx\n  cargo fx adopt --upgrade-tch --manifest-path nets/Cargo.toml"
)]
pub(crate) struct Options {
    /// Print what would change as a unified diff, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The Cargo.toml of the package; by default the nearest one
    #[arg(long, value_name = "FILE")]
    manifest_path: Option<PathBuf>,
    /// Depend on the checkout of fx in this folder, in place of the registry's crates
    #[arg(long, value_name = "FOLDER")]
    fx_path: Option<PathBuf>,
    /// Rewrite the requirement of another version of tch; code that it breaks is left to you
    #[arg(long)]
    upgrade_tch: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let plan = plan(Request {
        manifest: options.manifest_path.as_deref(),
        checkout: options.fx_path.as_deref(),
        upgrade_tch: options.upgrade_tch,
    })?;
    if options.dry_run {
        return Ok(Outcome::done(plan.changes.iter().map(diff).collect()));
    }
    plan.write()?;
    Ok(Outcome::done(summary(&plan)))
}

/// The change as `diff -u` writes one.
fn diff(change: &Change) -> String {
    let before = if change.is_new() { "/dev/null".to_owned() } else { format!("a/{}", change.name) };
    let diff = TextDiff::from_lines(&change.before, &change.after);
    diff.unified_diff().context_radius(CONTEXT).header(&before, &format!("b/{}", change.name)).to_string()
}

fn summary(plan: &Plan) -> String {
    if plan.changes.is_empty() {
        return "nothing to do: the crate is adopted already\n".to_owned();
    }
    let mut text = String::new();
    for change in &plan.changes {
        let _ = writeln!(
            text,
            "{:9} {}: {}",
            if change.is_new() { "wrote" } else { "edited" },
            change.name,
            change.summary
        );
    }
    for (model, place) in &plan.models {
        let _ = writeln!(text, "traceable {model} ({place})");
    }
    for (name, place) in &plan.without_forward {
        let _ = writeln!(
            text,
            "left {name} ({place}): it has layers and no forward; name what a program calls: `#[fx_runtime::traceable(entry = [..])]`"
        );
    }
    if plan.models.is_empty() {
        text += "no model was found: put `#[fx_runtime::traceable]` on the impl that holds what a program calls\n";
    }
    text + "next: `cargo build`, then `cargo fx report` says what of each model is understood\n"
}
