//! Gathers a trace while a program runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::event::{Device, Event, Id, Track};
use crate::iteration::STEP;
use crate::node::NodeInfo;
use crate::symbols::Symbols;
use crate::trace::{Metadata, Trace};

/// A trace of one thread of the CPU, of which [`Recorder::finish`] makes a [`Trace`].
///
/// ```
/// use fx_trace::{NodeInfo, Recorder};
///
/// let mut recorder = Recorder::new();
/// let step = recorder.now();
/// let begin = recorder.now();
/// recorder.node("aten::relu", begin, NodeInfo { node: "relu".into(), ..NodeInfo::default() });
/// recorder.step(0, step);
/// let trace = recorder.finish();
/// assert_eq!(trace.name(&trace.events[0]), "aten::relu");
/// assert_eq!(trace.iterations().len(), 1);
/// ```
#[derive(Debug)]
pub struct Recorder {
    started: Instant,
    trace: Trace,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Begins a trace; its clock starts now.
    pub fn new() -> Self {
        let trace = Trace {
            path: PathBuf::new(),
            metadata: Metadata { base_time: Some(0), ..Metadata::default() },
            symbols: Symbols::default(),
            events: Vec::new(),
            nodes: BTreeMap::new(),
        };
        Self { started: Instant::now(), trace }
    }

    /// The time since the beginning, which events begin with.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Adds a run of a node that began then and ends now.
    pub fn node(&mut self, name: &str, begin: Duration, node: NodeInfo) {
        let end = self.now();
        let index = self.event("cpu_op", name, begin, end);
        self.trace.nodes.insert(index, node);
    }

    /// Adds an iteration that began then and ends now.
    pub fn step(&mut self, number: usize, begin: Duration) {
        let end = self.now();
        self.event("user_annotation", &format!("{STEP}{number}"), begin, end);
    }

    fn event(&mut self, category: &str, name: &str, begin: Duration, end: Duration) -> u32 {
        let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        // The first element of a file's list is the name of the process.
        let index = u32::try_from(self.trace.events.len() + 1).unwrap_or(u32::MAX);
        let symbols = &mut self.trace.symbols;
        self.trace.events.push(Event {
            index,
            name: symbols.intern(name),
            category: symbols.intern(category),
            track: Track { process: Id::Number(0), thread: Id::Number(1) },
            begin: nanoseconds(begin),
            duration: nanoseconds(end) - nanoseconds(begin),
            stream: -1,
            correlation: -1,
            device: Device::Cpu,
        });
        index
    }

    /// The trace.
    pub fn finish(self) -> Trace {
        self.trace
    }
}
