//! What a command reports when it cannot go on: what happened, what was looked for and where, what to do.
//!
//! Every failure is built from these three parts, so that none can be left out by accident.

use std::fmt;
use std::path::Path;

/// The outcome of a command or of a step of one.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A failure in three parts.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened, in one line.
    what: String,
    /// What was looked for and where, or what a tool said: any number of lines.
    looked: Vec<String>,
    /// What to do about it, one line a way out.
    help: Vec<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), looked: Vec::new(), help: Vec::new() }
    }

    pub(crate) fn looked(mut self, line: impl Into<String>) -> Self {
        self.looked.push(line.into());
        self
    }

    pub(crate) fn looked_all(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.looked.extend(lines);
        self
    }

    pub(crate) fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }

    /// A failure of the file system at `path`.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {doing} `{}`", path.display())).looked(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        for line in &self.looked {
            write!(f, "\n  {line}")?;
        }
        for line in &self.help {
            write!(f, "\n  help: {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn three_parts_in_order() {
        let failure = Failure::new("no tea").help("boil water").looked("looked for it in `/pot`");
        assert_eq!(failure.to_string(), "error: no tea\n  looked for it in `/pot`\n  help: boil water");
    }
}
