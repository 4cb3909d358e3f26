//! What Rust code takes, out of values of graphs.

use tch::Tensor;

use super::Value;

/// What a function of the user's takes, out of a value of a graph.
pub trait FromValue<'v>: Sized {
    /// The argument; none if the value is of another type.
    fn from_value(value: &'v Value) -> Option<Self>;
}

impl<'v> FromValue<'v> for &'v Tensor {
    fn from_value(value: &'v Value) -> Option<Self> {
        match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl FromValue<'_> for Tensor {
    fn from_value(value: &Value) -> Option<Self> {
        <&Tensor>::from_value(value).map(Tensor::shallow_clone)
    }
}

impl FromValue<'_> for bool {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(known) => Some(*known),
            _ => None,
        }
    }
}

macro_rules! whole_numbers {
    ($($ty:ty),+) => {
        $(impl FromValue<'_> for $ty {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(number, _) => <$ty>::try_from(*number).ok(),
                    _ => None,
                }
            }
        })+
    };
}
whole_numbers!(i64, i32, usize);

impl FromValue<'_> for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Float(number, _) => Some(*number),
            _ => None,
        }
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Option<T> {
    fn from_value(value: &'v Value) -> Option<Self> {
        match value {
            Value::Option(None) => Some(None),
            Value::Option(Some(held)) => T::from_value(held).map(Some),
            held => T::from_value(held).map(Some),
        }
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Box<T> {
    fn from_value(value: &'v Value) -> Option<Self> {
        T::from_value(value).map(Box::new)
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Vec<T> {
    fn from_value(value: &'v Value) -> Option<Self> {
        match value {
            Value::List(items) => items.iter().map(T::from_value).collect(),
            _ => None,
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $at:tt),+;)+) => {
        $(impl<'v, $($name: FromValue<'v>),+> FromValue<'v> for ($($name,)+) {
            fn from_value(value: &'v Value) -> Option<Self> {
                let Value::Tuple(parts) = value else { return None };
                Some(($($name::from_value(parts.get($at)?)?,)+))
            }
        })+
    };
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}
