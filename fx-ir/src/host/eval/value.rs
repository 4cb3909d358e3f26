//! What a host operation computes on: numbers of Rust's types, aggregates, tensors and what a machine holds.

use std::fmt;

use crate::number_type::{FloatType, IntType};
use crate::{NodeId, Type};

/// A value. A shared reference is the value itself: while it lives, nothing may change what it refers to.
#[derive(Clone, Debug)]
pub enum Value<T> {
    /// `()`.
    Unit,
    /// A truth value.
    Bool(bool),
    /// A whole number of a type, in its range. `u128` ends where `i128` does.
    Int(i128, IntType),
    /// A floating-point number of a type; one of `f32` is rounded to it.
    Float(f64, FloatType),
    /// Text.
    Str(String),
    /// A tensor. Cloning the value clones the machine's name of it, which is no second handle.
    Tensor(T),
    /// `Option<T>`.
    Option(Option<Box<Value<T>>>),
    /// A `Vec`, an array or a slice; also what an iterator still has to give.
    List(Vec<Value<T>>),
    /// A tuple of one part or more.
    Tuple(Vec<Value<T>>),
    /// A struct or a variant of that path, by fields; those of a tuple struct are `0`, `1`, ...
    Struct(String, Vec<(String, Value<T>)>),
    /// A range; an end of it may be open.
    Range(Box<Range<T>>),
    /// A function, or a constant such as `Kind::Float`, by its path.
    Path(String),
    /// Something that the machine keeps: a part of the live model, a cell, a kernel, the frame.
    Handle(Handle),
    /// A mutable reference.
    Reference(Box<Location<T>>),
}

/// The number under which a machine keeps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub usize);

/// `start..end` or `start..=end`.
#[derive(Clone, Debug)]
pub struct Range<T> {
    /// Where it starts.
    pub start: Option<Value<T>>,
    /// Where it ends.
    pub end: Option<Value<T>>,
    /// Whether the end belongs to it.
    pub inclusive: bool,
}

/// A place: a base and the projections that lead from there.
#[derive(Clone, Debug)]
pub struct Location<T> {
    /// Where the path begins.
    pub base: Base<T>,
    /// The projections, in order.
    pub steps: Vec<Step>,
}

/// Where the path of a place begins.
#[derive(Clone, Debug)]
pub enum Base<T> {
    /// The variable of a node.
    Variable(NodeId),
    /// What a cell of the state holds.
    Cell(Handle),
    /// A value that lies nowhere else; what is written to it is lost.
    Temporary(Value<T>),
}

/// A projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of a struct or a part of a tuple.
    Field(String),
    /// An element of a list.
    Item(i128),
    /// The first or the last element of a list.
    End {
        /// Whether it is the last.
        last: bool,
    },
    /// What an option holds; of an empty one the panic says this.
    Unwrap(Option<String>),
    /// What a reference refers to; any other value itself.
    Deref,
}

/// Why an operation has no value, apart from what the machine reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The operands do not fit: the graph is wrong.
    Operands(String),
    /// The generated code panics here.
    Panics(String),
}

impl<T> Value<T> {
    /// A number of type `usize`.
    pub fn count(number: usize) -> Value<T> {
        Value::Int(i128::try_from(number).unwrap_or(i128::MAX), IntType::Usize)
    }

    /// `Some` of the value, or `None`.
    pub fn option(value: Option<Value<T>>) -> Value<T> {
        Value::Option(value.map(Box::new))
    }

