//! Patterns as text: Rust's notation, with `%n` for the n-th value that is bound.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::cursor::{Cursor, ParseError, Parsed};
use super::word::{Backticked, is_ident};
use crate::number_type::{FloatType, IntType};
use crate::pattern::{Elements, Literal, Pattern, RangePattern, StructPattern};

impl Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Wild => f.write_str("_"),
            Pattern::Bind(number) => write!(f, "%{number}"),
            Pattern::Literal(literal) => literal.fmt(f),
            Pattern::Range(range) => range.fmt(f),
            Pattern::Reference(inner) => write!(f, "&{inner}"),
            Pattern::None => f.write_str("None"),
            Pattern::Some(held) => write!(f, "Some({held})"),
            Pattern::Tuple(elements) if elements.items.len() == 1 && elements.rest.is_none() => {
                write!(f, "({elements},)")
            }
            Pattern::Tuple(elements) => write!(f, "({elements})"),
            Pattern::TupleStruct(path, elements) => write!(f, "{}({elements})", Path(path)),
            Pattern::Struct(pattern) => pattern.fmt(f),
            Pattern::Slice(elements) => write!(f, "[{elements}]"),
            Pattern::Or(cases) => {
                f.write_str("(")?;
                for (position, case) in cases.iter().enumerate() {
                    write!(f, "{}{case}", if position > 0 { " | " } else { "" })?;
                }
                // One case by itself is no choice.
                f.write_str(if cases.len() == 1 { " |)" } else { ")" })
            }
        }
    }
}

impl Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items: Vec<String> = self.items.iter().map(Pattern::to_string).collect();
        if let Some(before) = self.rest {
            items.insert(before.min(items.len()), "..".to_owned());
        }
        f.write_str(&items.join(", "))
    }
}

impl Display for StructPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields: Vec<String> = self.fields.iter().map(|(name, field)| format!("{name}: {field}")).collect();
        if self.rest {
            fields.push("..".to_owned());
        }
        write!(f, "{} {{ {} }}", Path(&self.path), fields.join(", "))
    }
}

impl Display for RangePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(start) = &self.start {
            start.fmt(f)?;
        }
        f.write_str(if self.inclusive { "..=" } else { ".." })?;
        self.end.as_ref().map_or(Ok(()), |end| end.fmt(f))
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Bool(value) => value.fmt(f),
            Literal::Int(number, IntType::Untyped) => number.fmt(f),
            Literal::Int(number, ty) => write!(f, "{number}{ty}"),
            Literal::Float(bits, FloatType::Untyped) => write!(f, "{:?}", f64::from_bits(*bits)),
            Literal::Float(bits, ty) => write!(f, "{:?}{ty}", f64::from_bits(*bits)),
            Literal::Char(value) => write!(f, "{value:?}"),
            Literal::Str(text) => write!(f, "{text:?}"),
            Literal::Path(path) => Path(path).fmt(f),
        }
    }
}

/// A path, in backticks where it is more than names.
struct Path<'a>(&'a str);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_name = |name: &str| {
            let starts = name.starts_with(|c: char| c == '_' || c.is_alphabetic());
            starts && name.chars().all(is_ident)
        };
        let is_plain = self.0.strip_prefix("::").unwrap_or(self.0).split("::").all(is_name);
        let is_taken = matches!(self.0, "_" | "None" | "Some" | "true" | "false");
        if is_plain && !is_taken { f.write_str(self.0) } else { Backticked(self.0).fmt(f) }
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Pattern, ParseError> {
        let mut cursor = Cursor::new(text);
        let pattern = parse_pattern(&mut cursor)?;
        cursor.lines();
        if cursor.rest().is_empty() { Ok(pattern) } else { Err(cursor.expected("the end of the pattern")) }
    }
}

