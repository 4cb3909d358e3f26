//! Makes bodies smaller as long as the same is wrong with them, many at a time.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;

use super::fault::{Fault, Kind};
use super::package::{Bodies, Packages};
use super::reduce;
use crate::failure::Result;

/// How many bodies one build tries.
const AT_ONCE: usize = 90;
/// How many ways of making one body smaller are weighed in a round.
const LOOKED_AT: usize = 300;
/// How often it is tried.
const ROUNDS: usize = 14;
/// Where the numbers of bodies that are tries begin.
const FIRST: usize = 100_000;

/// A body that is made smaller.
pub(super) struct Case {
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) fault: Fault,
    is_done: bool,
}

/// A body with things taken out.
struct Try {
    case: usize,
    ways: BTreeSet<usize>,
    text: String,
}

impl Case {
    pub(super) fn new(number: usize, text: String, fault: Fault) -> Case {
        Case { number, text, fault, is_done: false }
    }
}

/// Makes all cases as small as it can.
pub(super) fn shrink(packages: &Packages<'_>, cases: &mut [Case]) -> Result<()> {
    // What does not compile need not be run, nor linked with what is.
    cases.sort_by_key(|case| !is_compilers(case));
    let count = cases.iter().filter(|case| is_compilers(case)).count();
    let (compilers, others) = cases.split_at_mut(count);
    shrink_alike(packages, compilers)?;
    shrink_alike(packages, others)
}

/// Whether it is told by the compiler alone.
fn is_compilers(case: &Case) -> bool {
    matches!(case.fault.kind, Kind::Builds(_))
}

/// The same of cases that are all told by the compiler, or all by running them.
fn shrink_alike(packages: &Packages<'_>, cases: &mut [Case]) -> Result<()> {
    for round in 0..ROUNDS {
        let open = cases.iter().filter(|case| !case.is_done).count();
        if open == 0 {
            break;
        }
        let sizes: Vec<String> = cases.iter().map(|case| case.text.len().to_string()).collect();
        eprintln!("fuzz: round {round} of making {open} bodies smaller: {} letters", sizes.join(", "));
        let singles: Vec<Try> = (0..cases.len()).flat_map(|at| singles(cases, at, round, AT_ONCE / open)).collect();
        let kept = kept(packages, cases, &singles)?;
        let together: Vec<Try> = (0..cases.len()).flat_map(|at| together(cases, at, &kept)).collect();
        let joined = self::kept(packages, cases, &together)?;
        for (at, case) in cases.iter_mut().enumerate() {
            let found = kept.iter().chain(&joined).filter(|(one, _)| one.case == at);
            match found.min_by_key(|(one, _)| one.text.len()) {
                Some((one, fault)) => (case.text, case.fault) = (one.text.clone(), (*fault).clone()),
                None => case.is_done = true,
            }
        }
    }
    Ok(())
}

/// A case with one thing taken out, for the things that are largest.
fn singles(cases: &[Case], at: usize, round: usize, count: usize) -> Vec<Try> {
    let case = &cases[at];
    let Some(file) = syn::parse_file(&case.text).ok().filter(|_| !case.is_done) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    // Of very many every round looks at others.
    let all = reduce::ways(&file);
    let step = all.div_ceil(LOOKED_AT).max(1);
    let ways = (round % step..all).step_by(step).map(|way| attempt(&file, at, BTreeSet::from([way])));
    let mut tries: Vec<Try> =
        ways.filter(|one| one.text.len() < case.text.len() && seen.insert(one.text.clone())).collect();
    tries.sort_by_key(|one| one.text.len());
    // The largest, and some of the others.
    let step = (tries.len() / count.max(1)).max(1);
    if tries.len() > count {
        let small = tries.split_off(count / 2);
        tries.extend(small.into_iter().step_by(step).take(count / 2));
    }
    tries
}

/// Everything at once that could be taken out by itself.
fn together(cases: &[Case], at: usize, kept: &[(&Try, Fault)]) -> Vec<Try> {
    let ways: Vec<usize> =
        kept.iter().filter(|(one, _)| one.case == at).flat_map(|(one, _)| one.ways.clone()).collect();
    let Some(file) = syn::parse_file(&cases[at].text).ok().filter(|_| ways.len() > 1) else { return Vec::new() };
    let parts = [&ways[..], &ways[..ways.len() / 2], &ways[ways.len() / 2..], &ways[..ways.len() / 4], &ways[..2]];
    parts.iter().map(|part| attempt(&file, at, part.iter().copied().collect())).collect()
}

fn attempt(file: &syn::File, case: usize, ways: BTreeSet<usize>) -> Try {
    let text = reduce::reduced(file, &ways).into_token_stream().to_string();
    Try { case, ways, text }
}

/// The tries with which the same is wrong as with their cases.
fn kept<'t>(packages: &Packages<'_>, cases: &[Case], tries: &'t [Try]) -> Result<Vec<(&'t Try, Fault)>> {
    let mut bodies: Bodies = BTreeMap::new();
    for (at, one) in tries.iter().enumerate() {
        let (old, new) = (format!("B{}", cases[one.case].number), format!("B{}", FIRST + at));
        bodies.insert(FIRST + at, one.text.replace(&old, &new));
    }
    packages.drop_broken(&mut bodies)?;
    let faults = if cases.iter().all(is_compilers) { packages.uncompiled(&bodies) } else { packages.faults(&bodies) }?;
    let same = |at: usize, kind: &Kind| cases[tries[at].case].fault.kind == *kind;
    let found = faults.into_iter().map(|(number, fault)| (number - FIRST, fault));
    Ok(found.filter(|(at, fault)| same(*at, &fault.kind)).map(|(at, fault)| (&tries[at], fault)).collect())
}
