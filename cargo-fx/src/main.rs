//! `cargo fx`: what there is to ask about a model from the command line.
//!
//! Cargo runs `cargo-fx fx ..` for `cargo fx ..`; called by its own name it takes the command at once. A command returns its
//! text and how it ended; only this file prints.

mod adopt;
mod commands;
mod driver;
mod failure;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{
    accuracy, adopt as adopt_command, bench, bisect, completions, diff, draw, expand, graph, profile, quantize, report,
    view, why,
};
use failure::Failure;

/// Looks at models, and at what they did.
#[derive(Parser)]
#[command(
    name = "cargo-fx",
    bin_name = "cargo fx",
    version,
    about = "fx from the command line",
    after_help = "`cargo fx COMMAND --help` says more, with examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Adopt(adopt_command::Options),
    Graph(Box<graph::Options>),
    Draw(Box<draw::Options>),
    Profile(Box<profile::Options>),
    Bench(Box<bench::Options>),
    Bisect(Box<bisect::Options>),
    Quantize(Box<quantize::Options>),
    Accuracy(Box<accuracy::Options>),
    View(Box<view::Options>),
    Report(Box<report::Options>),
    Expand(Box<expand::Options>),
    Why(Box<why::Options>),
    Diff(Box<diff::Options>),
    Completions(completions::Options),
}

/// What a command has to say.
struct Outcome {
    /// For standard output.
    text: String,
    /// 0; 1 where that was asked for; 2 where a program that was run has told an error.
    code: u8,
}

impl Outcome {
    fn done(text: String) -> Self {
        Self { text, code: 0 }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments(std::env::args_os()));
    let outcome = match cli.command {
        Command::Adopt(options) => adopt_command::run(&options),
        Command::Graph(options) => graph::run(&options),
        Command::Draw(options) => draw::run(&options),
        Command::Profile(options) => profile::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Bisect(options) => bisect::run(&options),
        Command::Quantize(options) => quantize::run(&options),
        Command::Accuracy(options) => accuracy::run(&options),
        Command::View(options) => view::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Expand(options) => expand::run(&options),
        Command::Why(options) => why::run(&options),
        Command::Diff(options) => diff::run(&options),
        Command::Completions(options) => Ok(completions::run(&options)),
    };
    match outcome.and_then(|outcome| print(&outcome)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(Failure::CODE)
        }
    }
}

/// The arguments without the `fx` that Cargo puts in front of them.
fn arguments(mut all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let program = all.next();
    let mut rest: Vec<OsString> = all.collect();
    if rest.first().is_some_and(|first| first == "fx") {
        rest.remove(0);
    }
    program.into_iter().chain(rest).collect()
}

/// Prints an outcome; who reads only the beginning, as `head` does, has got what he wanted.
fn print(outcome: &Outcome) -> Result<u8, Failure> {
    match io::stdout().lock().write_all(outcome.text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(outcome.code),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{Cli, arguments};

    #[test]
    fn commands_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn with_and_without_cargo() {
        let of = |all: &[&str]| arguments(all.iter().map(Into::into));
        assert_eq!(of(&["cargo-fx", "fx", "diff", "a", "b"]), ["cargo-fx", "diff", "a", "b"]);
        assert_eq!(of(&["cargo-fx", "diff", "fx", "b"]), ["cargo-fx", "diff", "fx", "b"]);
        assert!(of(&[]).is_empty());
    }
}
