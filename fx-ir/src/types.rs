//! The static type of a value: as much as the source says, and never more.

use std::fmt;

use crate::{scalar, spelling::spelling_length};

/// The type of a value. `Unknown` is always allowed and fits everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Type {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A tensor.
    Tensor(TensorType),
    /// A module: one of the runtime's layers (`Conv2D`) or a struct of the user's (`crate::model::Block`).
    Module(String),
    /// Any other Rust type, as it would be written in the crate: `i64`, `Vec<i64>`, `crate::Config`.
    Rust(String),
    /// `Option<T>`.
    Option(Box<Type>),
    /// `Vec<T>`, `&[T]` or `[T; N]`.
    List(Box<Type>),
    /// A tuple.
    Tuple(Vec<Type>),
}

/// The static type of a tensor: each part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type in torch's short form: `f32`, `bf16`, `i64`.
    pub dtype: Option<String>,
    /// The sizes, each a number or a symbol (`B`, `?`).
    pub shape: Option<Vec<String>>,
}

impl Type {
    /// Returns whether it is made of numbers and names alone, or is a kernel or a `StateCell`, which copy what they are
    /// made from.
    pub fn is_plain(&self) -> bool {
        match self {
            Type::Rust(name) => scalar::is_plain(name) || matches!(self.of_runtime(), Some(("frozen", _))),
            Type::Tuple(parts) => parts.iter().all(Type::is_plain),
            Type::List(inner) | Type::Option(inner) => inner.is_plain(),
            Type::Unknown | Type::Tensor(_) | Type::Module(_) => false,
        }
    }

    /// A tensor of which nothing else is known.
    pub const TENSOR: Type = Type::Tensor(TensorType { dtype: None, shape: None });

    /// A Rust type by its spelling.
    pub fn rust(spelling: impl Into<String>) -> Type {
        Type::Rust(spelling.into())
    }

    /// The module of the runtime that declares the type, and the rest of its path: `frozen` and `Conv`; `None` of any other
    /// type. What the runtime declares at its root has no module.
    pub fn of_runtime(&self) -> Option<(&str, &str)> {
        let Type::Rust(spelling) = self else { return None };
        let path = spelling.strip_prefix("::fx_runtime::")?;
        let is_module = |(module, _): &(&str, &str)| module.chars().all(|c| c.is_lowercase() || c == '_');
        Some(path.split_once("::").filter(is_module).unwrap_or(("", path)))
    }

    /// Returns whether it is a tensor.
    pub fn is_tensor(&self) -> bool {
        matches!(self, Type::Tensor(_))
    }

    /// The name of a layer of `nn`, where it is one.
    pub fn layer(&self) -> Option<&str> {
        match self {
            Type::Module(name) if !name.contains("::") => Some(name),
            _ => None,
        }
    }

    /// Returns whether a value of type `other` may stand where one of `self` is expected.
    pub fn fits(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::Tensor(a), Type::Tensor(b)) => a.fits(b),
            (Type::Option(a), Type::Option(b)) | (Type::List(a), Type::List(b)) => a.fits(b),
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(b)),
            // A literal without a suffix is of the type that the code around it asks for.
            (Type::Rust(a), Type::Rust(b)) if a == "integer" || b == "integer" => {
                [a, b].iter().all(|name| *name == "integer" || scalar::is_integer(name))
            }
            (Type::Rust(a), Type::Rust(b)) if a == "float" || b == "float" => {
                [a, b].iter().all(|name| *name == "float" || scalar::is_float(name))
            }
            // What never comes back stands in place of anything.
            (Type::Rust(never), _) | (_, Type::Rust(never)) if never == "!" => true,
            (a, b) => a == b,
        }
    }
}

impl TensorType {
    fn fits(&self, other: &TensorType) -> bool {
        let dtype = self.dtype.is_none() || other.dtype.is_none() || self.dtype == other.dtype;
        let rank = match (&self.shape, &other.shape) {
            (Some(a), Some(b)) => a.len() == b.len(),
            _ => true,
        };
        dtype && rank
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unknown => f.write_str("?"),
            Type::Tensor(t) => t.fmt(f),
            Type::Module(name) => write!(f, "module<{}>", Spelling(name)),
            Type::Rust(spelling) => write!(f, "rust<{}>", Spelling(spelling)),
            Type::Option(inner) => write!(f, "option<{inner}>"),
            Type::List(inner) => write!(f, "list<{inner}>"),
            Type::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Rust between `<` and `>`, quoted if it would not read back bare.
struct Spelling<'a>(&'a str);

impl fmt::Display for Spelling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = !self.0.starts_with('"') && spelling_length(&format!("{}>", self.0)) == Some(self.0.len());
        if bare { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.dtype, &self.shape) {
            (None, None) => f.write_str("tensor"),
            (dtype, shape) => {
                f.write_str(dtype.as_deref().unwrap_or("tensor"))?;
                match shape {
                    Some(dims) => write!(f, "[{}]", dims.join(", ")),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_runtime_are_known_by_their_module() {
        for (spelling, known) in [
            ("::fx_runtime::frozen::Conv", Some(("frozen", "Conv"))),
            (
                "::fx_runtime::frozen::Leaf<::fx_runtime::nn::LayerNorm>",
                Some(("frozen", "Leaf<::fx_runtime::nn::LayerNorm>")),
            ),
            ("::fx_runtime::Kind", Some(("", "Kind"))),
            ("crate::Conv", None),
        ] {
            assert_eq!(Type::rust(spelling).of_runtime(), known);
        }
        assert_eq!(Type::TENSOR.of_runtime(), None);
    }
}
