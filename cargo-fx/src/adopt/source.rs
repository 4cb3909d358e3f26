//! A Rust file with its text, its tokens and its syntax, whose spans are places in the text.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proc_macro2::{Span, TokenStream};

use super::fault::Fault;

/// A parsed file.
pub(super) struct Source {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// Its path from the package's folder on, with `/` between folders.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) tokens: TokenStream,
    pub(super) file: syn::File,
    /// What stands before the code: a byte order mark, a line for a shell.
    prefix: usize,
}

impl Source {
    /// Reads `name` in the package's folder.
    pub(super) fn read(root: &Path, name: &str) -> Result<Source, Fault> {
        let path = root.join(name);
        let text = fs::read_to_string(&path).map_err(|source| Fault::Read { path: path.clone(), source })?;
        Source::parse(path, name, text)
    }

    pub(super) fn parse(path: PathBuf, name: &str, text: String) -> Result<Source, Fault> {
        let prefix = prefix(&text);
        let broken = |span: Span, message: String| Fault::Syntax { file: name.to_owned(), line: line(span), message };
        let code = text.get(prefix..).unwrap_or_default();
        let tokens: TokenStream =
            code.parse().map_err(|error: proc_macro2::LexError| broken(error.span(), error.to_string()))?;
        let file = syn::parse2(tokens.clone()).map_err(|error| broken(error.span(), error.to_string()))?;
        Ok(Source { path, name: name.to_owned(), text, tokens, file, prefix })
    }

    /// Where in the text the tokens stand.
    pub(super) fn range(&self, span: Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.prefix..range.end + self.prefix
    }

    /// The text of the tokens from the first on to the last.
    pub(super) fn between(&self, first: Span, last: Span) -> &str {
        self.text.get(self.range(first).start..self.range(last).end).unwrap_or_default()
    }

    /// How lines end.
    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// A new line that begins as the one around `at` does.
    pub(super) fn line_like(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let indent: String = line.chars().take_while(|letter| *letter == ' ' || *letter == '\t').collect();
        format!("{}{indent}", self.newline())
    }

    /// The range with the rest of its line, where the line holds nothing else.
    pub(super) fn whole_line(&self, range: Range<usize>) -> Range<usize> {
        let (before, after) = (self.text.get(..range.start), self.text.get(range.end..));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(after.len(), |at| at + 1);
        let is_alone = before.get(start..).is_some_and(|text| text.trim().is_empty())
            && after.get(..end).is_some_and(|text| text.trim().is_empty());
        if is_alone { start..range.end + end } else { range }
    }
}

/// The line of a token, from 1 on.
pub(super) fn line(span: Span) -> usize {
    span.start().line
}

/// The length of what the parser of Rust leaves out at the beginning.
fn prefix(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let rest = text.get(mark..).unwrap_or_default();
    let is_shebang = rest.strip_prefix("#!").is_some_and(|rest| !rest.trim_start().starts_with('['));
    mark + if is_shebang { rest.find('\n').unwrap_or(rest.len()) } else { 0 }
}

#[cfg(test)]
mod tests {
    use syn::spanned::Spanned as _;

    use super::Source;

    #[test]
    fn spans_are_places_in_the_text() {
        let text = "\u{feff}#!/usr/bin/env run\r\n// é\r\nfn f() {}\r\n";
        let source =
            Source::parse("a.rs".into(), "a.rs", text.to_owned()).ok().filter(|source| source.newline() == "\r\n");
        let found =
            source.map(|source| source.between(source.file.items[0].span(), source.file.items[0].span()).to_owned());
        assert_eq!(found.as_deref(), Some("fn f() {}"));
    }
}
