//! Edits of a text by byte ranges: what is not edited stays as it was.

use std::ops::Range;

/// Changes of one text, in any order, none of which overlap.
#[derive(Debug, Default)]
pub(super) struct Edits {
    all: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Puts `text` in place of what is at `range`.
    pub(super) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.all.push((range, text.into()));
    }

    /// Puts `text` before what is at `at`, and behind what was inserted there already.
    pub(super) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The text with all changes.
    pub(super) fn applied(mut self, text: &str) -> String {
        // Stable: insertions at one place keep their order, and stand before a replacement that begins there.
        self.all.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, new) in &self.all {
            out += text.get(done..range.start).unwrap_or_default();
            out += new;
            done = done.max(range.end);
        }
        out + text.get(done..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Edits;

    #[test]
    fn edits_in_any_order() {
        let mut edits = Edits::default();
        edits.replace(4..7, "two");
        edits.insert(0, "zero ");
        edits.insert(4, "and ");
        edits.replace(7..8, "");
        assert_eq!(edits.applied("one 222 three"), "zero one and twothree");
    }
}
