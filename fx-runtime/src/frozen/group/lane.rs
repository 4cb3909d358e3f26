//! What a group computes on: numbers of a vector, whole tensors, descriptions of tensors. One function serves them all.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(clippy::return_self_not_must_use, reason = "generated code calls these, and uses what it asks for")]

use std::ops::{Add, Div, Mul, Sub};

use tch::Kind;

use super::super::math;
use crate::ffi::pointwise;

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

/// One element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<T>(pub(super) T);

/// A type of numbers that groups are computed in.
pub(super) trait Real:
    pointwise::Number + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The nearest number.
    fn of(number: f64) -> Self;
    fn exp(self) -> Self;
    fn tanh(self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn neg(self) -> Self;
    fn gelu(self, approximate: &str) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's dtype")]
    fn of(number: f64) -> Self {
        number as f32
    }
    #[inline(always)]
    fn exp(self) -> Self {
        math::exp(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        math::tanh(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn neg(self) -> Self {
        -self
    }
    #[inline(always)]
    fn gelu(self, approximate: &str) -> Self {
        if approximate == "tanh" { math::gelu_tanh(self) } else { math::gelu(self) }
    }
}

/// What is slow here is left to `ATen`, see [`super::Layout`].
impl Real for f64 {
    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }
    fn exp(self) -> Self {
        f64::exp(self)
    }
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn neg(self) -> Self {
        -self
    }
    fn gelu(self, _: &str) -> Self {
        f64::NAN
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident, $sign:tt;)*) => {$(
        impl<T: Real> $operator for Element<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }
        impl<T: Real> $operator<f64> for Element<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, number: f64) -> Self {
                Self(self.0 $sign T::of(number))
            }
        }
        impl<T: Real> $operator<i64> for Element<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, number: i64) -> Self {
                self $sign Self::from(number)
            }
        }
    )*};
}

operators! {
    Add: add, +;
    Sub: sub, -;
    Mul: mul, *;
    Div: div, /;
}

impl<T: Real> From<f64> for Element<T> {
    #[inline(always)]
    fn from(number: f64) -> Self {
        Self(T::of(number))
    }
}

impl<T: Real> From<i64> for Element<T> {
    #[inline(always)]
    #[allow(clippy::cast_precision_loss, reason = "as libtorch casts a number to a tensor's dtype")]
    fn from(number: i64) -> Self {
        Self(T::of(number as f64))
    }
}

impl<T: Real> Element<T> {
    #[inline(always)]
    fn one() -> Self {
        Self(T::of(1.0))
    }
    /// `x`, but at least `low`; NaN stays.
    #[inline(always)]
    fn at_least(self, low: Self) -> Self {
        if self.0 < low.0 { low } else { self }
    }
    /// `x`, but at most `high`; NaN stays.
    #[inline(always)]
    fn at_most(self, high: Self) -> Self {
        if self.0 > high.0 { high } else { self }
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0.partial_cmp(&self.0).is_none()
    }
}

/// An element by itself has no row: what asks for one is computed on [`Staged`](super::rows::Staged) elements.
macro_rules! rows_of_elements {
    ($($name:ident($($type:ty)?)),*) => {$(
        fn $name(self $(, _: $type)?) -> Self {
            Self(T::of(f64::NAN))
        }
    )*};
}

impl<T: Real> Lane for Element<T> {
    type Number = Self;

    #[inline(always)]
    fn relu(self) -> Self {
        self.at_least(0.0.into())
    }
    #[inline(always)]
    fn relu6(self) -> Self {
        self.clamp(0.0, 6.0)
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::one() / (Self::one() + Lane::neg(self).exp())
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        Self(self.0.tanh())
    }
    #[inline(always)]
    fn silu(self) -> Self {
        self / (Self::one() + Lane::neg(self).exp())
    }
    #[inline(always)]
    fn hardswish(self) -> Self {
        self * (self + 3.0).relu6() / 6.0
    }
    #[inline(always)]
    fn hardsigmoid(self) -> Self {
        (self + 3.0).relu6() / 6.0
    }
    #[inline(always)]
    fn gelu(self, approximate: &str) -> Self {
        Self(self.0.gelu(approximate))
    }
    #[inline(always)]
    fn leaky_relu(self) -> Self {
        if self.0 > T::of(0.0) { self } else { self * 0.01 }
    }
    #[inline(always)]
    fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.at_least(low.into()).at_most(high.into())
    }
    #[inline(always)]
    fn clamp_min(self, low: impl Into<Self>) -> Self {
        self.at_least(low.into())
    }
    #[inline(always)]
    fn clamp_max(self, high: impl Into<Self>) -> Self {
        self.at_most(high.into())
    }
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.neg())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self::one() / self
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self(self.0.exp())
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        self.sqrt().reciprocal()
    }
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if self.0 > other.0 || self.is_nan() { self } else { other }
    }
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        if self.0 < other.0 || self.is_nan() { self } else { other }
    }

    rows_of_elements!(sum(Option<Kind>), mean(Option<Kind>), log_sum(), amax());
}
