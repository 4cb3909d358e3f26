//! A trace of one rank.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::event::Event;
use crate::node::NodeInfo;
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
