//! `cargo xtask fuzz`: random models, each frozen against eager.
//!
//! What is printed are bodies on which fx is wrong: frozen computes something else, panics alone, or does not compile.
//! A body follows from its seed and its number, so that what was found once is found again.

mod fault;
mod grammar;
mod package;
mod reduce;
mod shrink;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use fault::Kind;
use package::{Bodies, Faults, Packages};
use shrink::Case;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Libtorch, Variant};
use crate::workspace::Workspace;

/// How many bodies are made smaller on which numbers differ; of every other kind of fault it is one.
const DIFFERENT: usize = 8;
/// How many of the reasons why something was carried along are told.
const REASONS: usize = 25;

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
}

impl Options {
    /// Few bodies, always the same: what every change is checked with.
    pub(crate) fn of_ci() -> Self {
        Self { seed: 1, bodies: 40, only: None, whole: true }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    check(workspace, &libtorch, options)
}

/// Fails where fx is wrong on any of the bodies, and prints them.
pub(crate) fn check(workspace: &Workspace, libtorch: &Libtorch, options: &Options) -> Result<()> {
    let packages = Packages::new(workspace, libtorch)?;
    let start = Instant::now();
    let numbers = (0..options.bodies).filter(|number| options.only.is_none_or(|only| only == *number));
    let mut bodies: Bodies = numbers.map(|number| (number, shown(&grammar::body(options.seed, number)))).collect();
    let broken = packages.drop_broken(&mut bodies)?;
    tell_broken(&broken);
    let faults = packages.faults(&bodies)?;
    let count = |kind: Kind| faults.values().filter(|fault| fault.kind == kind).count();
    eprintln!(
        "fuzz: {} of {} bodies agree, {} get no frozen type, {} panic by themselves ({} s)",
        bodies.len() - faults.len(),
        bodies.len(),
        count(Kind::Left),
        count(Kind::Itself),
        start.elapsed().as_secs()
    );
    tell_understood(&packages);
    let mut cases = cases(&bodies, faults);
    if cases.is_empty() {
        return Ok(());
    }
    if !options.whole {
        shrink::shrink(&packages, &mut cases)?;
    }
    let folder = packages.folder.join("faults");
    fs::create_dir_all(&folder).map_err(|error| Failure::file("make", &folder, &error))?;
    cases.iter().try_for_each(|case| print(case, options.seed, &folder))?;
    Err(Failure::new(format!("fuzz: {} kinds of faults", cases.len()))
        .looked(format!("in {} bodies of seed {}", options.bodies, options.seed))
        .help("`cargo xtask fuzz` with `--seed` and `--only` writes one of them again")
        .help(format!("what is printed lies in `{}`", folder.display())))
}

/// What the compiler said of the bodies that are no Rust: the grammar's own faults.
fn tell_broken(broken: &Faults) {
    let lines = broken.iter().map(|(number, fault)| (fault.said.lines().next().unwrap_or_default(), *number));
    eprintln!("fuzz: {} bodies are no Rust and are left out", broken.len());
    for (said, numbers) in grouped(lines) {
        eprintln!("  {said}: {numbers:?}");
    }
}

/// How much of the bodies was understood, and what most often was not, with a place for each.
fn tell_understood(packages: &Packages<'_>) {
    let report = packages.report().unwrap_or_default();
    let shares = report.lines().filter_map(|line| line.strip_suffix(" %")?.rsplit(' ').next()?.parse::<f64>().ok());
    let shares: Vec<f64> = shares.collect();
    let whole = shares.iter().filter(|share| **share > 99.9).count();
    eprintln!("fuzz: of {} models {whole} are understood whole; carried along:", shares.len());
    let carried = report.lines().filter_map(|line| line.split_once(": carried along, not understood: "));
    for (reason, places) in grouped(carried.map(|(place, reason)| (reason, place))).into_iter().take(REASONS) {
        eprintln!("  {} {reason} ({})", places.len(), places[0]);
    }
}

/// What belongs to each key, those with most of it first.
fn grouped<'a, T>(pairs: impl Iterator<Item = (&'a str, T)>) -> Vec<(&'a str, Vec<T>)> {
    let mut groups: BTreeMap<&str, Vec<T>> = BTreeMap::new();
    pairs.for_each(|(key, one)| groups.entry(key).or_default().push(one));
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    groups
}

/// The bodies on which fx is wrong, a few of each kind.
fn cases(bodies: &Bodies, faults: Faults) -> Vec<Case> {
    let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    let mut cases = Vec::new();
    for (number, fault) in faults.into_iter().filter(|(_, fault)| !matches!(fault.kind, Kind::Itself | Kind::Left)) {
        let numbers = kinds.entry(fault.kind.clone()).or_default();
        numbers.push(number);
        if numbers.len() <= if fault.kind == Kind::Differs { DIFFERENT } else { 1 } {
            cases.push(Case::new(number, bodies[&number].clone(), fault));
        }
    }
    for (kind, numbers) in &kinds {
        eprintln!("  {kind}: {numbers:?}");
    }
    cases
}

/// Prints a body with what is wrong with it, and keeps it in a file.
fn print(case: &Case, seed: u64, folder: &Path) -> Result<()> {
    let told = format!("seed {seed} body {}: {}\n{}", case.number, case.fault.kind, case.fault.said);
    let told: Vec<String> = told.lines().map(|line| format!("// {line}")).collect();
    let text = format!("{}\n{}\n", told.join("\n"), shown(&case.text));
    let file = folder.join(format!("{seed}-{}.rs", case.number));
    fs::write(&file, &text).map_err(|error| Failure::file("write", &file, &error))?;
    writeln!(std::io::stdout(), "{text}").map_err(|error| Failure::new("cannot print").looked(error.to_string()))
}

/// A body as one would write it.
fn shown(text: &str) -> String {
    // The compiler says what is wrong with one that cannot be parsed.
    syn::parse_file(text).map_or_else(|_| text.to_owned(), |file| prettyplease::unparse(&file))
}
