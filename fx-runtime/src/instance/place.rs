//! Source places as generated code writes them.

use fx_ir::Place;

/// Where a node comes from: a line of the file that the tracer is in, or a file and a line (`src/net.rs:4`).
pub trait SourceLine: Copy {
    /// The place, if there is one.
    fn place(self, file: &str) -> Option<Place>;
}

impl SourceLine for usize {
    fn place(self, file: &str) -> Option<Place> {
        (self > 0).then(|| Place { file: file.to_owned(), line: self })
    }
}

impl SourceLine for &str {
    fn place(self, _: &str) -> Option<Place> {
        let (file, line) = self.rsplit_once(':')?;
        Some(Place { file: file.to_owned(), line: line.parse().unwrap_or_default() })
    }
}
