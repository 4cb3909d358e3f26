//! Methods of numbers, of truth values and of text.

use std::cmp::Ordering;

use super::call::Call;
use super::number;
use super::value::{Refusal, Value};
use crate::number_type::{FloatType, IntType};

type Outcome<T> = Result<Value<T>, Refusal>;

/// A function of one `f64`, and the same of an `f32`.
pub(crate) fn float1<T>(wide: fn(f64) -> f64, single: fn(f32) -> f32) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.float()?;
        Ok(Value::Float(computed(ty, &[a], |a| wide(a[0]), |a| single(a[0])), ty))
    }
}

/// The same of two.
pub(crate) fn float2<T>(
    wide: fn(f64, f64) -> f64,
    single: fn(f32, f32) -> f32,
) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.float()?;
        let (b, ty) = call.float_arg(0, ty)?;
        Ok(Value::Float(computed(ty, &[a, b], |a| wide(a[0], a[1]), |a| single(a[0], a[1])), ty))
    }
}

/// The same of three.
pub(crate) fn float3<T>(
    wide: fn(f64, f64, f64) -> f64,
    single: fn(f32, f32, f32) -> f32,
) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.float()?;
        let (b, ty) = call.float_arg(0, ty)?;
        let (c, ty) = call.float_arg(1, ty)?;
        Ok(Value::Float(computed(ty, &[a, b, c], |a| wide(a[0], a[1], a[2]), |a| single(a[0], a[1], a[2])), ty))
    }
}

/// Whether it holds of a number.
pub(crate) fn float_is<T>(test: fn(f64) -> bool) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| call.float().map(|(a, _)| Value::Bool(test(a)))
}

/// In the precision of the type: no function of `f64`, rounded, is always that of `f32`.
#[allow(clippy::cast_possible_truncation, reason = "a number of that type is rounded to it")]
fn computed(ty: FloatType, args: &[f64], wide: impl Fn(&[f64]) -> f64, single: impl Fn(&[f32]) -> f32) -> f64 {
    if ty != FloatType::F32 {
        return wide(args);
    }
    let args: Vec<f32> = args.iter().map(|&arg| arg as f32).collect();
    f64::from(single(&args))
}

/// `x.powi(n)`.
#[allow(clippy::cast_possible_truncation, reason = "a number of that type is rounded to it")]
pub(crate) fn raised_to_int<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let ((a, ty), (n, _)) = (call.float()?, call.int_arg(0, IntType::I32)?);
    let n = i32::try_from(n).map_err(|_| call.refused())?;
    Ok(Value::Float(if ty == FloatType::F32 { f64::from((a as f32).powi(n)) } else { a.powi(n) }, ty))
}

/// `x.clamp(low, high)` of a float.
pub(crate) fn clamp_float<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (a, ty) = call.float()?;
    let (low, ty) = call.float_arg(0, ty)?;
    let (high, ty) = call.float_arg(1, ty)?;
    if low > high || low.is_nan() || high.is_nan() {
        return Err(Refusal::Panics(format!("min > max, or either was NaN. min = {low:?}, max = {high:?}")));
    }
    Ok(Value::Float(ty.rounded(a.clamp(low, high)), ty))
}

/// `n.clamp(low, high)` of a whole number.
pub(crate) fn clamp_int<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (a, ty) = call.int()?;
    let (low, ty) = call.int_arg(0, ty)?;
    let (high, ty) = call.int_arg(1, ty)?;
    if low > high {
        return Err(Refusal::Panics("assertion failed: min <= max".to_owned()));
    }
    Ok(Value::Int(a.clamp(low, high), ty))
}

/// A function of one whole number; `None` where the type has no such number.
pub(crate) fn int1<T>(of: fn(i128) -> Option<i128>) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let result = of(a).and_then(|result| ty.checked(result)).ok_or_else(|| call.overflow(ty))?;
        Ok(Value::Int(result, ty))
    }
}

