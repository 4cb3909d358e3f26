//! Reads Kineto's JSON, one event after the other.
//!
//! The trace that comes out is as large as its events' numbers, about a hundred bytes each, not as the text. Every error says
//! at which byte it is.

mod foreign;
mod json;
mod not_a_number;
mod scan;
mod source;
mod time;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::event::{Device, Event, Id, Track};
use crate::node::NodeInfo;
use crate::symbols::Symbols;
use crate::trace::{Metadata, Trace};
use json::{DeviceProperties, DistributedInfo, RawEvent, RawId};
use source::{End, Source, Value};

impl Trace {
    /// Reads a file: JSON, or JSON packed by gzip, whatever its name says.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        read_file(path.as_ref())
    }
}

fn read_file(path: &Path) -> Result<Trace> {
    let mut source = Source::open(path)?;
    match source.peek()? {
        None => return Err(Error::Empty { path: path.to_owned() }),
        Some(b'{') => source.bump(),
        Some(_) => return Err(foreign(&source, foreign::by_content(source.opening()))),
    }
    let mut reader = Reader::default();
    let mut keys = Vec::new();
    while let Some(key) = reader.key(&mut source)? {
        reader.member(&mut source, &key)?;
        keys.push(key);
    }
    if source.peek()?.is_some() {
        return Err(reader.corrupt(&source, source.offset().byte, "there is more text behind the trace's last `}`"));
    }
    if !keys.iter().any(|key| key == "traceEvents") {
        return Err(foreign(&source, foreign::by_keys(&keys)));
    }
    if reader.events.is_empty() {
        return Err(Error::NoEvents { path: path.to_owned(), events: reader.count });
    }
    let Reader { metadata, symbols, events, nodes, .. } = reader;
    Ok(Trace { path: path.to_owned(), metadata, symbols, events, nodes })
}

/// The rank that a trace names, if it does, without reading on behind that: Kineto writes it in front of the events.
pub(crate) fn read_rank(path: &Path) -> Result<Option<i64>> {
    let mut source = Source::open(path)?;
    let mut reader = Reader::default();
    if source.peek()? == Some(b'{') {
        source.bump();
        while let Some(key) = reader.key(&mut source)? {
            match key.as_str() {
                "distributedInfo" => {
                    return Ok(reader.whole::<Option<DistributedInfo>>(&mut source)?.unwrap_or_default().rank);
                }
                _ if source.skip()? => {}
                _ => return Err(reader.truncated(&source)),
            }
        }
    }
    Ok(None)
}

fn foreign(source: &Source, is: foreign::Recognized) -> Error {
    Error::Foreign { path: source.path().to_owned(), offset: source.offset(), found: is.found, help: is.help }
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    metadata: Metadata,
    symbols: Symbols,
    events: Vec<Event>,
    nodes: BTreeMap<u32, NodeInfo>,
    /// Elements of `traceEvents`, with a duration or not.
    count: usize,
    in_events: bool,
    has_members: bool,
}

impl Reader {
    /// The next key of the outermost object with its colon; `None` behind the last.
    fn key(&mut self, source: &mut Source) -> Result<Option<String>> {
        let next = source.peek()?.ok_or_else(|| self.truncated(source))?;
        if next == b'}' {
            source.bump();
            return Ok(None);
        }
        if self.has_members {
            self.punctuation(source, b',', "`,` or `}`")?;
        }
        self.has_members = true;
        let key = self.whole::<String>(source)?;
        self.punctuation(source, b':', "`:`")?;
        Ok(Some(key))
    }

    fn punctuation(&self, source: &mut Source, expected: u8, described: &str) -> Result<()> {
        match source.peek()? {
            None => Err(self.truncated(source)),
            Some(found) if found == expected => {
                source.bump();
                Ok(())
            }
            Some(_) => Err(self.corrupt(source, source.offset().byte, &format!("expected {described}"))),
        }
    }

    /// The value of a key.
    fn member(&mut self, source: &mut Source, key: &str) -> Result<()> {
        match key {
            "traceEvents" => {
                self.punctuation(source, b'[', "`[`, the list of events")?;
                self.in_events = true;
                self.all_events(source)?;
                self.in_events = false;
            }
            "distributedInfo" => {
                let info = self.whole::<Option<DistributedInfo>>(source)?.unwrap_or_default();
                self.metadata.rank = info.rank;
                self.metadata.world_size = info.world_size;
                self.metadata.backend = info.backend;
            }
            "baseTimeNanoseconds" => self.metadata.base_time = self.whole(source)?,
            "deviceProperties" => {
                let devices = self.whole::<Option<Vec<DeviceProperties>>>(source)?.unwrap_or_default();
                self.metadata.devices = devices.into_iter().filter_map(|device| device.name).collect();
            }
            _ => {
                if !source.skip()? {
                    return Err(self.truncated(source));
                }
            }
        }
        Ok(())
    }

    fn whole<T: for<'de> Deserialize<'de>>(&self, source: &mut Source) -> Result<T> {
        let outcome = parse(&source.value()?);
        outcome.map_err(|fault| fault.of(self, source))
    }

