//! Numbers of a vector as what a group computes on.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use std::ops::{Add, Div, Mul, Neg, Sub};

use fx_ir::ops::formula::Primitives;
use tch::Kind;

use super::PointwiseOps;
use super::pointwise_ops::{given, lanes_of_formulas, param};
use crate::ffi::pointwise;
use crate::math;

/// One element.
#[derive(Debug, Clone, Copy)]
pub(in crate::frozen) struct Element<T>(pub(in crate::frozen) T);

/// A type of numbers that groups are computed in.
pub(in crate::frozen) trait Real:
    pointwise::Number + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The nearest number.
    fn of(number: f64) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn tanh(self) -> Self;
    fn erf(self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn neg(self) -> Self;
    fn floor(self) -> Self;
    fn round(self) -> Self;
    fn gelu(self, approximate: &str) -> Self;
}

macro_rules! functions {
    ($($name:ident: $function:path;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            $function(self)
        }
    )*};
}

impl Real for f32 {
    functions! {
        exp: math::exp;
        ln: math::ln;
        ln_1p: math::ln_1p;
        tanh: math::tanh;
        erf: math::erf;
        sqrt: f32::sqrt;
        abs: f32::abs;
        neg: Neg::neg;
        floor: f32::floor;
        round: f32::round_ties_even;
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's dtype")]
    fn of(number: f64) -> Self {
        number as f32
    }
    #[inline(always)]
    fn gelu(self, approximate: &str) -> Self {
        if approximate == fx_ir::ops::TANH.name() { math::gelu_tanh(self) } else { math::gelu(self) }
    }
}

/// What is slow here is left to `ATen`, see [`super::Layout`].
impl Real for f64 {
    functions! {
        exp: f64::exp;
        ln: f64::ln;
        ln_1p: f64::ln_1p;
        tanh: f64::tanh;
        sqrt: f64::sqrt;
        abs: f64::abs;
        neg: Neg::neg;
        floor: f64::floor;
        round: f64::round_ties_even;
    }

    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }
    fn erf(self) -> Self {
        f64::NAN
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

impl<T: Real> Neg for Element<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.neg())
    }
}

macro_rules! primitives {
    ($($name:ident: $function:ident;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Self(self.0.$function())
        }
    )*};
}

impl<T: Real> Primitives for Element<T> {
    type Number = Self;

    primitives! {
        absolute: abs;
        root: sqrt;
        power_of_e: exp;
        logarithm: ln;
        logarithm_1p: ln_1p;
        hyperbolic_tangent: tanh;
        error_function: erf;
        rounded_down: floor;
        rounded: round;
    }

    #[inline(always)]
    fn constant(self, number: f64) -> Self {
        Self(T::of(number))
    }
    #[inline(always)]
    fn at_least(self, low: impl Into<Self>) -> Self {
        let low = low.into();
        if self.0 < low.0 { low } else { self }
    }
    #[inline(always)]
    fn at_most(self, high: impl Into<Self>) -> Self {
        let high = high.into();
        if self.0 > high.0 { high } else { self }
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self.0 > other.0 || self.is_nan() { self } else { other }
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self.0 < other.0 || self.is_nan() { self } else { other }
    }
    #[inline(always)]
    fn where_above(self, bound: f64, yes: Self, no: Self) -> Self {
        if self.0 > T::of(bound) { yes } else { no }
    }
    #[inline(always)]
    fn gelu_by(self, approximate: &str) -> Self {
        Self(self.0.gelu(approximate))
    }
}

impl<T: Real> Element<T> {
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0.partial_cmp(&self.0).is_none()
    }
}

/// An element by itself has no row: what asks for one is computed on [`RowElement`](super::rows::RowElement) elements.
macro_rules! rows_of_elements {
    ($($name:ident($($type:ty)?)),*) => {$(
        fn $name(self $(, _: $type)?) -> Self {
            Self(T::of(f64::NAN))
        }
    )*};
}

impl<T: Real> PointwiseOps for Element<T> {
    type Number = Self;

    fx_ir::op_table!(lanes_of_formulas);
    rows_of_elements!(sum(Option<Kind>), mean(Option<Kind>), log_sum(), amax());
}
