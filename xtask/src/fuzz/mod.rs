//! `cargo xtask fuzz`: random models, each frozen against eager.
//!
//! What is printed are bodies on which fx is wrong: frozen computes something else, panics alone, or does not compile.
//! A body follows from its seed and its number, so that what was found once is found again.

mod fault;
mod grammar;
mod package;

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use fault::Kind;
use package::{Bodies, Packages};

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
    let itself = faults.values().filter(|fault| fault.kind == Kind::Itself).count();
    eprintln!("fuzz: {itself} panic by themselves ({} s)", start.elapsed().as_secs());
    let folder = packages.folder.join("faults");
    let _ = fs::create_dir_all(&folder);
    let mut count = 0;
    for (number, fault) in faults {
        if fault.kind == Kind::Itself {
            eprintln!("  {number}: {}", fault.said.lines().next().unwrap_or_default());
            continue;
        }
        count += 1;
        println!("seed {} body {number}: {}\n{}", options.seed, fault.kind, fault.said.chars().take(1500).collect::<String>());
        let file = folder.join(format!("{}-{number}.rs", options.seed));
        let _ = fs::write(file, &bodies[&number]);
    }
    if count == 0 { Ok(()) } else { Err(Failure::new(format!("fuzz: {count} bodies at fault"))) }
}

/// A body as one would write it.
fn shown(text: &str) -> String {
    match syn::parse_file(text) {
        Ok(file) => prettyplease::unparse(&file),
        // The compiler says what is wrong with it.
        Err(_) => text.to_owned(),
    }
}
