//! Rust's primitive types, by name: values that are copied, never shared; and their arithmetic, as far as it is known.

use crate::Arg;

/// The whole numbers.
pub const INTEGERS: [&str; 12] =
    ["i64", "i32", "i16", "i8", "i128", "isize", "u64", "u32", "u16", "u8", "u128", "usize"];

/// Is it the name of a type of whole numbers?
pub fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
}

/// Is it the name of a type of floating-point numbers?
pub fn is_float(name: &str) -> bool {
    matches!(name, "f64" | "f32")
}

/// The value of an operator between two integers, where it has one whatever their type.
pub fn fold(operator: &str, a: i64, b: i64) -> Option<Arg> {
    Some(match operator {
        "+" => Arg::Int(a.checked_add(b)?),
        "-" => Arg::Int(a.checked_sub(b)?),
        "*" => Arg::Int(a.checked_mul(b)?),
        "==" => Arg::Bool(a == b),
        "!=" => Arg::Bool(a != b),
        "<" => Arg::Bool(a < b),
        "<=" => Arg::Bool(a <= b),
        ">" => Arg::Bool(a > b),
        ">=" => Arg::Bool(a >= b),
        _ => return None,
    })
}

/// Is it the name of a primitive type: a number, a truth value or a character?
pub fn is_scalar(name: &str) -> bool {
    is_integer(name) || is_float(name) || matches!(name, "bool" | "char")
}