    /// The whole number, if it is one that can count.
    pub fn as_usize(&self) -> Option<usize> {
        match self {
            Value::Int(number, _) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The value, of which untyped numbers become numbers of the types that `ty` names.
    ///
    /// # Errors
    /// If a number is out of the range of its type.
    pub fn of_type(self, ty: &Type) -> Result<Value<T>, Refusal> {
        Ok(match (self, ty) {
            (value, Type::Rust(name)) => value.of_spelling(name)?,
            (Value::Option(Some(held)), Type::Option(ty)) => Value::option(Some(held.of_type(ty)?)),
            (Value::List(items), Type::List(ty)) => {
                Value::List(items.into_iter().map(|item| item.of_type(ty)).collect::<Result<_, _>>()?)
            }
            (Value::Tuple(parts), Type::Tuple(types)) if parts.len() == types.len() => {
                Value::Tuple(parts.into_iter().zip(types).map(|(part, ty)| part.of_type(ty)).collect::<Result<_, _>>()?)
            }
            (value, _) => value,
        })
    }

    /// The same by the spelling of a type: `f32`, `Vec<i64>`, `[usize; 3]`, `Option<f64>`.
    pub(crate) fn of_spelling(self, ty: &str) -> Result<Value<T>, Refusal> {
        let ty = ty.trim().trim_start_matches(['&', '[']);
        let inner = |head: &str| Some(ty.rsplit_once('>')?.0.split_once(head)?.1);
        Ok(match self {
            Value::Int(number, IntType::Untyped) => match IntType::parse(ty) {
                Some(ty) => Value::Int(ty.checked(number).ok_or_else(|| out_of_range(number, ty))?, ty),
                None => Value::Int(number, IntType::Untyped),
            },
            Value::Float(number, FloatType::Untyped) => match FloatType::parse(ty) {
                Some(ty) => Value::Float(ty.rounded(number), ty),
                None => Value::Float(number, FloatType::Untyped),
            },
            Value::Option(Some(held)) => match inner("Option<") {
                Some(ty) => Value::option(Some(held.of_spelling(ty)?)),
                None => Value::Option(Some(held)),
            },
            Value::List(items) => {
                let element = inner("Vec<").or_else(|| ty.split(';').next()).unwrap_or(ty).trim_end_matches(']');
                Value::List(items.into_iter().map(|item| item.of_spelling(element)).collect::<Result<_, _>>()?)
            }
            value => value,
        })
    }

    /// The value, of which untyped numbers become numbers of the types that `other` has in their place.
    pub(crate) fn alike(self, other: &Value<T>) -> Result<Value<T>, Refusal> {
        Ok(match (self, other) {
            (value @ Value::Int(_, IntType::Untyped), Value::Int(_, ty)) => value.of_spelling(ty.name())?,
            (value @ Value::Float(_, FloatType::Untyped), Value::Float(_, ty)) => value.of_spelling(ty.name())?,
            (Value::Option(Some(a)), Value::Option(Some(b))) => Value::option(Some(a.alike(b)?)),
            (Value::List(items), Value::List(others)) => match others.first() {
                Some(other) => Value::List(items.into_iter().map(|item| item.alike(other)).collect::<Result<_, _>>()?),
                None => Value::List(items),
            },
            (value, _) => value,
        })
    }

    /// Whether two values are equal; `None` where they cannot be compared.
    pub(crate) fn equals(&self, other: &Value<T>) -> Option<bool> {
        let all = |a: &[Value<T>], b: &[Value<T>]| {
            let same: Option<Vec<bool>> = a.iter().zip(b).map(|(a, b)| a.equals(b)).collect();
            Some(a.len() == b.len() && same?.into_iter().all(|same| same))
        };
        match (self, other) {
            (Value::Unit, Value::Unit) => Some(true),
            (Value::Bool(a), Value::Bool(b)) => Some(a == b),
            (Value::Int(a, of), Value::Int(b, and)) => of.joined(*and).map(|_| a == b),
            #[allow(clippy::float_cmp, reason = "it is what the generated code compares")]
            (Value::Float(a, of), Value::Float(b, and)) => of.joined(*and).map(|ty| ty.rounded(*a) == ty.rounded(*b)),
            (Value::Str(a), Value::Str(b)) | (Value::Path(a), Value::Path(b)) => Some(a == b),
            (Value::Option(Some(a)), Value::Option(Some(b))) => a.equals(b),
            (Value::Option(a), Value::Option(b)) => Some(a.is_none() && b.is_none()),
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all(a, b),
            (Value::Struct(of, a), Value::Struct(and, b)) if of == and => {
                let values = |fields: &[(String, Value<T>)]| -> Option<Vec<bool>> {
                    fields.iter().zip(b).map(|((_, a), (_, b))| a.equals(b)).collect()
                };
                Some(a.len() == b.len() && values(a)?.into_iter().all(|same| same))
            }
            // A variant with fields beside one without.
            (Value::Struct(..), Value::Path(_) | Value::Struct(..)) | (Value::Path(_), Value::Struct(..)) => {
                Some(false)
            }
            _ => None,
        }
    }
}

impl<T> Location<T> {
    /// The place itself, without projections.
    pub fn at(base: Base<T>) -> Location<T> {
        Location { base, steps: Vec::new() }
    }

    /// One projection further.
    #[must_use]
    pub fn then(mut self, step: Step) -> Location<T> {
        self.steps.push(step);
        self
    }
}

fn out_of_range(number: i128, ty: IntType) -> Refusal {
    Refusal::Operands(format!("{number} is out of the range of {ty}"))
}

/// What kind of value it is, as messages name it.
impl<T> fmt::Display for Value<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unit => f.write_str("()"),
            Value::Bool(_) => f.write_str("bool"),
            Value::Int(_, ty) => ty.fmt(f),
            Value::Float(_, ty) => ty.fmt(f),
            Value::Str(_) => f.write_str("str"),
            Value::Tensor(_) => f.write_str("tensor"),
            Value::Option(Some(held)) => write!(f, "option of {held}"),
            Value::Option(None) => f.write_str("option"),
            Value::List(items) => match items.first() {
                Some(item) => write!(f, "list of {item}"),
                None => f.write_str("list"),
            },
            Value::Tuple(parts) => write!(f, "tuple of {}", parts.len()),
            Value::Struct(path, _) | Value::Path(path) => f.write_str(path),
            Value::Range(_) => f.write_str("range"),
            Value::Handle(_) => f.write_str("part of the model or the runtime"),
            Value::Reference(_) => f.write_str("mutable reference"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Operands(message) => f.write_str(message),
            Refusal::Panics(message) => write!(f, "panics: {message}"),
        }
    }
}
