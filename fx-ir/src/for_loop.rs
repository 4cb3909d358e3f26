//! How a `for` loop takes its elements: a pattern, and the adaptors of the iterator.

use std::{fmt, str::FromStr};

use crate::Pattern;
use crate::host::Adaptor;
use crate::text::ParseError;

/// The head of a `for` loop over the value `$0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForLoop {
    /// What binds an element to the first parameters of the loop's region.
    pub pattern: Pattern,
    /// What is applied to `$0`; nothing where it is an iterator itself.
    pub adaptors: Vec<Adaptor>,
}

impl ForLoop {
    /// The loop whose elements the pattern binds.
    pub fn new(pattern: Pattern, adaptors: impl Into<Vec<Adaptor>>) -> ForLoop {
        ForLoop { pattern, adaptors: adaptors.into() }
    }

    /// The number of the bound value that counts the elements: the first part of a pair behind `enumerate`.
    pub fn counter(&self) -> Option<usize> {
        let Pattern::Tuple(parts) = &self.pattern else { return None };
        match parts.items.first() {
            Some(Pattern::Bind(number)) if self.adaptors.contains(&Adaptor::Enumerate) => Some(*number),
            _ => None,
        }
    }
}

/// The loop that binds nothing.
impl Default for ForLoop {
    fn default() -> ForLoop {
        ForLoop::new(Pattern::Wild, [])
    }
}

impl fmt::Display for ForLoop {
    /// Writes `pattern in $0.iter().rev()`, or the pattern alone where there are no adaptors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)?;
        if !self.adaptors.is_empty() {
            f.write_str(" in $0")?;
        }
        self.adaptors.iter().try_for_each(|adaptor| write!(f, ".{adaptor}"))
    }
}

impl FromStr for ForLoop {
    type Err = ParseError;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<ForLoop, ParseError> {
        let Some((pattern, calls)) = text.rsplit_once(" in $0.") else { return Ok(ForLoop::new(text.parse()?, [])) };
        let column = text.len() - calls.len() + 1;
        let adaptor = |call: &str| call.parse().map_err(|message| ParseError { line: 1, column, message });
        Ok(ForLoop::new(pattern.parse()?, calls.split('.').map(adaptor).collect::<Result<Vec<Adaptor>, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for text in ["%0 in $0.iter().skip(2).rev()", "(%0, %1) in $0.clone().enumerate()", "_"] {
            assert_eq!(text.parse::<ForLoop>().map(|head| head.to_string()), Ok(text.to_owned()));
        }
        let head = ForLoop::new(Pattern::Bind(0), [Adaptor::Iter, Adaptor::Take(3)]);
        assert_eq!("%0 in $0.iter().take(3)".parse(), Ok(head));
        assert!("%0 in $0.unknown()".parse::<ForLoop>().is_err());
    }

    #[test]
    fn the_number_of_an_element_is_known() -> Result<(), ParseError> {
        for (text, counter) in [
            ("(%0, %1) in $0.iter().enumerate()", Some(0)),
            ("(_, %0) in $0.iter().enumerate()", None),
            ("(%0, %1) in $0.iter()", None),
        ] {
            assert_eq!(text.parse::<ForLoop>()?.counter(), counter, "{text}");
        }
        Ok(())
    }
}