/// A pattern without `|` outside of parentheses.
pub(crate) fn parse_pattern(cursor: &mut Cursor<'_>) -> Parsed<Pattern> {
    cursor.lines();
    if cursor.eat("%") {
        return cursor.number("the number of what is bound").map(Pattern::Bind);
    }
    if cursor.eat("&") {
        return parse_pattern(cursor).map(|inner| Pattern::Reference(Box::new(inner)));
    }
    if cursor.eat("(") {
        return parse_parenthesis(cursor);
    }
    if cursor.eat("[") {
        return elements(cursor, "]", Vec::new()).map(Pattern::Slice);
    }
    if let Some(inclusive) = dots(cursor) {
        return range(cursor, None, inclusive);
    }
    for (word, pattern) in [("_", Pattern::Wild), ("None", Pattern::None)] {
        if cursor.eat(word) {
            return Ok(pattern);
        }
    }
    if cursor.eat("Some") {
        cursor.expect("(")?;
        let held = parse_pattern(cursor)?;
        cursor.expect(")")?;
        return Ok(Pattern::some(held));
    }
    let literal = parse_literal(cursor)?;
    if let Some(inclusive) = dots(cursor) {
        return range(cursor, Some(literal), inclusive);
    }
    match literal {
        Literal::Path(path) if cursor.eat("(") => {
            elements(cursor, ")", Vec::new()).map(|parts| Pattern::TupleStruct(path, parts))
        }
        Literal::Path(path) if cursor.eat("{") => fields(cursor, path),
        literal => Ok(Pattern::Literal(literal)),
    }
}

/// A tuple or a choice of cases, behind its `(`.
fn parse_parenthesis(cursor: &mut Cursor<'_>) -> Parsed<Pattern> {
    if is_rest(cursor) || cursor.rest().trim_start().starts_with(')') {
        return elements(cursor, ")", Vec::new()).map(Pattern::Tuple);
    }
    let first = parse_pattern(cursor)?;
    cursor.lines();
    if cursor.eat(",") {
        return elements(cursor, ")", vec![first]).map(Pattern::Tuple);
    }
    if cursor.eat(")") {
        return Ok(first);
    }
    let mut cases = vec![first];
    while cursor.eat("|") {
        if !cursor.rest().trim_start().starts_with(')') {
            cases.push(parse_pattern(cursor)?);
        }
    }
    cursor.expect(")")?;
    Ok(Pattern::Or(cases))
}

/// Elements up to `close`, behind the comma that follows those that are read already.
fn elements(cursor: &mut Cursor<'_>, close: &str, items: Vec<Pattern>) -> Parsed<Elements> {
    let (mut elements, mut read) = (Elements { items, rest: None }, 0);
    while cursor.next_item(close, read)? {
        read += 1;
        if !is_rest(cursor) {
            elements.items.push(parse_pattern(cursor)?);
        } else if elements.rest.replace(elements.items.len()).is_some() {
            return Err(cursor.error("`..` stands here twice"));
        } else {
            cursor.expect("..")?;
        }
    }
    Ok(elements)
}

/// Returns whether a `..` follows that stands for elements, and is no range.
fn is_rest(cursor: &Cursor<'_>) -> bool {
    let behind = cursor.rest().trim_start().strip_prefix("..");
    behind.is_some_and(|behind| behind.trim_start().starts_with([',', ')', ']']))
}

/// Fields up to the closing brace.
fn fields(cursor: &mut Cursor<'_>, path: String) -> Parsed<Pattern> {
    let mut pattern = StructPattern { path, fields: Vec::new(), rest: false };
    let mut read = 0;
    while cursor.next_item("}", read)? {
        read += 1;
        if cursor.eat("..") {
            pattern.rest = true;
            continue;
        }
        let name = cursor.ident().map(str::to_owned).ok_or_else(|| cursor.expected("a field, `..` or `}`"))?;
        cursor.expect(":")?;
        pattern.fields.push((name, parse_pattern(cursor)?));
    }
    Ok(Pattern::Struct(pattern))
}

/// The dots of a range: whether its end belongs to it.
fn dots(cursor: &mut Cursor<'_>) -> Option<bool> {
    if cursor.eat("..=") { Some(true) } else { cursor.eat("..").then_some(false) }
}

/// The rest of a range behind its dots.
fn range(cursor: &mut Cursor<'_>, start: Option<Literal>, inclusive: bool) -> Parsed<Pattern> {
    cursor.space();
    let is_open =
        !inclusive && (cursor.rest().is_empty() || cursor.rest().starts_with([',', ')', ']', '}', '|', '\n']));
    let end = if is_open { None } else { Some(parse_literal(cursor)?) };
    Ok(Pattern::Range(Box::new(RangePattern { start, end, inclusive })))
}

