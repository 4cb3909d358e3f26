//! What a group computes on: numbers of a vector, whole tensors, descriptions of tensors. One function serves them all.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(clippy::return_self_not_must_use, reason = "generated code calls these, and uses what it asks for")]

use std::ops::{Add, Div, Mul, Sub};

use tch::Kind;

/// The four operations with a right side of type `R`.
pub trait Arithmetic<R>:
    Add<R, Output = Self> + Sub<R, Output = Self> + Mul<R, Output = Self> + Div<R, Output = Self> + Sized
{
}

impl<L, R> Arithmetic<R> for L where L: Add<R, Output = L> + Sub<R, Output = L> + Mul<R, Output = L> + Div<R, Output = L>
{}

/// An element of a tensor, or what stands for all of them. The functions are PyTorch's, NaN and infinity included.
pub trait Lane:
    Clone + Arithmetic<Self> + Arithmetic<f64> + Arithmetic<i64> + Arithmetic<<Self as Lane>::Number>
{
    /// A number that is known at the call.
    type Number: Clone + From<f64> + From<i64>;

    /// `max(x, 0)`.
    fn relu(self) -> Self;
    /// `min(max(x, 0), 6)`.
    fn relu6(self) -> Self;
    /// `1 / (1 + e⁻ˣ)`.
    fn sigmoid(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// `x · sigmoid(x)`.
    fn silu(self) -> Self;
    /// `x · relu6(x + 3) / 6`.
    fn hardswish(self) -> Self;
    /// `relu6(x + 3) / 6`.
    fn hardsigmoid(self) -> Self;
    /// `x · Φ(x)`, exact (`"none"`) or by the formula with tanh (`"tanh"`).
    fn gelu(self, approximate: &str) -> Self;
    /// `x` where positive, else `x / 100`.
    fn leaky_relu(self) -> Self;
    /// `min(max(x, low), high)`.
    fn clamp(self, low: impl Into<Self::Number>, high: impl Into<Self::Number>) -> Self;
    /// `max(x, low)`.
    fn clamp_min(self, low: impl Into<Self::Number>) -> Self;
    /// `min(x, high)`.
    fn clamp_max(self, high: impl Into<Self::Number>) -> Self;
    /// `-x`.
    fn neg(self) -> Self;
    /// `|x|`.
    fn abs(self) -> Self;
    /// `x²`.
    fn square(self) -> Self;
    /// `1 / x`.
    fn reciprocal(self) -> Self;
    /// `eˣ`.
    fn exp(self) -> Self;
    /// `√x`.
    fn sqrt(self) -> Self;
    /// `1 / √x`.
    fn rsqrt(self) -> Self;
    /// The larger of both; NaN where either is.
    fn maximum(self, other: Self) -> Self;
    /// The smaller of both; NaN where either is.
    fn minimum(self, other: Self) -> Self;

    /// The value itself, which no later pass over a row is to compute again.
    #[inline(always)]
    fn kept(self) -> Self {
        self
    }
    /// The sum along the last axis, which stays with one element; in a dtype of its own, if one is given.
    fn sum(self, kind: Option<Kind>) -> Self;
    /// The mean, alike.
    fn mean(self, kind: Option<Kind>) -> Self;
    /// The natural logarithm of the sum, alike.
    fn log_sum(self) -> Self;
    /// The largest, alike; NaN if there is one.
    fn amax(self) -> Self;

    /// `eˣ / Σ eˣ` along the last axis; the largest `x` is subtracted first.
    #[inline(always)]
    fn softmax(self, _: Option<Kind>) -> Self {
        let power = (self.clone() - self.amax()).exp().kept();
        power.clone() / power.sum(None)
    }
    /// The logarithm of that.
    #[inline(always)]
    fn log_softmax(self, _: Option<Kind>) -> Self {
        let rest = (self.clone() - self.amax()).kept();
        rest.clone() - rest.exp().log_sum()
    }
    /// `(x - mean x) / √(mean (x - mean x)² + eps) · weight + bias` along the last axis.
    #[inline(always)]
    fn layer_norm(self, weight: Option<Self>, bias: Option<Self>, eps: impl Into<Self::Number>) -> Self {
        let rest = self.clone() - self.mean(None);
        let inverse = (rest.clone().square().mean(None) + eps.into()).rsqrt();
        affine(rest * inverse, weight, bias)
    }
    /// `x / √(mean x² + eps) · weight` along the last axis.
    #[inline(always)]
    fn rms_norm(self, weight: Option<Self>, eps: impl Into<Self::Number>) -> Self {
        let inverse = (self.clone().square().mean(None) + eps.into()).rsqrt();
        affine(self * inverse, weight, None)
    }
}

#[inline(always)]
fn affine<L: Lane>(x: L, weight: Option<L>, bias: Option<L>) -> L {
    let scaled = match weight {
        Some(weight) => x * weight,
        None => x,
    };
    match bias {
        Some(bias) => scaled + bias,
        None => scaled,
    }
}
