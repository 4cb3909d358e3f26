//! What an arm of a `match`, or the head of a `for`, asks of a value, and which parts of it it binds.
//!
//! The `n`-th value that a pattern binds is the `n`-th parameter of its region. Whether that is the part itself or a
//! reference to it depends on what is matched, as in Rust: a part of what is behind a reference is a reference.
//!
//! Its text form is Rust's with `%n` for what it binds: `Some((%0, _))`, `Mode::Scaled { factor: %0, .. }`,
//! `[%0, .., %1]`, `(1 | 3..=5)`. [`eval`](crate::host::eval) matches values.

use crate::number_type::{FloatType, IntType};

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// `_`.
    Wild,
    /// A variable: the bound value of that number.
    Bind(usize),
    /// A value that is equal to this one.
    Literal(Literal),
    /// A value of the range.
    Range(Box<RangePattern>),
    /// `&pattern`: what is behind a reference.
    Reference(Box<Pattern>),
    /// `None`.
    None,
    /// `Some(pattern)`.
    Some(Box<Pattern>),
    /// `(a, b)`.
    Tuple(Elements),
    /// `path(a, b)`: a tuple struct, or a variant with fields that have no names.
    TupleStruct(String, Elements),
    /// `path { field: a }`.
    Struct(StructPattern),
    /// `[a, b]`: an array or a slice.
    Slice(Elements),
    /// `a | b`: all cases bind the same values.
    Or(Vec<Pattern>),
}

/// The patterns of a tuple's parts or of a list's elements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Elements {
    /// In order, without `..`.
    pub items: Vec<Pattern>,
    /// How many of them stand before `..`, which stands for any number of elements; `None` where there is none.
    pub rest: Option<usize>,
}

/// `path { field: a, .. }`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructPattern {
    /// The struct or the variant.
    pub path: String,
    /// The patterns of fields by name.
    pub fields: Vec<(String, Pattern)>,
    /// Whether it has fields that are not mentioned.
    pub rest: bool,
}

/// `start..=end`, where one of the ends may be open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangePattern {
    /// The smallest value.
    pub start: Option<Literal>,
    /// Where it ends.
    pub end: Option<Literal>,
    /// Whether the end belongs to it.
    pub inclusive: bool,
}

/// A constant that a pattern compares with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128, IntType),
    /// A floating-point number, by its bits as an `f64`.
    Float(u64, FloatType),
    /// A character.
    Char(char),
    /// Text.
    Str(String),
    /// A constant of that path, or a variant without fields.
    Path(String),
}

impl Pattern {
    /// Returns whether the pattern is known to match every value of its type.
    pub fn takes_all(&self) -> bool {
        match self {
            Pattern::Wild | Pattern::Bind(_) => true,
            Pattern::Reference(inner) => inner.takes_all(),
            Pattern::Tuple(elements) => elements.items.iter().all(Pattern::takes_all),
            _ => false,
        }
    }

    /// `Some(pattern)`.
    pub fn some(held: Pattern) -> Pattern {
        Pattern::Some(Box::new(held))
    }

    /// A tuple of these parts.
    pub fn tuple(parts: impl Into<Vec<Pattern>>) -> Pattern {
        Pattern::Tuple(Elements { items: parts.into(), rest: None })
    }

    /// A whole number without a type.
    pub fn int(number: i128) -> Pattern {
        Pattern::Literal(Literal::Int(number, IntType::Untyped))
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Pattern {
        Pattern::Literal(Literal::Str(text.into()))
    }

    /// How many values it binds.
    pub fn binds(&self) -> usize {
        let own = if let Pattern::Bind(number) = self { number + 1 } else { 0 };
        self.inner().map(Pattern::binds).fold(own, usize::max)
    }

    /// Returns whether there are values of the type that it does not match, as far as the pattern alone says it: of a
    /// struct without variants it is not known that it has none.
    pub fn is_refutable(&self) -> bool {
        match self {
            Pattern::Wild | Pattern::Bind(_) => false,
            Pattern::Reference(_) | Pattern::Tuple(_) => self.inner().any(Pattern::is_refutable),
            Pattern::Slice(elements) => !elements.items.is_empty() || elements.rest.is_none(),
            Pattern::Or(cases) => cases.iter().all(Pattern::is_refutable),
            _ => true,
        }
    }

    /// The patterns of which it is made.
    pub fn inner(&self) -> impl Iterator<Item = &Pattern> {
        let (items, fields): (&[Pattern], &[(String, Pattern)]) = match self {
            Pattern::Reference(inner) | Pattern::Some(inner) => (std::slice::from_ref(&**inner), &[]),
            Pattern::Tuple(elements) | Pattern::TupleStruct(_, elements) | Pattern::Slice(elements) => {
                (&elements.items, &[])
            }
            Pattern::Struct(pattern) => (&[], &pattern.fields),
            Pattern::Or(cases) => (cases, &[]),
            _ => (&[], &[]),
        };
        items.iter().chain(fields.iter().map(|(_, field)| field))
    }
}

impl Elements {
    /// The elements of that many values that its patterns stand for, each with its position; `None` if they are too few
    /// or too many.
    pub fn positions(&self, count: usize) -> Option<impl Iterator<Item = (usize, &Pattern)>> {
        let own = self.items.len();
        let fits = if self.rest.is_some() { own <= count } else { own == count };
        let before = self.rest.unwrap_or(own);
        let shift = move |at: usize| if at < before { at } else { at + count - own };
        fits.then(|| self.items.iter().enumerate().map(move |(at, item)| (shift(at), item)))
    }
}

impl Literal {
    /// A floating-point number.
    pub fn float(number: f64, ty: FloatType) -> Literal {
        Literal::Float(number.to_bits(), ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_bound_is_counted() {
        for (text, count) in [("_", 0), ("%0", 1), ("(%0, Some(%1))", 2), ("(A(%0) | B { x: %0, .. })", 1), ("&%0", 1)]
        {
            assert_eq!(pattern(text).binds(), count, "{text}");
        }
    }

    #[test]
    fn what_a_pattern_refuses() {
        for (text, is_refutable) in [
            ("_", false),
            ("(%0, _)", false),
            ("[..]", false),
            ("&(%0, ..)", false),
            ("(None | _)", false),
            ("None", true),
            ("(%0, 1)", true),
            ("[%0]", true),
        ] {
            assert_eq!(pattern(text).is_refutable(), is_refutable, "{text}");
        }
    }

    #[test]
    fn elements_behind_a_rest_count_from_the_end() {
        let Pattern::Slice(elements) = pattern("[%0, .., %1]") else { panic!("no slice") };
        let positions = |count| elements.positions(count).map(|items| items.map(|(at, _)| at).collect::<Vec<_>>());
        assert_eq!(positions(4), Some(vec![0, 3]));
        assert_eq!(positions(2), Some(vec![0, 1]));
        assert_eq!(positions(1), None);
    }
}
