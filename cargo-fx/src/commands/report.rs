//! `cargo fx report`: what a crate's build script said of its models.

use serde_json::json;

use crate::Outcome;
use crate::driver::{Cargo, Workspace, build_script_output};
use crate::failure::Failure;

/// Print the build's report: what of each model is understood, what is fused and packed, and what is not and why
///
/// Exit code: 0 done, 2 the crate does not compile or no build script of fx wrote a report.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo fx report\n  cargo fx report --package my_crate --json")]
pub(crate) struct Options {
    /// The package; by default that of this folder
    #[arg(long, short, value_name = "NAME")]
    package: Option<String>,
    /// Print JSON instead
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cargo: Cargo,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let workspace = Workspace::read(&options.cargo)?;
    let package = workspace.member(options.package.as_deref())?;
    let report = build_script_output(package, &options.cargo, "report.txt", &[])?;
    Ok(Outcome::done(if options.json {
        let lines: Vec<&str> = report.lines().collect();
        format!("{:#}\n", json!({ "package": package.name, "lines": lines }))
    } else {
        report
    }))
}
