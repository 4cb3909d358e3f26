//! How a `for` loop takes its elements: a pattern, and the adaptors of the iterator.

use std::{convert::Infallible, fmt, str::FromStr};

use crate::host::Adaptor;

/// The head of a `for` loop over the value `$0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ForLoop {
    /// What binds an element; `%0`, `%1`, .. stand for the parameters of the loop's region.
    pub pattern: String,
    /// What is applied to `$0`; nothing where it is an iterator itself.
    pub adaptors: Vec<Adaptor>,
}

impl ForLoop {
    /// The loop whose elements the pattern binds.
    pub fn new(pattern: impl Into<String>, adaptors: impl Into<Vec<Adaptor>>) -> ForLoop {
        ForLoop { pattern: pattern.into(), adaptors: adaptors.into() }
    }
}

impl fmt::Display for ForLoop {
    /// Writes `pattern in $0.iter().rev()`, or the pattern alone where there are no adaptors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)?;
        if !self.adaptors.is_empty() {
            f.write_str(" in $0")?;
        }
        self.adaptors.iter().try_for_each(|adaptor| write!(f, ".{adaptor}"))
    }
}

impl FromStr for ForLoop {
    type Err = Infallible;

    /// Reads what [`Display`](fmt::Display) writes; anything else is a pattern.
    fn from_str(text: &str) -> Result<ForLoop, Infallible> {
        let adaptors = |calls: &str| calls.split('.').skip(1).map(|call| call.parse().ok()).collect::<Option<Vec<_>>>();
        let parts = text
            .rsplit_once(" in $0.")
            .and_then(|(pattern, calls)| Some(ForLoop::new(pattern, adaptors(&format!(".{calls}"))?)));
        Ok(parts.unwrap_or_else(|| ForLoop::new(text, [])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for text in ["%0 in $0.iter().skip(2).rev()", "(%0, %1) in $0.clone().enumerate()", "_", "a in $0.unknown()"] {
            let Ok(head) = text.parse::<ForLoop>();
            assert_eq!(head.to_string(), text);
        }
        let Ok(head) = "x in $0.iter().take(3)".parse::<ForLoop>();
        assert_eq!(head, ForLoop::new("x", [Adaptor::Iter, Adaptor::Take(3)]));
    }
}
