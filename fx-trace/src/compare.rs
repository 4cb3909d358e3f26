//! What a comparison is told: two labelled traces, and which part of each.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::trace::Trace;
use crate::trace_set::TraceSet;

/// Traces with the name that tables and charts give them.
#[derive(Clone, Debug)]
pub struct LabeledTrace {
    /// The name: HTA calls the two `Control` and `Test`.
    pub label: String,
    /// The traces, by rank.
    pub traces: TraceSet,
}

impl LabeledTrace {
    /// Gives traces a name.
    pub fn new(label: impl Into<String>, traces: impl Into<TraceSet>) -> Self {
        Self { label: label.into(), traces: traces.into() }
    }

    /// Reads a file, or all traces of a folder.
    pub fn open(label: impl Into<String>, path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(label, TraceSet::open(path)?))
    }

    /// The traces of the chosen ranks; by default the first.
    pub(crate) fn chosen(&self, ranks: &[i64]) -> Result<Vec<&Trace>> {
        if ranks.is_empty() {
            return Ok(self.traces.ranks.values().take(1).collect());
        }
        let of = |rank: &i64| {
            self.traces.ranks.get(rank).ok_or_else(|| self.absent("rank", *rank, self.traces.ranks.keys().copied()))
        };
        ranks.iter().map(of).collect()
    }

    pub(crate) fn absent(&self, what: &'static str, asked: i64, available: impl IntoIterator<Item = i64>) -> Error {
        Error::Absent { label: self.label.clone(), what, asked, available: available.into_iter().collect() }
    }
}

/// Which part of the traces is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Of the first.
    pub control: Selection,
    /// Of the second.
    pub test: Selection,
    /// Events of the CPU, of the GPU, or both.
    pub device: DeviceType,
    /// Names without arguments, template arguments and results: [`shorten_name`](crate::shorten_name).
    pub short_names: bool,
}

/// Ranks and iterations of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// By number; none means the first.
    pub ranks: Vec<i64>,
    /// The `N` of `ProfilerStep#N`; none means all, and in HTA's form the first.
    pub iterations: Vec<i64>,
}

/// Which processor's events are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceType {
    /// Operators, annotations, calls of the driver.
    Cpu,
    /// Kernels and copies.
    Gpu,
    /// Both.
    #[default]
    All,
}

impl FromStr for DeviceType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cpu" => Ok(DeviceType::Cpu),
            "gpu" => Ok(DeviceType::Gpu),
            "all" => Ok(DeviceType::All),
            _ => Err(format!("`{text}` is no device; write `cpu`, `gpu` or `all`")),
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceType::Cpu => "cpu",
            DeviceType::Gpu => "gpu",
            DeviceType::All => "all",
        })
    }
}
