//! Rust's primitive types, by name: values that are copied, never shared; and their arithmetic, as far as it is known.

use crate::Arg;

/// The whole numbers.
pub const INTEGERS: [&str; 12] =
    ["i64", "i32", "i16", "i8", "i128", "isize", "u64", "u32", "u16", "u8", "u128", "usize"];

/// Returns whether it is the name of a type of whole numbers.
pub fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
}

/// Returns whether it is the name of a type of floating-point numbers.
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

/// Returns whether it is the name of a primitive type: a number, a truth value or a character.
pub fn is_scalar(name: &str) -> bool {
    is_integer(name) || is_float(name) || matches!(name, "bool" | "char")
}

/// Returns whether it is one of tch's plain enums (a device, a dtype, how a loss is reduced), which are copied and compared
/// like numbers.
pub fn is_of_tch(spelling: &str) -> bool {
    let homes = ["::tch::", "::fx_runtime::tch::", "::fx_runtime::"];
    let names = ["Device", "Kind", "Reduction"];
    homes.iter().filter_map(|home| spelling.strip_prefix(home)).any(|name| names.contains(&name))
}

/// Whether it is the spelling of a type that is made of primitive types, text and tch's names alone. None holds a
/// tensor.
pub fn is_plain(spelling: &str) -> bool {
    const OTHERS: [&str; 12] = [
        "integer",
        "float",
        "str",
        "String",
        "Kind",
        "Device",
        "Reduction",
        "Scalar",
        "Option",
        "Vec",
        "Range",
        "RangeInclusive",
    ];
    // Types of the user's begin with `crate`.
    let is_plain = |path: &str| {
        let name = path.rsplit("::").next().unwrap_or(path);
        let is_known = is_scalar(name) || OTHERS.contains(&name) || name.starts_with(|c: char| c.is_ascii_digit());
        is_known && !path.starts_with("crate::")
    };
    let mut paths = spelling.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '\''));
    paths.all(|path| path.is_empty() || path.starts_with('\'') || is_plain(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_types_hold_no_tensor() {
        for name in
            ["i64", "()", "Vec<i64>", "[usize; 3]", "&'static str", "::tch::Kind", "Option<(i64,::tch::Device)>"]
        {
            assert!(is_plain(name), "{name}");
        }
        for name in ["crate::Kind", "Vec<crate::State>", "::std::collections::HashMap<i64,i64>", "T", "Box<dyn Fn()>"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
