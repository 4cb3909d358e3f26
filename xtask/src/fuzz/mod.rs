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
use std::time::Instant;

use fault::Kind;
use package::{Bodies, Packages};
use shrink::Case;

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Variant};
use crate::workspace::Workspace;

/// What `fuzz` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many bodies are written.
    #[arg(long, default_value_t = 60)]
    bodies: usize,
    /// Only this body.
    #[arg(long)]
    only: Option<usize>,
    /// Print bodies as they were written, not made smaller.
    #[arg(long)]
    whole: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    let packages = Packages::new(workspace, &libtorch)?;
    let start = Instant::now();
    let numbers = (0..options.bodies).filter(|number| options.only.is_none_or(|only| only == *number));
    let mut bodies: Bodies = numbers.map(|number| (number, shown(&grammar::body(options.seed, number)))).collect();
    let broken = packages.drop_broken(&mut bodies)?;
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for fault in broken.values() {
        *codes.entry(fault.said.lines().next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let mut codes: Vec<_> = codes.into_iter().collect();
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (said, count) in codes {
        eprintln!("  {count} {said}");
    }
    eprintln!("fuzz: {} bodies are Rust, {} are not ({} s)", bodies.len(), broken.len(), start.elapsed().as_secs());
    let faults = packages.faults(&bodies)?;
    let count = |kind: Kind| faults.values().filter(|fault| fault.kind == kind).count();
    let (itself, left) = (count(Kind::Itself), count(Kind::Left));
    let agree = bodies.len() - faults.len();
    eprintln!(
        "fuzz: {agree} agree, {left} get no frozen type, {itself} panic by themselves ({} s)",
        start.elapsed().as_secs()
    );
    tell_understood(&packages);
    let mut cases = Vec::new();
    let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    for (number, fault) in faults.into_iter().filter(|(_, fault)| !matches!(fault.kind, Kind::Itself | Kind::Left)) {
        let numbers = kinds.entry(fault.kind.clone()).or_default();
        numbers.push(number);
        let most = if fault.kind == Kind::Differs { 8 } else { 1 };
        if numbers.len() <= most {
            cases.push(Case::new(number, bodies[&number].clone(), fault));
        }
    }
    for (kind, numbers) in &kinds {
        eprintln!("  {kind}: {numbers:?}");
    }
    if !options.whole {
        shrink::shrink(&packages, &mut cases)?;
    }
    let folder = packages.folder.join("faults");
    fs::create_dir_all(&folder).map_err(|error| Failure::file("make", &folder, &error))?;
    for case in &cases {
        let told = format!("seed {} body {}: {}\n{}", options.seed, case.number, case.fault.kind, case.fault.said);
        println!("{told}");
        let text = shown(&case.text);
        println!("{text}");
        let file = folder.join(format!("{}-{}.rs", options.seed, case.number));
        let told: String = told.lines().map(|line| format!("// {line}\n")).collect();
        fs::write(&file, format!("{told}{text}")).map_err(|error| Failure::file("write", &file, &error))?;
    }
    if kinds.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("fuzz: {} bodies at fault", kinds.values().map(Vec::len).sum::<usize>())))
    }
}

/// How much of the bodies was understood, and what most often was not.
fn tell_understood(packages: &Packages<'_>) {
    let report = packages.report().unwrap_or_default();
    let shares = report.lines().filter_map(|line| line.strip_suffix(" %")?.rsplit(' ').next()?.parse::<f64>().ok());
    let shares: Vec<f64> = shares.collect();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in report.lines().filter_map(|line| line.split_once("not understood: ")) {
        *reasons.entry(reason.1.trim_end_matches(" [FX0008]")).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let whole = shares.iter().filter(|share| **share > 99.9).count();
    eprintln!("fuzz: of {} models {whole} are understood whole; carried along:", shares.len());
    for (reason, count) in reasons.into_iter().take(25) {
        eprintln!("  {count} {reason}");
    }
}

/// A body as one would write it.
fn shown(text: &str) -> String {
    match syn::parse_file(text) {
        Ok(file) => prettyplease::unparse(&file),
        // The compiler says what is wrong with it.
        Err(_) => text.to_owned(),
    }
}
