//! The text of a trace in pieces: one JSON value after the other, however large the file is.
//!
//! Only the value that is being read is in memory. A scan for the end of a value looks at brackets and quotes alone; what
//! the value is, and whether it is JSON at all, `serde_json` says of the piece. Each piece knows its byte offset.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::scan::Scan;
use crate::error::{Error, Offset, Result};

/// How much is read at once.
const CHUNK: usize = 1 << 18;

/// The longest value that is held: an event has hundreds of bytes, and one whose bracket is lost would be all the file.
const LONGEST: usize = 1 << 26;

/// How many bytes tell what a file is.
const OPENING: usize = 64;

/// The first bytes of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file's text.
pub(super) struct Source {
    path: PathBuf,
    input: Box<dyn Read>,
    /// Bytes taken from the file, packed or not.
    taken: Rc<Cell<u64>>,
    is_packed: bool,
    /// The first bytes of the text.
    opening: Vec<u8>,
    buffer: Vec<u8>,
    /// Where what is not consumed begins in `buffer`.
    begin: usize,
    /// The offset of `buffer` in the text.
    base: u64,
    is_at_end: bool,
}

/// A piece of the text.
pub(super) struct Value<'a> {
    /// The offset of its first byte.
    pub(super) offset: u64,
    pub(super) text: &'a [u8],
    pub(super) end: End,
}

/// Why a piece ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The value is whole.
    Whole,
    /// The text ends.
    Text,
    /// It is longer than any value may be.
    Limit,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let io = |action| move |source| Error::Io { action, path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io("open"))?;
        let mut first = Vec::new();
        (&mut file).take(GZIP.len() as u64).read_to_end(&mut first).map_err(io("read"))?;
        let is_packed = first == GZIP;
        let taken = Rc::new(Cell::new(0));
        let file = Counted { input: Cursor::new(first).chain(file), taken: taken.clone() };
        let input: Box<dyn Read> = if is_packed {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(CHUNK, file)))
        } else {
            Box::new(file)
        };
        let path = path.to_owned();
        let (opening, buffer) = (Vec::new(), Vec::new());
        let mut source = Self { path, input, taken, is_packed, opening, buffer, begin: 0, base: 0, is_at_end: false };
        // Enough to tell what the file is.
        while source.buffer.len() < OPENING && source.fill()? {}
        source.opening = source.buffer.iter().take(OPENING).copied().collect();
        // What some editors write in front of UTF-8.
        if source.buffer.starts_with(b"\xef\xbb\xbf") {
            source.begin = 3;
        }
        Ok(source)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes of the text, white space included.
    pub(super) fn opening(&self) -> &[u8] {
        &self.opening
    }

    /// What is read and not consumed.
    fn head(&self) -> &[u8] {
        self.buffer.get(self.begin..).unwrap_or_default()
    }

    /// The position of what comes next.
    pub(super) fn offset(&self) -> Offset {
        self.at(self.base + self.begin as u64)
    }

    /// A position of the text.
    pub(super) fn at(&self, byte: u64) -> Offset {
        Offset { byte, unpacked: self.is_packed }
    }

    /// The next byte that is no white space, which stays; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let blank = self.head().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.begin += blank;
            if let Some(byte) = self.head().first() {
                return Ok(Some(*byte));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Consumes the byte that was peeked at.
    pub(super) fn bump(&mut self) {
        self.begin += 1;
    }

    /// Consumes the next value, or what there is of it.
    pub(super) fn value(&mut self) -> Result<Value<'_>> {
        self.peek()?;
        let mut scan = Scan::default();
        let mut seen = 0;
        let (length, end) = loop {
            if let Some(end) = scan.feed(self.head().get(seen..).unwrap_or_default()) {
                break (seen + end, End::Whole);
            }
            seen = self.head().len();
            if seen > LONGEST {
                break (seen, End::Limit);
            }
            if !self.fill()? {
                let is_whole = scan.may_end_here() && seen > 0;
                break (seen, if is_whole { End::Whole } else { End::Text });
            }
        };
        let (begin, offset) = (self.begin, self.base + self.begin as u64);
        self.begin += length;
        Ok(Value { offset, text: self.buffer.get(begin..begin + length).unwrap_or_default(), end })
    }

    /// Consumes the next value without holding it; `false` where the text ends inside it.
    pub(super) fn skip(&mut self) -> Result<bool> {
        self.peek()?;
        let mut scan = Scan::default();
        loop {
            if let Some(end) = scan.feed(self.head()) {
                self.begin += end;
                return Ok(true);
            }
            self.begin = self.buffer.len();
            if !self.fill()? {
                return Ok(scan.may_end_here());
            }
        }
    }

    /// Reads on; `false` at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        self.base += self.begin as u64;
        self.buffer.drain(..self.begin);
        self.begin = 0;
        let held = self.buffer.len();
        // A value that goes on and on doubles the step, so that the whole costs linear time.
        self.buffer.resize(held + CHUNK.max(held), 0);
        let outcome = loop {
            match self.input.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        self.buffer.truncate(held + *outcome.as_ref().unwrap_or(&0));
        match outcome {
            Ok(read) => {
                self.is_at_end = read == 0;
                Ok(read > 0)
            }
            Err(source) => Err(self.unreadable(source)),
        }
    }

    fn unreadable(&self, source: io::Error) -> Error {
        if self.is_packed {
            let unpacked = self.base + self.buffer.len() as u64;
            let reason = match source.kind() {
                io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
                _ => source.to_string(),
            };
            return Error::Gzip { path: self.path.clone(), offset: self.taken.get(), unpacked, reason };
        }
        Error::Io { action: "read", path: self.path.clone(), source }
    }
}

/// Counts what is read.
struct Counted {
    input: Chain<Cursor<Vec<u8>>, File>,
    taken: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}
