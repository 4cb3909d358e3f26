//! Which file of a folder is of which rank, as HTA finds out.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};
use crate::trace::Trace;
use crate::trace_set::TraceSet;

/// Reads a file or a folder, with ranks as HTA sees them: by the first `"rank": ` with white space behind its colon, wherever
/// it stands, and 0 where there is none; of two files with one rank the last counts, here by their names.
pub fn open(path: impl AsRef<Path>) -> Result<TraceSet> {
    let mut set = TraceSet::default();
    for path in crate::trace_set::files(path.as_ref())? {
        let io = |source| Error::Io { action: "read", path: path.clone(), source };
        let file = BufReader::new(File::open(&path).map_err(io)?);
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        let text: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        // What the text has wrong, the reader says below.
        let rank = rank(BufReader::new(text)).unwrap_or(None).unwrap_or(0);
        let mut trace = Trace::read(&path)?;
        trace.metadata.rank = Some(rank);
        set.ranks.insert(rank, trace);
    }
    Ok(set)
}

/// The rank of the first line that has one.
fn rank(mut text: impl BufRead) -> io::Result<Option<i64>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if let Some(rank) = rank_of_line(&String::from_utf8_lossy(&line)) {
            return Ok(Some(rank));
        }
    }
}

fn rank_of_line(line: &str) -> Option<i64> {
    line.match_indices("\"rank\":").find_map(|(at, key)| {
        let rest = line.get(at + key.len()..)?;
        let digits = rest.trim_start();
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        (digits.len() < rest.len()).then(|| digits.get(..end)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn white_space_is_needed() {
        let of = |text: &str| rank(text.as_bytes()).unwrap();
        assert_eq!(of("{\n\"distributedInfo\": {\"rank\": 3}}"), Some(3));
        assert_eq!(of("{\"distributedInfo\":{\"rank\":3}}"), None);
        assert_eq!(of("{\"a\": {\"rank\":3},\n \"b\": {\"rank\":  12,"), Some(12));
        assert_eq!(of("\"rank\":\n 7"), None);
    }
}
