//! The one error type of the crate: which file, at which byte, and the way out.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// A `Result` whose error is this crate's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be opened, read or written.
    #[error("cannot {action} `{}`: {source}", .path.display())]
    Io {
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file has no bytes, or nothing but white space.
    #[error(
        "`{}` is empty: the profiler has not written it yet, or was stopped before; call `prof.step()` until the schedule \
         reaches its end, and leave the `with` block before you copy the file",
        .path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A file ends in the middle of the trace.
    #[error(
        "`{}` ends at byte {offset} inside {inside}, after {events} whole events: it was cut off while it was written or \
         copied; write or copy it again",
        .path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where it ends: the number of bytes of its text, unpacked.
        offset: Offset,
        /// What has begun and does not end.
        inside: &'static str,
        /// How many events are whole.
        events: usize,
    },
    /// The text is not JSON, or not that of a trace.
    #[error("`{}` is corrupt at byte {offset}, in {place}: {reason}; {help}", .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where, in its text, unpacked.
        offset: Offset,
        /// The part of the trace.
        place: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        help: &'static str,
    },
    /// The gzip stream of a file is damaged.
    #[error(
        "the gzip data of `{}` is damaged near byte {offset} of the file, {unpacked} bytes into its text ({reason}); copy the \
         file again, in binary mode, or pass an unpacked `.json`",
        .path.display()
    )]
    Gzip {
        /// The file.
        path: PathBuf,
        /// How many bytes of the file had been taken.
        offset: u64,
        /// How many bytes of text they gave.
        unpacked: u64,
        /// What the decoder says.
        reason: String,
    },
    /// A file that another tool wrote.
    #[error("`{}` is no Kineto trace: at byte {offset} it looks like {found}; {help}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The byte that tells.
        offset: Offset,
        /// What it is.
        found: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A trace without one event that has a category and a duration.
    #[error(
        "`{}` has no event with `cat` and `dur` among its {events}: the profiler was active during no step; see the `schedule` \
         of `torch.profiler.profile`",
        .path.display()
    )]
    NoEvents {
        /// The file.
        path: PathBuf,
        /// How many events there are of other kinds.
        events: usize,
    },
    /// A folder without a trace.
    #[error("`{}` has no file that ends in `.json` or `.json.gz`; name a trace, or the folder that holds one for each rank", .path.display())]
    NoTraces {
        /// The folder.
        path: PathBuf,
    },
    /// Two files of a folder say that they are of one rank.
    #[error(
        "`{}` and `{}` are both of rank {rank}; keep one of them, or give them different numbers in `distributedInfo.rank`",
        .first.display(),
        .second.display()
    )]
    SameRank {
        /// The rank of both.
        rank: i64,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A rank was asked for that no file of a folder is of.
    #[error("`{}` has no trace of rank {rank}; it has {}", .path.display(), list(.available))]
    AbsentRank {
        /// The folder, or the file.
        path: PathBuf,
        /// The rank.
        rank: i64,
        /// Those that there are.
        available: Vec<i64>,
    },
    /// A rank or an iteration was asked for that the trace does not have.
    #[error("the {label} trace has no {what} {asked}; it has {}", list(.available))]
    Absent {
        /// Which trace.
        label: String,
        /// `rank` or `iteration`.
        what: &'static str,
        /// The number.
        asked: i64,
        /// Those that there are.
        available: Vec<i64>,
    },
    /// HTA compares one iteration, and the trace marks none.
    #[error(
        "the {label} trace has no `ProfilerStep#N`, which HTA's comparison begins with; call `prof.step()` in the profiled loop, \
         or compare without `hta_compat`"
    )]
    NoIterations {
        /// Which trace.
        label: String,
    },
    /// A chart cannot be drawn.
    #[error("cannot draw the chart: {reason}")]
    Chart {
        /// What the drawing library says.
        reason: String,
    },
}

/// A position in a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Bytes from the beginning, from 0.
    pub byte: u64,
    /// Whether the text is packed in the file, so that the byte is counted in what unpacking yields.
    pub unpacked: bool,
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.byte, if self.unpacked { " of the unpacked text" } else { "" })
    }
}

/// Up to a dozen numbers, and how many more.
fn list(numbers: &[i64]) -> String {
    const SHOWN: usize = 12;
    if numbers.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = numbers.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
