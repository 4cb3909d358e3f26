//! Writes traces that Perfetto, `chrome://tracing` and Holistic Trace Analysis open.
//!
//! The text is Kineto's: microseconds with up to three decimals, one event a line. Three peculiarities serve HTA, which finds
//! the rank only behind `"rank": ` with a space, links nothing to the first element of the list (so that the first element
//! names the process), and takes streams from 1 on.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::event::Id;
use crate::node::NodeInfo;
use crate::trace::{Metadata, Trace};

/// An event to be written. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewEvent<'a> {
    /// `cpu_op`, `user_annotation`, `cuda_runtime`, `kernel` and so on.
    pub category: &'a str,
    /// The name of the operator or kernel.
    pub name: &'a str,
    /// `pid`: a process, or the number of a GPU.
    pub process: Value,
    /// `tid`: a thread, or the number of a stream.
    pub thread: Value,
    /// Begin.
    pub begin: i64,
    /// Duration.
    pub duration: i64,
    /// What else is to be said: `stream`, `correlation`, `Input Dims` and so on.
    pub args: Map<String, Value>,
}

/// A file that is being written, event by event.
///
/// ```
/// use fx_trace::trace::Metadata;
/// use fx_trace::{NewEvent, Trace, TraceWriter};
///
/// # fn main() -> fx_trace::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// let path = folder.path().join("trace.json.gz");
/// let mut writer = TraceWriter::create(&path, &Metadata::default())?;
/// let (process, thread) = (1.into(), 1.into());
/// let relu = NewEvent { category: "cpu_op", name: "aten::relu", process, thread, begin: 1500, duration: 250, ..Default::default() };
/// writer.event(&relu)?;
/// writer.finish()?;
/// assert_eq!(Trace::read(&path)?.events[0].duration, 250);
/// # Ok(())
/// # }
/// ```
///
/// Without [`TraceWriter::finish`] the file has no end, and reading it says so.
pub struct TraceWriter {
    path: PathBuf,
    output: Output,
}

/// Plain or packed.
enum Output {
    Plain(BufWriter<File>),
    Packed(Box<GzEncoder<BufWriter<File>>>),
}

impl fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Output {
    fn text(&mut self, text: &str) -> io::Result<()> {
        match self {
            Output::Plain(output) => output.write_all(text.as_bytes()),
            Output::Packed(output) => output.write_all(text.as_bytes()),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Output::Plain(mut output) => output.flush(),
            Output::Packed(output) => output.finish()?.flush(),
        }
    }
}

impl TraceWriter {
    /// Begins a file, packed if its name ends in `.gz`.
    pub fn create(path: impl AsRef<Path>, metadata: &Metadata) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let file = File::create(&path).map_err(|source| Error::Io { action: "write", path: path.clone(), source })?;
        let file = BufWriter::new(file);
        let output = if path.extension().is_some_and(|extension| extension == "gz") {
            Output::Packed(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Output::Plain(file)
        };
        let mut writer = Self { path, output };
        writer.text(&header(metadata))?;
        Ok(writer)
    }

    /// Adds an event; the order is free.
    pub fn event(&mut self, event: &NewEvent<'_>) -> Result<()> {
        let (name, category) = (json!(event.name), json!(event.category));
        let (begin, duration) = (Microseconds(event.begin), Microseconds(event.duration));
        let mut line = format!(
            ",\n{{\"ph\": \"X\", \"cat\": {category}, \"name\": {name}, \"pid\": {}, \"tid\": {}, \"ts\": {begin}, \"dur\": {duration}",
            event.process, event.thread
        );
        if !event.args.is_empty() {
            line += ", \"args\": ";
            line += &Value::Object(event.args.clone()).to_string();
        }
        line.push('}');
        self.text(&line)
    }

    /// Names a row of the viewer.
    pub fn name_thread(&mut self, process: &Value, thread: &Value, name: &str) -> Result<()> {
        let name = json!(name);
        self.text(&format!(
            ",\n{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {process}, \"tid\": {thread}, \"ts\": 0, \"args\": {{\"name\": {name}}}}}"
        ))
    }

    /// Writes the end.
    pub fn finish(mut self) -> Result<()> {
        self.text("\n]}\n")?;
        let Self { path, output } = self;
        output.finish().map_err(|source| Error::Io { action: "write", path, source })
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let outcome = self.output.text(text);
        outcome.map_err(|source| Error::Io { action: "write", path: self.path.clone(), source })
    }
}

/// All that comes before the first event, and the element that is none.
fn header(metadata: &Metadata) -> String {
    let mut lines = vec!["{\n\"schemaVersion\": 1".to_owned()];
    if !metadata.devices.is_empty() {
        let devices = metadata.devices.iter().enumerate().map(|(id, name)| json!({"id": id, "name": name}));
        lines.push(format!("\"deviceProperties\": {}", Value::Array(devices.collect())));
    }
    let mut members = Vec::new();
    members.extend(metadata.backend.as_ref().map(|backend| format!("\"backend\": {}", json!(backend))));
    members.push(format!("\"rank\": {}", metadata.rank.unwrap_or(0)));
    members.push(format!("\"world_size\": {}", metadata.world_size.unwrap_or(1)));
    lines.push(format!("\"distributedInfo\": {{{}}}", members.join(", ")));
    lines.extend(metadata.base_time.map(|base| format!("\"baseTimeNanoseconds\": {base}")));
    let first =
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"fx\"}}";
    lines.push(format!("\"traceEvents\": [\n{first}"));
    lines.join(",\n")
}

/// Nanoseconds as the decimal microseconds of a trace: a whole number where they are one.
struct Microseconds(i64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        match size % 1000 {
            0 => write!(f, "{sign}{}", size / 1000),
            rest => write!(f, "{sign}{}.{rest:03}", size / 1000),
        }
    }
}

impl Trace {
    /// Writes the events with what this crate keeps of them, the nodes of graphs whole: flow arrows, shapes and call stacks of
    /// what PyTorch wrote are gone.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let id = |id: Id| match id {
            Id::Number(number) => number.into(),
            Id::Name(name) => self.symbols.text(name).into(),
            Id::Absent => Value::Null,
        };
        let mut writer = TraceWriter::create(path, &self.metadata)?;
        for event in &self.events {
            let mut args = self.node(event).map(NodeInfo::to_args).unwrap_or_default();
            let given = [("stream", event.stream), ("correlation", event.correlation)];
            args.extend(
                given.into_iter().filter(|(_, value)| *value != -1).map(|(key, value)| (key.to_owned(), value.into())),
            );
            writer.event(&NewEvent {
                category: self.category(event),
                name: self.name(event),
                process: id(event.track.process),
                thread: id(event.track.thread),
                begin: event.begin,
                duration: event.duration,
                args,
            })?;
        }
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Microseconds;

    #[test]
    fn times() {
        for (nanoseconds, text) in
            [(0, "0"), (25_000, "25"), (1_712_195_495_519_689_047, "1712195495519689.047"), (-1_050, "-1.050")]
        {
            assert_eq!(Microseconds(nanoseconds).to_string(), text);
        }
    }
}
