//! Arithmetic on Rust's numbers: operators, casts and constants.

use std::cmp::Ordering;

use super::value::{Refusal, Value};
use crate::number_type::{FloatType, IntType};

/// `a sign b`, as the generated code computes it in a debug build: overflow panics.
pub(crate) fn binary<T>(sign: &str, a: &Value<T>, b: &Value<T>) -> Result<Value<T>, Refusal> {
    let mismatch = || Refusal::Operands(format!("`{sign}` cannot take {a} and {b}: {}", fitting(sign)));
    match sign {
        "==" => return a.equals(b).map(Value::Bool).ok_or_else(mismatch),
        "!=" => return a.equals(b).map(|same| Value::Bool(!same)).ok_or_else(mismatch),
        "<" | "<=" | ">" | ">=" => {
            let order = order(a, b).ok_or_else(mismatch)?;
            return Ok(Value::Bool(order.is_some_and(|order| match sign {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            })));
        }
        _ => {}
    }
    match (a, b) {
        (Value::Int(a, ty), Value::Int(b, _)) if matches!(sign, "<<" | ">>") => {
            int(sign, *a, *b, *ty).map(|number| Value::Int(number, *ty))
        }
        (Value::Int(a, of), Value::Int(b, and)) => {
            let ty = of.joined(*and).ok_or_else(mismatch)?;
            int(sign, *a, *b, ty).map(|number| Value::Int(number, ty))
        }
        (Value::Float(a, of), Value::Float(b, and)) => {
            let ty = of.joined(*and).ok_or_else(mismatch)?;
            // The sum, product, quotient and remainder of two `f32` are, rounded once more, those of `f32`.
            let (a, b) = (ty.rounded(*a), ty.rounded(*b));
            let number = match sign {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                "%" => a % b,
                _ => return Err(mismatch()),
            };
            Ok(Value::Float(ty.rounded(number), ty))
        }
        (Value::Bool(a), Value::Bool(b)) => Ok(Value::Bool(match sign {
            "&" | "&&" => a & b,
            "|" | "||" => a | b,
            "^" => a ^ b,
            _ => return Err(mismatch()),
        })),
        (Value::Str(a), Value::Str(b)) if sign == "+" => Ok(Value::Str(format!("{a}{b}"))),
        _ => Err(mismatch()),
    }
}

/// What the operator takes, as a message says it.
fn fitting(sign: &str) -> &'static str {
    match sign {
        "&&" | "||" => "it takes two truth values",
        "<<" | ">>" => "it takes two whole numbers",
        "&" | "|" | "^" => "it takes two truth values, or two whole numbers of one type",
        "==" | "!=" => "it takes two values of one type without tensors",
        _ => "it takes two numbers of one type",
    }
}

/// The operator on whole numbers of one type.
pub(crate) fn int(sign: &str, a: i128, b: i128, ty: IntType) -> Result<i128, Refusal> {
    let panics = |message: &str| Err(Refusal::Panics(message.to_owned()));
    let overflow = |what: &str| {
        Refusal::Panics(format!("attempt to {what} with overflow: {a} {sign} {b} is out of the range of {ty}"))
    };
    let (what, number) = match sign {
        "+" => ("add", a.checked_add(b)),
        "-" => ("subtract", a.checked_sub(b)),
        "*" => ("multiply", a.checked_mul(b)),
        "/" if b == 0 => return panics("attempt to divide by zero"),
        "%" if b == 0 => return panics("attempt to calculate the remainder with a divisor of zero"),
        "/" => ("divide", a.checked_div(b)),
        "%" if b == -1 && a == ty.range().0 => ("calculate the remainder", None),
        "%" => ("calculate the remainder", a.checked_rem(b)),
        "&" => ("and", Some(a & b)),
        "|" => ("or", Some(a | b)),
        "^" => ("xor", Some(a ^ b)),
        "<<" | ">>" => {
            let left = sign == "<<";
            let by = u32::try_from(b).ok().filter(|&by| by < ty.bits());
            let by = by.ok_or_else(|| overflow(if left { "shift left" } else { "shift right" }))?;
            return Ok(if left { ty.wrapped(a.wrapping_shl(by)) } else { a >> by });
        }
        _ => return Err(Refusal::Operands(format!("`{sign}` is no operator on {ty}"))),
    };
    number.and_then(|number| ty.checked(number)).ok_or_else(|| overflow(what))
}

