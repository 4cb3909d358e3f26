//! What a run has found: counts, what was opaque, and the bodies on which fx is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::fault::Kind;
use super::package::{Bodies, Faults};
use super::shown;
use super::shrink::Case;
use crate::failure::{Failure, Result};

/// How many bodies are made smaller on which numbers differ; of every other kind of fault it is one.
const DIFFERENT: usize = 8;
/// How many of the reasons why something was opaque are told.
const REASONS: usize = 25;

/// What is found, package by package.
pub(super) struct Findings {
    seed: u64,
    start: Instant,
    /// The folder that bodies on which fx is wrong are written to.
    folder: PathBuf,
    /// How many bodies are Rust.
    bodies: usize,
    /// How many of them are well.
    agree: usize,
    /// The bodies that are no Rust, by what the compiler said.
    broken: BTreeMap<String, Vec<usize>>,
    /// The bodies that are not well, by what is wrong.
    kinds: BTreeMap<Kind, Vec<usize>>,
    /// How many models there are, and how many of them are understood whole.
    models: (usize, usize),
    /// Why something was opaque: how often, and the first place.
    reasons: BTreeMap<String, (usize, String)>,
    /// A few bodies of each kind of fault.
    pub(super) cases: Vec<Case>,
}

impl Findings {
    pub(super) fn new(seed: u64, folder: PathBuf) -> Self {
        Self {
            seed,
            start: Instant::now(),
            folder,
            bodies: 0,
            agree: 0,
            broken: BTreeMap::new(),
            kinds: BTreeMap::new(),
            models: (0, 0),
            reasons: BTreeMap::new(),
            cases: Vec::new(),
        }
    }

    /// The bodies that are no Rust: the grammar's own faults.
    pub(super) fn leave_out(&mut self, broken: Faults) {
        for (number, fault) in broken {
            let said = fault.said.lines().next().unwrap_or_default().to_owned();
            self.broken.entry(said).or_default().push(number);
        }
    }

    /// What became of the bodies of a package. Those on which fx is wrong are written to files at once.
    pub(super) fn add(&mut self, bodies: &Bodies, faults: Faults) -> Result<()> {
        self.bodies += bodies.len();
        self.agree += bodies.len() - faults.len();
        for (number, fault) in faults {
            let numbers = self.kinds.entry(fault.kind.clone()).or_default();
            numbers.push(number);
            if !fault.kind.is_fx() {
                continue;
            }
            let is_one_more = numbers.len() <= if fault.kind == Kind::Differs { DIFFERENT } else { 1 };
            let case = Case::new(number, bodies[&number].clone(), fault);
            self.write(&case)?;
            self.cases.extend(Some(case).filter(|_| is_one_more));
        }
        Ok(())
    }

    /// How much of a package was understood, by fx's report.
    pub(super) fn read(&mut self, report: &str) {
        for line in report.lines() {
            if let Some((place, reason)) = line.split_once(": carried along, not understood: ") {
                self.reasons.entry(reason.to_owned()).or_insert_with(|| (0, place.to_owned())).0 += 1;
            } else if let Some(share) = share(line) {
                self.models.0 += 1;
                self.models.1 += usize::from(share > 99.9);
            }
        }
    }

    fn count(&self, kind: &Kind) -> usize {
        self.kinds.get(kind).map_or(0, Vec::len)
    }

    /// The bodies on which fx is wrong, by what is wrong.
    fn faults(&self) -> impl Iterator<Item = (&Kind, &Vec<usize>)> {
        self.kinds.iter().filter(|(kind, _)| kind.is_fx())
    }

    /// How far a run of so many bodies is.
    pub(super) fn tell_progress(&self, of: usize) {
        let done = self.bodies + self.broken.values().map(Vec::len).sum::<usize>();
        let faults: usize = self.faults().map(|(_, numbers)| numbers.len()).sum();
        let milliseconds = self.start.elapsed().as_millis() / done.max(1) as u128;
        eprintln!("fuzz: {done} of {of} bodies, {faults} faults, {milliseconds} ms a body");
    }

    /// Says what was found in all, and how to write each fault's body again.
    pub(super) fn tell(&self) {
        eprintln!("fuzz: {} bodies are no Rust and are left out", self.broken.values().map(Vec::len).sum::<usize>());
        for (said, numbers) in sorted(&self.broken, Vec::len) {
            eprintln!("  {said}: {numbers:?}");
        }
        let (models, whole) = self.models;
        eprintln!("fuzz: of {models} models {whole} are understood whole; opaque:");
        for (reason, (count, place)) in sorted(&self.reasons, |(count, _)| *count).into_iter().take(REASONS) {
            eprintln!("  {count} {reason} ({place})");
        }
        eprintln!(
            "fuzz: {} of {} bodies agree, {} differ by rounding alone, {} get no frozen type, {} panic by themselves ({} s)",
            self.agree,
            self.bodies,
            self.count(&Kind::Rounds),
            self.count(&Kind::Left),
            self.count(&Kind::Itself),
            self.start.elapsed().as_secs()
        );
        for (kind, numbers) in self.faults() {
            eprintln!("  {kind}:");
            for number in numbers {
                eprintln!("    {}", self.command(*number));
            }
        }
    }

    /// The command that writes a body again.
    fn command(&self, number: usize) -> String {
        format!("cargo xtask fuzz --seed {} --only {number}", self.seed)
    }

    /// Prints the cases, and fails where there are any.
    pub(super) fn print(&self) -> Result<()> {
        if self.cases.is_empty() {
            return Ok(());
        }
        for case in &self.cases {
            let text = self.write(case)?;
            writeln!(std::io::stdout(), "{text}")
                .map_err(|error| Failure::new("cannot print").looked(error.to_string()))?;
        }
        Err(Failure::new(format!("fuzz: {} kinds of faults", self.faults().count()))
            .looked(format!("in {} bodies of seed {}", self.bodies, self.seed))
            .help(format!("what is printed lies in `{}`", self.folder.display())))
    }

    /// Writes a body to its file, with what is wrong with it.
    fn write(&self, case: &Case) -> Result<String> {
        let told = format!("{}\n{}\n{}", self.command(case.number), case.fault.kind, case.fault.said);
        let told: Vec<String> = told.lines().map(|line| format!("// {line}")).collect();
        let text = format!("{}\n{}\n", told.join("\n"), shown(&case.text));
        let file = self.folder.join(format!("{}-{}.rs", self.seed, case.number));
        write(&file, &text)?;
        Ok(text)
    }
}

/// Writes a file and the folders around it.
fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))?;
    fs::write(file, text).map_err(|error| Failure::file("write", file, &error))
}

/// The share that a line of fx's report ends with.
fn share(line: &str) -> Option<f64> {
    line.strip_suffix(" %")?.rsplit(' ').next()?.parse().ok()
}

/// The rows of a map, those with most first.
fn sorted<T>(map: &BTreeMap<String, T>, size: impl Fn(&T) -> usize) -> Vec<(&String, &T)> {
    let mut rows: Vec<_> = map.iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(size(row)));
    rows
}
