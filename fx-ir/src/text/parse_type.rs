//! Types from text.

use std::str::FromStr;

use super::ParseError;
use super::cursor::{Cursor, Parsed};
use crate::Type;
use crate::spelling::spelling_length;
use crate::types::TensorType;

impl FromStr for Type {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Type, ParseError> {
        let mut cursor = Cursor::new(text);
        let ty = parse_type(&mut cursor)?;
        cursor.lines();
        if cursor.rest().is_empty() { Ok(ty) } else { Err(cursor.expected("the end of the type")) }
    }
}

pub(super) fn parse_type(cursor: &mut Cursor) -> Parsed<Type> {
    if cursor.eat("?") {
        return Ok(Type::Unknown);
    }
    if cursor.eat("(") {
        let mut parts = Vec::new();
        while cursor.next_item(")", parts.len())? {
            parts.push(parse_type(cursor)?);
        }
        return Ok(Type::Tuple(parts));
    }
    let Some(head) = cursor.ident() else { return Err(cursor.expected("a type")) };
    match head {
        "module" => parse_spelling(cursor).map(Type::Module),
        "rust" => parse_spelling(cursor).map(Type::Rust),
        "option" => parse_inner(cursor).map(|inner| Type::Option(Box::new(inner))),
        "list" => parse_inner(cursor).map(|inner| Type::List(Box::new(inner))),
        dtype => {
            let dtype = (dtype != "tensor").then(|| dtype.to_owned());
            let shape = if cursor.rest().starts_with('[') { Some(parse_dims(cursor)?) } else { None };
            Ok(Type::Tensor(TensorType { dtype, shape }))
        }
    }
}

fn parse_inner(cursor: &mut Cursor) -> Parsed<Type> {
    cursor.expect("<")?;
    let inner = parse_type(cursor)?;
    cursor.expect(">")?;
    Ok(inner)
}

/// A Rust spelling between `<` and the `>` that closes it, or a string there.
fn parse_spelling(cursor: &mut Cursor) -> Parsed<String> {
    cursor.expect("<")?;
    if cursor.rest().starts_with('"') {
        let spelling = cursor.string()?;
        cursor.expect(">")?;
        return Ok(spelling);
    }
    let Some(length) = spelling_length(cursor.rest()) else { return Err(cursor.error("expected `>` further on")) };
    let spelling = cursor.rest()[..length].to_owned();
    cursor.at += length + 1;
    Ok(spelling)
}

/// The sizes between brackets, parted at the commas that stand in no bracket of their own.
fn parse_dims(cursor: &mut Cursor) -> Parsed<Vec<String>> {
    cursor.expect("[")?;
    let (mut dims, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let rest = cursor.rest();
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ']' if depth > 0 => depth -= 1,
            ',' | ']' if depth == 0 => {
                let dim = rest[start..at].trim();
                if !dim.is_empty() {
                    dims.push(dim.to_owned());
                }
                start = at + 1;
                if c == ']' {
                    cursor.at += start;
                    return Ok(dims);
                }
            }
            '\n' => break,
            _ => {}
        }
    }
    Err(cursor.error("expected `]` further on"))
}