/// How two numbers, truth values or texts compare: `None` if they cannot be, `Some(None)` if one is no number.
#[allow(clippy::option_option, reason = "the two mean different things")]
pub(crate) fn order<T>(a: &Value<T>, b: &Value<T>) -> Option<Option<Ordering>> {
    match (a, b) {
        (Value::Int(a, of), Value::Int(b, and)) => of.joined(*and).map(|_| Some(a.cmp(b))),
        (Value::Float(a, of), Value::Float(b, and)) => {
            of.joined(*and).map(|ty| ty.rounded(*a).partial_cmp(&ty.rounded(*b)))
        }
        (Value::Bool(a), Value::Bool(b)) => Some(Some(a.cmp(b))),
        (Value::Str(a), Value::Str(b)) => Some(Some(a.cmp(b))),
        _ => None,
    }
}

/// `-value`.
pub(crate) fn negated<T>(value: &Value<T>) -> Result<Value<T>, Refusal> {
    match value {
        Value::Float(number, ty) => Ok(Value::Float(-number, *ty)),
        Value::Int(number, ty) if ty.range().0 < 0 => {
            let negative = number.checked_neg().and_then(|number| ty.checked(number));
            let overflow = || Refusal::Panics(format!("attempt to negate with overflow: -({number}) of {ty}"));
            negative.map(|number| Value::Int(number, *ty)).ok_or_else(overflow)
        }
        other => Err(Refusal::Operands(format!("`-` cannot take {other}: it takes a signed number"))),
    }
}

/// `!value`.
pub(crate) fn inverted<T>(value: &Value<T>) -> Result<Value<T>, Refusal> {
    match value {
        Value::Bool(value) => Ok(Value::Bool(!value)),
        Value::Int(number, ty) => Ok(Value::Int(ty.wrapped(!number), *ty)),
        other => Err(Refusal::Operands(format!("`!` cannot take {other}: it takes a truth value or a whole number"))),
    }
}

/// `value as ty`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "it is Rust's `as`")]
pub(crate) fn cast<T>(value: Value<T>, ty: &str) -> Result<Value<T>, Refusal> {
    let wrong = |value: &Value<T>| Err(Refusal::Operands(format!("{value} cannot be cast to {ty}")));
    match (IntType::parse(ty), FloatType::parse(ty), value) {
        (Some(to), _, Value::Int(number, _)) => Ok(Value::Int(to.wrapped(number), to)),
        (Some(to), _, Value::Float(number, _)) => Ok(Value::Int(to.of_float(number), to)),
        (Some(to), _, Value::Bool(value)) => Ok(Value::Int(i128::from(value), to)),
        (_, Some(FloatType::F32), Value::Int(number, _)) => Ok(Value::Float(f64::from(number as f32), FloatType::F32)),
        (_, Some(to), Value::Int(number, _)) => Ok(Value::Float(number as f64, to)),
        (_, Some(to), Value::Float(number, _)) => Ok(Value::Float(to.rounded(number), to)),
        (None, None, value @ Value::Bool(_)) if ty == "bool" => Ok(value),
        (_, _, value) => wrong(&value),
    }
}

/// `ty::try_from(value)` of a whole number.
pub(crate) fn converted<T>(value: &Value<T>, ty: &str) -> Result<Value<T>, Refusal> {
    match (IntType::parse(ty), value) {
        (Some(to), Value::Int(number, _)) => match to.checked(*number) {
            Some(number) => Ok(Value::Int(number, to)),
            None => Err(Refusal::Panics("out of range integral type conversion attempted".to_owned())),
        },
        _ => Err(Refusal::Operands(format!("`{ty}::try_from` cannot take {value}: it takes a whole number"))),
    }
}

