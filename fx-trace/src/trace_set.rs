//! The traces of a job: a file, or a folder with one for each rank.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::read_rank;
use crate::trace::Trace;

/// The traces of a job by rank.
#[derive(Clone, Debug, Default)]
pub struct TraceSet {
    /// One for each rank.
    pub ranks: BTreeMap<i64, Trace>,
}

impl TraceSet {
    /// Reads a trace, or all those of a folder: files that end in `.json` or `.gz`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::read(&files(path)?)
    }

    /// Reads those of a folder that are of the given ranks, or of the lowest one if none is given: of the others only
    /// what stands in front of their events.
    pub fn open_ranks(path: impl AsRef<Path>, ranks: &[i64]) -> Result<Self> {
        let files = files(path.as_ref())?;
        if let ([_], []) = (files.as_slice(), ranks) {
            return Self::read(&files);
        }
        let mut by_rank = BTreeMap::<i64, PathBuf>::new();
        for file in files {
            let rank = read_rank(&file)?.unwrap_or(0);
            if let Some(first) = by_rank.insert(rank, file.clone()) {
                return Err(Error::SameRank { rank, first, second: file });
            }
        }
        let lowest = by_rank.keys().copied().take(1);
        let chosen: Vec<i64> = if ranks.is_empty() { lowest.collect() } else { ranks.to_vec() };
        if let Some(absent) = chosen.iter().find(|rank| !by_rank.contains_key(rank)) {
            let available = by_rank.into_keys().collect();
            return Err(Error::AbsentRank { path: path.as_ref().to_owned(), rank: *absent, available });
        }
        let paths: Vec<PathBuf> = chosen.iter().filter_map(|rank| by_rank.get(rank)).cloned().collect();
        Self::read(&paths)
    }

    /// Reads files, each of another rank.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut ranks = BTreeMap::<i64, Trace>::new();
        for path in paths {
            let trace = Trace::read(path)?;
            let rank = trace.rank();
            if let Some(first) = ranks.get(&rank) {
                return Err(Error::SameRank { rank, first: first.path.clone(), second: path.clone() });
            }
            ranks.insert(rank, trace);
        }
        Ok(Self { ranks })
    }
}

impl From<Trace> for TraceSet {
    fn from(trace: Trace) -> Self {
        Self { ranks: BTreeMap::from([(trace.rank(), trace)]) }
    }
}

impl FromIterator<Trace> for TraceSet {
    /// Of two with one rank the last is kept.
    fn from_iter<I: IntoIterator<Item = Trace>>(traces: I) -> Self {
        Self { ranks: traces.into_iter().map(|trace| (trace.rank(), trace)).collect() }
    }
}

/// The file itself, or the traces of a folder in the order of their names.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let io = |source| Error::Io { action: "open", path: path.to_owned(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        let is_trace = file.extension().is_some_and(|extension| extension == "json" || extension == "gz");
        if is_trace && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::NoTraces { path: path.to_owned() });
    }
    Ok(files)
}
