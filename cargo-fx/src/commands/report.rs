//! `cargo fx report`: what a crate's build script said of its models.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::Outcome;
use crate::driver::{Cargo, Workspace, cargo, messages};
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
    let mut command = cargo();
    command.arg("check").arg("--manifest-path").arg(package.folder().join("Cargo.toml"));
    command
        .args(["--lib", "--profile", options.cargo.profile.as_deref().unwrap_or("dev")])
        .args(["--features", &options.cargo.features.join(",")]);
    if options.cargo.no_default_features {
        command.arg("--no-default-features");
    }
    let messages = messages(command, "")?;
    let is_ours = |message: &&serde_json::Value| {
        message["reason"] == "build-script-executed" && message["package_id"] == package.id.as_str()
    };
    let folder = messages.iter().find(is_ours).and_then(|message| message["out_dir"].as_str());
    let report = folder.and_then(|folder| fs::read_to_string(PathBuf::from(folder).join("fx/report.txt")).ok());
    let report = report.ok_or_else(|| Failure::NoReport { package: package.name.clone() })?;
    Ok(Outcome::done(if options.json {
        let lines: Vec<&str> = report.lines().collect();
        format!("{:#}\n", json!({ "package": package.name, "lines": lines }))
    } else {
        report
    }))
}
