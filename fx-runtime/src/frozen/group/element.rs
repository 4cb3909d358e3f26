//! Numbers of a vector as what a group computes on.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use std::ops::{Add, Div, Mul, Sub};

use tch::Kind;

use super::Lane;
use crate::ffi::pointwise;
use crate::math;

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
