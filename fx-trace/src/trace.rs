//! A trace of one rank, and the set of those of a job.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::event::Event;
use crate::node::NodeInfo;
use crate::read::{read_file, read_rank};
use crate::symbols::Symbols;

/// The events of one process, in the order of its file.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Where it came from.
    pub path: PathBuf,
    /// What the file says of itself.
    pub metadata: Metadata,
    /// Names and categories.
    pub symbols: Symbols,
    /// The events that have a category and a duration, but for Kineto's own of the category `Trace`.
    pub events: Vec<Event>,
    /// The nodes of a graph whose runs events are, by [`Event::index`]: of traces that fx wrote.
    pub nodes: BTreeMap<u32, NodeInfo>,
}

/// What a trace says beside its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `distributedInfo.rank`.
    pub rank: Option<i64>,
    /// `distributedInfo.world_size`.
    pub world_size: Option<i64>,
    /// `distributedInfo.backend`.
    pub backend: Option<String>,
    /// `baseTimeNanoseconds`: what the times are counted from, since 1970.
    pub base_time: Option<i64>,
    /// `deviceProperties[].name`.
    pub devices: Vec<String>,
    /// How numbers are written, which decides about roundings of HTA.
    pub numbers: Numbers,
}

/// How a file writes the times of its events, whatever their kind.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// A `ts` has decimals.
    pub fractional_begins: bool,
    /// A `dur` has decimals.
    pub fractional_durations: bool,
    /// An event has no `ts`.
    pub absent_begins: bool,
    /// An event has no `dur`.
    pub absent_durations: bool,
}

impl Trace {
    /// Reads a file: JSON, or JSON packed by gzip, whatever its name says.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        read_file(path.as_ref())
    }

    /// The rank, 0 where the file names none.
    pub fn rank(&self) -> i64 {
        self.metadata.rank.unwrap_or(0)
    }

    /// The text of an event's name.
    pub fn name(&self, event: &Event) -> &str {
        self.symbols.text(event.name)
    }

    /// The node of a graph that an event is a run of.
    pub fn node(&self, event: &Event) -> Option<&NodeInfo> {
        self.nodes.get(&event.index)
    }

    /// The text of an event's category.
    pub fn category(&self, event: &Event) -> &str {
        self.symbols.text(event.category)
    }
}

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
