//! The spelling of words, names and strings: bare where that reads back, quoted where it would not.

use std::fmt;

use crate::{Code, Effect};

/// Words that mean something where a name could stand.
const KEYWORDS: &[&str] = &["true", "false", "none", "inf", "nan", "yield"];

/// A word of the text form, quoted if it holds anything else than letters, digits and `_ . / - ::`.
pub(super) struct Word<'a>(pub(super) &'a str);

/// A node's name with its `%`, quoted if it is no identifier.
pub(super) struct Percent<'a>(pub(super) &'a str);

/// A Rust path or expression in backticks.
pub(super) struct Backticked<'a>(pub(super) &'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if word_length(self.0) == self.0.len() && !self.0.is_empty() {
            f.write_str(self.0)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

impl fmt::Display for Percent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(is_ident) {
            write!(f, "%{}", self.0)
        } else {
            write!(f, "%{:?}", self.0)
        }
    }
}

impl fmt::Display for Backticked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = self.0.replace('\\', "\\\\").replace('`', "\\`").replace('\n', "\\n");
        write!(f, "`{escaped}`")
    }
}

/// How many bytes of the text's start are one bare word. A colon belongs to it only as `::` before a letter.
pub(super) fn word_length(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| is_ident(c) || matches!(c, '.' | '/' | '-'));
        match rest.strip_prefix("::") {
            Some(more) if more.starts_with(is_ident) && rest.len() < text.len() => rest = more,
            _ => return text.len() - rest.len(),
        }
    }
}

/// Returns whether the character may stand in an identifier.
pub(super) fn is_ident(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns whether the name can stand without a `%`.
pub(super) fn is_bare(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c == '_' || c.is_alphabetic());
    starts && name.chars().all(is_ident) && !KEYWORDS.contains(&name)
}

/// The code that `print(..)` is short for.
pub(super) fn print_code(arguments: usize) -> Code {
    let holes: Vec<_> = (0..arguments).map(|i| format!("${i}")).collect();
    Code { effect: Effect::Io, ..Code::pure(format!("print({})", holes.join(", "))) }
}
