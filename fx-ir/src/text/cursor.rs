//! The parser's place in the text, and the words it can read there.

use std::fmt;

use super::word::{is_ident, word_length};

/// The reason why a text is not a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was expected there and what was found, or what is wrong with it.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Shorthand of the parser.
pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) struct Cursor<'a> {
    text: &'a str,
    /// The number of bytes that have been read.
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips spaces and a comment, but no line end.
    pub(super) fn space(&mut self) {
        self.skip(|c| c.is_whitespace() && c != '\n');
        if self.rest().starts_with('#') {
            self.skip(|c| c != '\n');
        }
    }

    /// Skips spaces, comments and line ends.
    pub(super) fn lines(&mut self) {
        self.separators(|c| c == '\n');
    }

    /// Skips whatever may stand between statements; tells whether a line end or a `;` was among it.
    pub(super) fn separator(&mut self) -> bool {
        self.separators(|c| c == '\n' || c == ';')
    }

    fn separators(&mut self, is_separator: impl Fn(char) -> bool) -> bool {
        let mut any = false;
        loop {
            self.space();
            let before = self.at;
            self.skip(&is_separator);
            if self.at == before {
                return any;
            }
            any = true;
        }
    }

    fn skip(&mut self, skips: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let read = rest.len() - rest.trim_start_matches(skips).len();
        self.at += read;
        &rest[..read]
    }

    /// Reads `token` if it stands here, on this line.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let before = self.at;
        self.space();
        let rest = self.rest();
        let whole =
            !token.ends_with(is_ident) || !rest.get(token.len()..).is_some_and(|rest| rest.starts_with(is_ident));
        if rest.starts_with(token) && whole {
            self.at += token.len();
            return true;
        }
        self.at = before;
        false
    }

    pub(super) fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Is there another item before `close`? Reads the comma between two items and `close` itself; line ends may
    /// stand anywhere. `read` is how many items there were so far.
    pub(super) fn next_item(&mut self, close: &str, read: usize) -> Parsed<bool> {
        self.lines();
        if read > 0 && !self.eat(",") {
            return if self.eat(close) { Ok(false) } else { Err(self.expected(&format!("`,` or `{close}`"))) };
        }
        self.lines();
        Ok(!self.eat(close))
    }

    /// An identifier or number: letters, digits and `_`.
    pub(super) fn ident(&mut self) -> Option<&'a str> {
        self.space();
        let ident = self.skip(is_ident);
        (!ident.is_empty()).then_some(ident)
    }

    /// A bare or quoted word.
    pub(super) fn word(&mut self, what: &str) -> Parsed<String> {
        self.space();
        if self.rest().starts_with('"') {
            return self.string();
        }
        let length = word_length(self.rest());
        if length == 0 {
            return Err(self.expected(what));
        }
        let word = &self.rest()[..length];
        self.at += length;
        Ok(word.to_owned())
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Parsed<T> {
        self.space();
        let start = self.at;
        let digits = self.skip(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| {
            self.at = start;
            self.expected(what)
        })
    }

    pub(super) fn string(&mut self) -> Parsed<String> {
        self.space();
        self.quoted('"')
    }

    /// Text between two `quote`s, with Rust's escapes.
    pub(super) fn quoted(&mut self, quote: char) -> Parsed<String> {
        let start = self.at;
        if !self.rest().starts_with(quote) {
            return Err(self.expected(if quote == '"' { "a string" } else { "a path in backticks" }));
        }
        self.at += quote.len_utf8();
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else { return Err(self.error_at(start, "this quote has no end")) };
            self.at += c.len_utf8();
            match c {
                '\\' => out.push(self.escape()?),
                c if c == quote => return Ok(out),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let start = self.at - 1;
        let code = self.rest().chars().next().unwrap_or(' ');
        self.at += code.len_utf8().min(self.rest().len());
        match code {
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            '0' => Ok('\0'),
            '\\' | '"' | '\'' | '`' => Ok(code),
            'u' => {
                self.expect("{")?;
                let digits = self.ident().unwrap_or_default();
                self.expect("}")?;
                let value = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                value.ok_or_else(|| self.error_at(start, "this is no character"))
            }
            _ => Err(self.error_at(start, "unknown escape in a string")),
        }
    }

    /// The error that `what` was expected here.
    pub(super) fn expected(&mut self, what: &str) -> ParseError {
        self.space();
        let found = match self.rest().chars().next() {
            None => "the end".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(c) if is_ident(c) => format!("`{}`", self.rest().split(|c| !is_ident(c)).next().unwrap_or_default()),
            Some(c) => format!("`{c}`"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        self.error_at(self.at, message)
    }

    pub(super) fn error_at(&self, at: usize, message: impl Into<String>) -> ParseError {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ParseError { line, column, message: message.into() }
    }
}