/// The same of two of one type.
pub(crate) fn int2<T>(of: fn(i128, i128) -> Option<i128>) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let (b, ty) = call.int_arg(0, ty)?;
        let result = of(a, b).and_then(|result| ty.checked(result)).ok_or_else(|| call.overflow(ty))?;
        Ok(Value::Int(result, ty))
    }
}

/// A function of two that divides by the second.
pub(crate) fn divided<T>(of: fn(i128, i128) -> Option<i128>) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| match call.int_arg(0, call.int()?.1)? {
        (0, _) => Err(Refusal::Panics("attempt to divide by zero".to_owned())),
        _ => int2(of)(call),
    }
}

/// A function of two whose result wraps around.
pub(crate) fn wrapping<T>(of: fn(i128, i128) -> i128) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let (b, ty) = call.int_arg(0, ty)?;
        Ok(Value::Int(ty.wrapped(of(a, b)), ty))
    }
}

/// An operator whose result stays within the type.
pub(crate) fn saturating<T>(of: fn(i128, i128) -> i128) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let (b, ty) = call.int_arg(0, ty)?;
        let (least, most) = ty.range();
        Ok(Value::Int(of(a, b).clamp(least, most), ty))
    }
}

/// An operator, or `None` where its result is none of the type.
pub(crate) fn checked<T>(sign: &'static str) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let (b, ty) = call.int_arg(0, ty)?;
        match number::int(sign, a, b, ty) {
            Ok(result) => Ok(Value::option(Some(Value::Int(result, ty)))),
            Err(Refusal::Panics(_)) => Ok(Value::Option(None)),
            Err(refusal) => Err(refusal),
        }
    }
}

/// `n.pow(k)`.
pub(crate) fn raised<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let ((a, ty), (k, _)) = (call.int()?, call.int_arg(0, IntType::U32)?);
    let k = u32::try_from(k).map_err(|_| call.refused())?;
    let result = a.checked_pow(k).and_then(|result| ty.checked(result)).ok_or_else(|| call.overflow(ty))?;
    Ok(Value::Int(result, ty))
}

/// `a.abs_diff(b)`, which is without sign.
pub(crate) fn abs_diff<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (a, ty) = call.int()?;
    let (b, ty) = call.int_arg(0, ty)?;
    let unsigned = ty.name().strip_prefix('i').and_then(|width| IntType::parse(&format!("u{width}"))).unwrap_or(ty);
    Ok(Value::Int(a.abs_diff(b).try_into().map_err(|_| call.overflow(unsigned))?, unsigned))
}

/// `a.cmp(b)`'s larger or smaller: `min` and `max` of whole numbers.
pub(crate) fn chosen<T: Clone>(kept: Ordering) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (a, ty) = call.int()?;
        let (b, ty) = call.int_arg(0, ty)?;
        Ok(Value::Int(if a.cmp(&b) == kept { a } else { b }, ty))
    }
}

/// Whether it holds of a whole number.
pub(crate) fn int_is<T>(test: fn(i128) -> bool) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| call.int().map(|(a, _)| Value::Bool(test(a)))
}

/// `flag.then_some(value)`.
pub(crate) fn some_if<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    match &*call.receiver {
        Value::Bool(true) => Ok(Value::option(Some(call.take_arg(0)?))),
        Value::Bool(false) => Ok(Value::Option(None)),
        _ => Err(call.refused()),
    }
}

/// A property of a text.
pub(crate) fn of_text<T>(of: fn(&str) -> Value<T>) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| match &*call.receiver {
        Value::Str(text) => Ok(of(text)),
        _ => Err(call.refused()),
    }
}

/// Whether it holds of two texts.
pub(crate) fn text_is<T>(holds: fn(&str, &str) -> bool) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| match (&*call.receiver, call.args.first()) {
        (Value::Str(text), Some(Value::Str(part))) => Ok(Value::Bool(holds(text, part))),
        _ => Err(call.refused()),
    }
}

/// `text.push_str(more)`.
pub(crate) fn push_str<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    match (&mut *call.receiver, call.args.pop()) {
        (Value::Str(text), Some(Value::Str(more))) => {
            text.push_str(&more);
            Ok(Value::Unit)
        }
        _ => Err(call.refused()),
    }
}