    /// The events behind the opening bracket, and the closing one.
    fn all_events(&mut self, source: &mut Source) -> Result<()> {
        let mut is_first = true;
        loop {
            match source.peek()? {
                None => return Err(self.truncated(source)),
                Some(b']') => {
                    source.bump();
                    return Ok(());
                }
                Some(_) if is_first => is_first = false,
                Some(_) => self.punctuation(source, b',', "`,` or `]` behind an event")?,
            }
            let value = source.value()?;
            let mut outcome = parse::<RawEvent<'_>>(&value).and_then(|raw| self.event(raw, value.offset));
            if let Some(text) = outcome.as_ref().err().and_then(|_| not_a_number::replaced(value.text)) {
                let value = Value { text: &text, ..value };
                outcome = parse::<RawEvent<'_>>(&value).and_then(|raw| self.event(raw, value.offset));
            }
            outcome.map_err(|fault| fault.of(self, source))?;
            self.count += 1;
        }
    }

    /// Takes an event in, if it has a category and a duration.
    fn event(&mut self, raw: RawEvent<'_>, offset: u64) -> Result<(), Fault> {
        let time = |value: Option<&RawValue>, key| match value {
            None => Ok(None),
            Some(value) if value.get() == not_a_number::INSTEAD => Ok(None),
            Some(value) => time::parse(value.get()).map(Some).ok_or_else(|| Fault::Corrupt {
                byte: offset,
                reason: format!("`{key}` is `{}`, not a number of microseconds", value.get()),
            }),
        };
        let (begin, duration) = (time(raw.begin, "ts")?, time(raw.duration, "dur")?);
        let numbers = &mut self.metadata.numbers;
        numbers.absent_begins |= begin.is_none();
        numbers.absent_durations |= duration.is_none();
        numbers.fractional_begins |= begin.is_some_and(|time| time.is_fractional);
        numbers.fractional_durations |= duration.is_some_and(|time| time.is_fractional);
        let (Some(begin), Some(duration), Some(category), Some(name)) = (begin, duration, &raw.category, &raw.name)
        else {
            return Ok(());
        };
        if category == "Trace" {
            return Ok(());
        }
        let track = Track { process: self.id(&raw.process), thread: self.id(&raw.thread) };
        let index = u32::try_from(self.count).unwrap_or(u32::MAX);
        if let Some(node) = raw.args.node {
            self.nodes.insert(index, *node);
        }
        self.events.push(Event {
            index,
            name: self.symbols.intern(name),
            category: self.symbols.intern(category),
            track,
            begin: begin.nanoseconds,
            duration: duration.nanoseconds,
            stream: raw.args.stream,
            correlation: raw.args.correlation,
            device: Device::of(category, raw.args.stream),
        });
        Ok(())
    }

    fn id(&mut self, raw: &RawId<'_>) -> Id {
        match raw {
            RawId::Number(number) => Id::Number(*number),
            RawId::Name(name) => Id::Name(self.symbols.intern(name)),
            RawId::Absent => Id::Absent,
        }
    }

    fn truncated(&self, source: &Source) -> Error {
        let inside = if self.in_events { "the list of events" } else { "the trace" };
        Error::Truncated { path: source.path().to_owned(), offset: source.offset(), inside, events: self.count }
    }

    fn corrupt(&self, source: &Source, byte: u64, reason: &str) -> Error {
        let place = if self.in_events { format!("event {}", self.count) } else { "the trace's own members".to_owned() };
        let help = "write the trace again, or mend it there";
        Error::Corrupt {
            path: source.path().to_owned(),
            offset: source.at(byte),
            place,
            reason: reason.to_owned(),
            help,
        }
    }
}

/// Builds a value of its text.
fn parse<'a, T: Deserialize<'a>>(value: &Value<'a>) -> Result<T, Fault> {
    let length = value.text.len();
    let outcome = serde_json::from_slice(value.text);
    let error = match outcome {
        // What has no end is no value, even if its beginning is one.
        Ok(built) if value.end == End::Whole => return Ok(built),
        Ok(_) => None,
        Err(error) => Some(error).filter(|error| value.end == End::Whole || !error.is_eof()),
    };
    // A number may be cut behind its point, and a string inside an escape, which are errors at the last byte.
    match error.map(|error| (position(&error, value.text), error)) {
        Some((at, error)) if value.end == End::Whole || at + 1 < length => {
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or(&reason).to_owned();
            Err(Fault::Corrupt { byte: value.offset + at as u64, reason })
        }
        _ if value.end == End::Limit => {
            Err(Fault::Corrupt { byte: value.offset, reason: format!("it has no end within {length} bytes") })
        }
        _ => Err(Fault::Truncated),
    }
}

/// The byte of an error, which `serde_json` tells by line and column.
fn position(error: &serde_json::Error, text: &[u8]) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len().saturating_sub(1))
}

/// What is wrong in a piece of the text, while that is borrowed.
enum Fault {
    Truncated,
    Corrupt { byte: u64, reason: String },
}

impl Fault {
    fn of(self, reader: &Reader, source: &Source) -> Error {
        match self {
            Fault::Truncated => reader.truncated(source),
            Fault::Corrupt { byte, reason } => reader.corrupt(source, byte, &reason),
        }
    }
}