/// `ty::try_from(value).unwrap_or(other)`.
pub(crate) fn converted_or<T>(value: &Value<T>, other: Value<T>, ty: &str) -> Result<Value<T>, Refusal> {
    match converted(value, ty) {
        Err(Refusal::Panics(_)) => cast(other, ty),
        converted => converted,
    }
}

/// `ty::from(value)`: a number of a type that has each number of the value's; `None` where `ty` is no number's.
pub(crate) fn from<T>(value: Value<T>, ty: &str) -> Option<Result<Value<T>, Refusal>> {
    let is_number = IntType::parse(ty).is_some() || FloatType::parse(ty).is_some();
    let keeps = match (IntType::parse(ty), FloatType::parse(ty), &value) {
        (Some(to), _, Value::Int(_, of)) => {
            // `From` is there for types that are as wide everywhere, and `usize` from two.
            let fixed = |ty: IntType| !matches!(ty, IntType::Usize | IntType::Isize);
            let within = to.range().0 <= of.range().0 && of.range().1 <= to.range().1;
            *of == IntType::Untyped || *of == to || within && (fixed(*of) && (fixed(to) || of.bits() <= 16))
        }
        (Some(_), _, Value::Bool(_)) => true,
        (_, Some(FloatType::F32), Value::Int(_, of)) => of.bits() <= 16,
        (_, Some(_), Value::Int(_, of)) => of.bits() <= 32 || *of == IntType::Untyped,
        (_, Some(to), Value::Float(_, of)) => to != FloatType::F32 || *of != FloatType::F64,
        _ => false,
    };
    let wrong = || Refusal::Operands(format!("`{ty}::from` cannot take {value}: it takes a narrower number"));
    match (is_number, keeps) {
        (false, _) => None,
        (true, false) => Some(Err(wrong())),
        (true, true) => Some(cast(value, ty)),
    }
}

/// The constant of a number type: `f64::consts::PI`, `i64::MAX`, `f32::EPSILON`.
pub(crate) fn constant<T>(path: &str) -> Option<Value<T>> {
    let mut segments = path.rsplit("::");
    let (name, owner) = (segments.next()?, segments.next()?);
    if let Some(ty) = IntType::parse(owner) {
        return Some(match name {
            "MIN" => Value::Int(ty.range().0, ty),
            "MAX" => Value::Int(ty.range().1, ty),
            "BITS" => Value::Int(i128::from(ty.bits()), IntType::U32),
            _ => return None,
        });
    }
    if owner == "consts" {
        let ty = FloatType::parse(segments.next()?)?;
        return mathematical(name).map(|number| Value::Float(ty.rounded(number), ty));
    }
    let ty = FloatType::parse(owner)?;
    let either = |single: f32, wide: f64| if ty == FloatType::F32 { f64::from(single) } else { wide };
    let number = match name {
        "MAX" => either(f32::MAX, f64::MAX),
        "MIN" => either(f32::MIN, f64::MIN),
        "EPSILON" => either(f32::EPSILON, f64::EPSILON),
        "MIN_POSITIVE" => either(f32::MIN_POSITIVE, f64::MIN_POSITIVE),
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        _ => return None,
    };
    Some(Value::Float(number, ty))
}

/// A constant of `std::f64::consts`.
fn mathematical(name: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match name {
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "LOG2_E" => consts::LOG2_E,
        "LOG10_E" => consts::LOG10_E,
        "SQRT_2" => consts::SQRT_2,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        "FRAC_2_SQRT_PI" => consts::FRAC_2_SQRT_PI,
        "FRAC_1_PI" => consts::FRAC_1_PI,
        "FRAC_2_PI" => consts::FRAC_2_PI,
        "FRAC_PI_2" => consts::FRAC_PI_2,
        "FRAC_PI_3" => consts::FRAC_PI_3,
        "FRAC_PI_4" => consts::FRAC_PI_4,
        "FRAC_PI_6" => consts::FRAC_PI_6,
        "FRAC_PI_8" => consts::FRAC_PI_8,
        _ => return None,
    })
}
