//! Where a JSON value ends, by its brackets and quotes.

use memchr::memchr2;

/// The state of a scan, between two pieces of the text.
#[derive(Debug, Default)]
pub(super) struct Scan {
    depth: usize,
    in_string: bool,
    /// The last byte was a backslash in a string.
    is_escaped: bool,
    /// A byte of a number or a word was seen, outside all brackets.
    in_word: bool,
}

impl Scan {
    /// Reads on. Returns how many bytes of this piece belong to the value, once it ends.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at).copied() {
            if self.in_string {
                at = self.rest_of_string(bytes, at)?;
                if self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            if self.depth == 0
                && self.in_word
                && (matches!(byte, b',' | b']' | b'}' | b':') || byte.is_ascii_whitespace())
            {
                return Some(at);
            }
            at += 1;
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                _ => self.in_word = true,
            }
        }
        None
    }

    /// Whether the end of the text is the end of the value: only numbers and words need nothing behind them.
    pub(super) fn may_end_here(&self) -> bool {
        self.in_word && self.depth == 0 && !self.in_string
    }

    /// Returns the position behind the closing quote.
    fn rest_of_string(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        if self.is_escaped {
            self.is_escaped = false;
            at += 1;
        }
        while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..)?) {
            at += found;
            if bytes.get(at) == Some(&b'"') {
                self.in_string = false;
                return Some(at + 1);
            }
            at += 2;
            // The escaped byte is in the next piece.
            self.is_escaped = at > bytes.len();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;

    /// Every way to cut the text into two pieces finds the same end.
    #[track_caller]
    fn ends(text: &str, length: usize) {
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            let mut scan = Scan::default();
            let end = scan.feed(first).or_else(|| scan.feed(second).map(|end| cut + end));
            assert_eq!(end, Some(length), "{text}, cut at {cut}");
        }
    }

    #[test]
    fn values() {
        ends(r#"{"a": [1, "}"]}, 2"#, 15);
        ends(r#""a\"b\\", 2"#, 8);
        ends("12.5e3,", 6);
        ends("null]", 4);
        ends("[[],[{}]] ", 9);
        ends(r#"{"\\":"\\\""}x"#, 13);
    }

    #[test]
    fn without_an_end() {
        for (text, may_end) in [("{\"a\": 1", false), ("\"abc", false), ("12", true), ("[1, 2", false), ("", false)] {
            let mut scan = Scan::default();
            assert_eq!(scan.feed(text.as_bytes()), None, "{text}");
            assert_eq!(scan.may_end_here(), may_end, "{text}");
        }
    }
}
