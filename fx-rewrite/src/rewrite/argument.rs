//! Arguments that Rust computes while a rule is applied.

use fx_ir::Arg;

use super::Value;

/// A computed argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument(pub(super) Arg);

/// The values that can be computed for an argument: numbers, truth values, lists of numbers, and what a capture is
/// bound to.
pub trait IntoArgument {
    /// The argument.
    fn into_argument(self) -> Argument;
}

impl IntoArgument for i64 {
    fn into_argument(self) -> Argument {
        Argument(Arg::Int(self))
    }
}

impl IntoArgument for f64 {
    fn into_argument(self) -> Argument {
        Argument(Arg::Float(self))
    }
}

impl IntoArgument for bool {
    fn into_argument(self) -> Argument {
        Argument(Arg::Bool(self))
    }
}

impl IntoArgument for Vec<i64> {
    fn into_argument(self) -> Argument {
        Argument(Arg::ints(&self))
    }
}

impl IntoArgument for Value<'_> {
    fn into_argument(self) -> Argument {
        Argument(self.arg().clone())
    }
}
