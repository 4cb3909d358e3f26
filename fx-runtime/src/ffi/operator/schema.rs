//! What libtorch says of an operator: its arguments and results.

use std::fmt;

use fx_ir::Arg;

/// An operator's arguments and results, as libtorch declares them.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The name with its namespace: `aten::add`.
    pub name: String,
    /// The overload: `Tensor`; empty for the operator's plain form.
    pub overload: String,
    /// The arguments in order; those by keyword come last.
    pub arguments: Vec<Argument>,
    /// The results in order.
    pub results: Vec<Returned>,
}

/// One argument of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its name: `self`, `stride`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The value that stands for one that is left out; a dtype, layout or memory format by libtorch's number.
    pub default: Option<Arg>,
    /// Returns whether PyTorch takes it by keyword alone.
    pub is_keyword_only: bool,
    /// The memory that it shares with results, if any.
    pub alias: Option<Alias>,
}

/// One result of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// Its name; mostly empty.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The memory that it shares with arguments, if any.
    pub alias: Option<Alias>,
}

/// A set of arguments and results that share memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The set's name: `a`; `*` shares with anything.
    pub set: String,
    /// Whether the operator writes to it.
    pub is_written: bool,
}

/// The type of an argument or result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// `Tensor`
    Tensor,
    /// `int`, `SymInt`
    Int,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `complex`
    Complex,
    /// `Scalar`: an integer, a float, a truth value or a complex number.
    Scalar,
    /// `str`
    Str,
    /// `ScalarType`, tch's `Kind`
    Kind,
    /// `Layout`
    Layout,
    /// `MemoryFormat`
    MemoryFormat,
    /// `Device`
    Device,
    /// `Generator`, of which there is no value but none.
    Generator,
    /// The type itself, or none.
    Optional(Box<Type>),
    /// A list; with a length, one element stands for as many.
    List(Box<Type>, Option<usize>),
    /// Any other type, by libtorch's name.
    Other(String),
}

/// The numbers of types in `cpp/operator.cpp`, from `kEnd` on.
const OPTIONAL: u8 = 1;
const LIST: u8 = 2;
const PLAIN: [Type; 12] = [
    Type::Tensor,
    Type::Int,
    Type::Float,
    Type::Bool,
    Type::Scalar,
    Type::Str,
    Type::Kind,
    Type::Layout,
    Type::MemoryFormat,
    Type::Device,
    Type::Generator,
    Type::Complex,
];

impl Type {
    /// The type that the numbers of `kinds` say from the outermost inwards; `name` is libtorch's.
    pub(super) fn of_kinds(kinds: &[u8], length: Option<usize>, name: &str) -> Self {
        let inner = |rest: &[u8]| Box::new(Self::of_kinds(rest, length, name));
        match kinds {
            [OPTIONAL, rest @ ..] => Self::Optional(inner(rest)),
            [LIST, rest @ ..] => Self::List(inner(rest), length),
            [kind, ..] => {
                let plain = usize::from(*kind).checked_sub(3).and_then(|position| PLAIN.get(position));
                plain.cloned().unwrap_or_else(|| Self::Other(name.to_owned()))
            }
            [] => Self::Other(name.to_owned()),
        }
    }

    /// Whether a tensor is of the type.
    pub(super) fn takes_tensor(&self) -> bool {
        match self {
            Self::Tensor => true,
            Self::Optional(inner) => inner.takes_tensor(),
            _ => false,
        }
    }
}

impl Schema {
    /// The argument of that name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Returns whether the operator writes to one of its arguments.
    pub fn mutates(&self) -> bool {
        self.arguments.iter().any(|argument| argument.alias.as_ref().is_some_and(|alias| alias.is_written))
    }

    /// Returns the name with the overload: `aten::add.Tensor`.
    pub fn full_name(&self) -> String {
        if self.overload.is_empty() { self.name.clone() } else { format!("{}.{}", self.name, self.overload) }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "Tensor",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Complex => "complex",
            Self::Scalar => "Scalar",
            Self::Str => "str",
            Self::Kind => "ScalarType",
            Self::Layout => "Layout",
            Self::MemoryFormat => "MemoryFormat",
            Self::Device => "Device",
            Self::Generator => "Generator",
            Self::Optional(inner) => return write!(f, "{inner}?"),
            Self::List(inner, Some(length)) => return write!(f, "{inner}[{length}]"),
            Self::List(inner, None) => return write!(f, "{inner}[]"),
            Self::Other(name) => name,
        })
    }
}
