//! The maintainer's commands: `cargo xtask <command>`.
//!
//! One file a command. Whatever runs a model calls [`libtorch::ensure`] first, so that a fresh clone needs no step
//! before `cargo xtask demo`. This crate itself builds without libtorch.

mod bench;
mod ci;
mod codegen;
mod corpus;
mod demo;
mod expand;
mod failure;
mod fuzz;
mod fx_bench;
mod libtorch;
mod picture;
mod progress;
mod results;
#[cfg(test)]
mod script;
mod setup;
mod shim;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The maintainer's commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find libtorch 2.11.0, or fetch it into `.libtorch`.
    Setup(setup::Options),
    /// Run the ResNet-18 example: eager against frozen, numbers and times.
    Demo(demo::Options),
    /// Run every test of the workspace, doc examples too.
    Test(test::Options),
    /// Run the criterion benches.
    Bench(bench::Options),
    /// Print the code generated for an example.
    Expand(expand::Options),
    /// Write random models, and tell where frozen ones differ from eager ones.
    Fuzz(fuzz::Options),
    /// Adopt crates of tch models as they are found, and run them frozen against eager.
    Corpus(corpus::Options),
    /// Build the binary `fx-bench` and print its path.
    FxBench(fx_bench::Options),
    /// Measure ours against its rivals and write benches/RESULTS.md.
    Results(results::Options),
    /// Write fx-ir's op catalog anew from PyTorch's and tch's sources.
    Codegen(codegen::Options),
    /// Draw the way from source to kernels, which the README shows.
    Picture(picture::Options),
    /// Check the shape of the source: lengths, docs, unsafe code, what links libtorch.
    Tidy(tidy::Options),
    /// Run what a change must pass, step by step.
    Ci(ci::Options),
}

fn main() -> ExitCode {
    let workspace = Workspace::of_this_build();
    let outcome = match Cli::parse().command {
        Command::Setup(options) => setup::run(&workspace, &options),
        Command::Demo(options) => demo::run(&workspace, &options),
        Command::Test(options) => test::run(&workspace, &options),
        Command::Bench(options) => bench::run(&workspace, &options),
        Command::Expand(options) => expand::run(&workspace, &options),
        Command::Fuzz(options) => fuzz::run(&workspace, &options),
        Command::Corpus(options) => corpus::run(&workspace, &options),
        Command::FxBench(options) => fx_bench::run(&workspace, &options),
        Command::Results(options) => results::run(&workspace, &options),
        Command::Codegen(options) => codegen::run(&workspace, &options),
        Command::Picture(options) => picture::run(&workspace, &options),
        Command::Tidy(options) => tidy::run(&workspace, &options),
        Command::Ci(options) => ci::run(&workspace, &options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