fn parse_literal(cursor: &mut Cursor<'_>) -> Parsed<Literal> {
    cursor.space();
    let start = cursor.at;
    let rest = cursor.rest();
    match rest.chars().next() {
        Some('"') => cursor.string().map(Literal::Str),
        Some('`') => cursor.quoted('`').map(Literal::Path),
        Some('\'') => {
            let text = cursor.quoted('\'')?;
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(one), None) => Ok(Literal::Char(one)),
                _ => Err(cursor.error_at(start, "this is no character")),
            }
        }
        Some(c) if c == '-' || c.is_ascii_digit() => number(cursor),
        Some(c) if c == ':' || c == '_' || c.is_alphabetic() => {
            let path = path(cursor);
            match path.as_str() {
                "true" | "false" => Ok(Literal::Bool(path == "true")),
                "" => Err(cursor.expected("a pattern")),
                _ => Ok(Literal::Path(path)),
            }
        }
        _ => Err(cursor.expected("a pattern")),
    }
}

/// `::tch::Kind::Float`.
fn path(cursor: &mut Cursor<'_>) -> String {
    let mut path = String::new();
    if cursor.eat("::") {
        path.push_str("::");
    }
    path.push_str(cursor.ident().unwrap_or_default());
    while cursor.rest().starts_with("::") {
        cursor.at += 2;
        path.push_str("::");
        path.push_str(cursor.ident().unwrap_or_default());
    }
    path
}

/// A number with its suffix: `-3`, `64usize`, `1.5e-3f32`.
fn number(cursor: &mut Cursor<'_>) -> Parsed<Literal> {
    let start = cursor.at;
    let rest = cursor.rest();
    let digits = |from: usize| from + rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(usize::from(rest.starts_with('-')));
    let mut end = whole;
    let starts_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if rest[end..].strip_prefix('.').is_some_and(starts_digit) {
        end = digits(end + 1);
    }
    if let Some(exponent) = rest[end..].strip_prefix('e')
        && starts_digit(exponent.trim_start_matches(['-', '+']))
    {
        end = digits(end + 1 + usize::from(exponent.starts_with(['-', '+'])));
    }
    let is_whole = end == whole;
    let suffix = rest[end..].chars().take_while(|&c| is_ident(c)).collect::<String>();
    cursor.at += end + suffix.len();
    let wrong = || cursor.error_at(start, format!("`{}` is no number", &rest[..end + suffix.len()]));
    let float = FloatType::parse(&suffix).or(suffix.is_empty().then_some(FloatType::Untyped));
    match IntType::parse(&suffix).or(suffix.is_empty().then_some(IntType::Untyped)) {
        Some(ty) if is_whole => rest[..end].parse().map(|number| Literal::Int(number, ty)).map_err(|_| wrong()),
        _ => {
            let ty = float.ok_or_else(wrong)?;
            rest[..end].parse().map(|number| Literal::float(number, ty)).map_err(|_| wrong())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for text in [
            "_",
            "%0",
            "None",
            "Some((%0, _))",
            "(%0,)",
            "()",
            "(.., %0)",
            "[%0, .., %1]",
            "&%0",
            "true",
            "-3",
            "64usize",
            "1.5f32",
            "1e-300",
            "'a'",
            "\"none\"",
            "(1 | 3..=5 | -2.. | ..9u8)",
            "crate::LIMIT..=::std::i64::MAX",
            "`<Dense<6>>::GAIN`",
            "Mode::Plain",
            "Mode::Scaled { factor: %0, .. }",
            "crate::Pair(%0, Some(\"a, b\"), ..)",
        ] {
            assert_eq!(text.parse::<Pattern>().map(|pattern| pattern.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for (text, message) in [
            ("Some(%0", "1:8: expected `)`, found the end"),
            ("(.., ..)", "1:6: `..` stands here twice"),
            ("%x", "1:2: expected the number of what is bound, found `x`"),
            ("3px", "1:1: `3px` is no number"),
            ("%0 if x", "1:4: expected the end of the pattern, found `if`"),
        ] {
            assert_eq!(text.parse::<Pattern>().map_err(|error| error.to_string()), Err(message.to_owned()));
        }
    }
}
