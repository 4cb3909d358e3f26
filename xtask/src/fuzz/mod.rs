//! `cargo xtask fuzz`: random models, each frozen against eager.
//!
//! Bodies are written, built and run a package at a time, so that a long run takes no more memory than a short one. What
//! is printed in the end are bodies on which fx is wrong: frozen computes something else, panics alone, or does not
//! compile. A body follows from its seed and its number, so that what was found once is found again.

mod fault;
mod findings;
mod grammar;
mod package;
mod reduce;
mod run;
mod shrink;

use std::ops::Range;

use findings::Findings;
use package::{Bodies, Packages};

use crate::failure::Result;
use crate::libtorch::{self, Libtorch, Variant};
use crate::workspace::Workspace;

/// How many bodies are built at once, in all crates together.
const PACKAGE: usize = 120;

/// What `fuzz` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many bodies are written.
    #[arg(long, default_value_t = 60)]
    bodies: usize,
    /// Only the body of this number.
    #[arg(long)]
    only: Option<usize>,
    /// Print bodies as they were written, not made smaller.
    #[arg(long)]
    whole: bool,
    /// Only write the sources of the bodies, and build nothing.
    #[arg(long)]
    write_only: bool,
    /// Build into the workspace's target folder, where dependencies are built already.
    #[arg(skip)]
    shares_target: bool,
}

impl Options {
    /// Few bodies, always the same: what every change is checked with.
    pub(crate) fn of_ci() -> Self {
        Self { seed: 1, bodies: 40, only: None, whole: true, write_only: false, shares_target: true }
    }

    fn numbers(&self) -> Range<usize> {
        self.only.map_or(0..self.bodies, |only| only..only + 1)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    check(workspace, &libtorch, options)
}

/// Fails where fx is wrong on any of the bodies, and prints them.
pub(crate) fn check(workspace: &Workspace, libtorch: &Libtorch, options: &Options) -> Result<()> {
    let packages = Packages::new(workspace, libtorch, options.shares_target)?;
    let mut findings = Findings::new(options.seed, packages.folder.join("faults"));
    let numbers = options.numbers();
    if options.write_only {
        return packages
            .write_all(&numbers.map(|number| (number, shown(&grammar::body(options.seed, number)))).collect());
    }
    for first in numbers.clone().step_by(PACKAGE) {
        let numbers = first..numbers.end.min(first + PACKAGE);
        let mut bodies: Bodies = numbers.map(|number| (number, shown(&grammar::body(options.seed, number)))).collect();
        findings.leave_out(packages.drop_broken(&mut bodies)?);
        findings.add(&bodies, packages.faults(&bodies)?)?;
        findings.read(&packages.reports());
        findings.tell_progress(options.numbers().len());
    }
    findings.tell();
    if !options.whole {
        shrink::shrink(&packages, &mut findings.cases)?;
    }
    findings.print()
}

/// A body as one would write it.
fn shown(text: &str) -> String {
    // The compiler says what is wrong with one that cannot be parsed.
    syn::parse_file(text).map_or_else(|_| text.to_owned(), |file| prettyplease::unparse(&file))
}
