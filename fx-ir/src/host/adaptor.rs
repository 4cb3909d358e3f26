//! How a loop takes the elements of what it runs over.

use std::{fmt, str::FromStr};

/// An adaptor of an iterator, in the order in which they are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adaptor {
    /// `.iter()`: the elements of a list, by reference.
    Iter,
    /// `.clone()`: the numbers of a range, which stays as it is.
    Clone,
    /// `.copied()`.
    Copied,
    /// `.enumerate()`: each element behind its number.
    Enumerate,
    /// `.rev()`.
    Rev,
    /// `.skip(n)`.
    Skip(i64),
    /// `.take(n)`.
    Take(i64),
    /// `.step_by(n)`: every n-th element, the first included.
    StepBy(i64),
}

impl fmt::Display for Adaptor {
    /// Writes the call: `iter()`, `skip(2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Adaptor::Iter => f.write_str("iter()"),
            Adaptor::Clone => f.write_str("clone()"),
            Adaptor::Copied => f.write_str("copied()"),
            Adaptor::Enumerate => f.write_str("enumerate()"),
            Adaptor::Rev => f.write_str("rev()"),
            Adaptor::Skip(count) => write!(f, "skip({count})"),
            Adaptor::Take(count) => write!(f, "take({count})"),
            Adaptor::StepBy(step) => write!(f, "step_by({step})"),
        }
    }
}

impl FromStr for Adaptor {
    type Err = String;

    fn from_str(call: &str) -> Result<Adaptor, String> {
        let unknown = || format!("`{call}` is no adaptor of a loop");
        let (name, count) = call.strip_suffix(')').and_then(|call| call.split_once('(')).ok_or_else(unknown)?;
        Ok(match (name, count.parse()) {
            ("iter", _) if count.is_empty() => Adaptor::Iter,
            ("clone", _) if count.is_empty() => Adaptor::Clone,
            ("copied", _) if count.is_empty() => Adaptor::Copied,
            ("enumerate", _) if count.is_empty() => Adaptor::Enumerate,
            ("rev", _) if count.is_empty() => Adaptor::Rev,
            ("skip", Ok(count)) => Adaptor::Skip(count),
            ("take", Ok(count)) => Adaptor::Take(count),
            ("step_by", Ok(step)) => Adaptor::StepBy(step),
            _ => return Err(unknown()),
        })
    }
}
