//! The questions that guards may ask, as functions: `is_freeze_time(w)` reads as the method `w.is_freeze_time()`.

use super::Value;

/// Returns whether the value is known once the live model is there.
pub fn is_freeze_time(value: Value<'_>) -> bool {
    value.is_freeze_time()
}

/// Returns whether the value is a literal.
pub fn is_literal(value: Value<'_>) -> bool {
    value.is_literal()
}

/// Its element type in torch's short form (`f32`), where the source tells.
pub fn dtype(value: Value<'_>) -> Option<&str> {
    value.dtype()
}

/// Returns whether the elements are floating-point numbers for certain.
pub fn is_float(value: Value<'_>) -> bool {
    value.is_float()
}

/// Its number of axes, where the source tells.
pub fn rank(value: Value<'_>) -> Option<usize> {
    value.rank()
}

/// The size of an axis, where it is known; a negative axis counts from the last.
pub fn dim(value: Value<'_>, axis: i64) -> Option<i64> {
    value.dim(axis)
}

/// The number of nodes that read it; of a layer, its result.
pub fn users(value: Value<'_>) -> usize {
    value.users()
}

/// The number of nodes that call the layer in the whole graph.
pub fn calls(value: Value<'_>) -> usize {
    value.calls()
}

/// Returns whether the two numbers are equal up to rounding in their source (eight significant digits).
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 * a.abs().max(b.abs())
}

/// Returns whether the value is a number above zero for certain: a literal, or a square root of what the model
/// computes.
pub fn is_positive(value: Value<'_>) -> bool {
    value.is_positive()
}
