//! Lanes that stand for whole tensors of which something is known: what each op does to that is one of a few things.

use std::ops::{Add, Div, Mul, Sub};

use tch::Kind;

use super::super::Lane;
use super::{AnyNumber, Layout, Sources};

macro_rules! operators {
    ($lane:ident, $($operator:ident: $method:ident;)*) => {$(
        impl $operator for $lane {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.binary(other)
            }
        }
        operators!(@number $lane, $operator: $method, AnyNumber f64 i64);
    )*};
    (@number $lane:ident, $operator:ident: $method:ident, $($number:ty)*) => {$(
        impl $operator<$number> for $lane {
            type Output = Self;
            #[inline(always)]
            fn $method(self, _: $number) -> Self {
                self.scaled()
            }
        }
    )*};
}

macro_rules! functions {
    ($kind:ident: $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            self.$kind()
        }
    )*};
}

/// By the lane's own `unary`, `costly`, `scaled` and `binary`, and `reduced`, `normal` and `affine` for ops on rows.
macro_rules! shaped {
    ($($lane:ident)*) => {$(
        operators! {
            $lane,
            Add: add;
            Sub: sub;
            Mul: mul;
            Div: div;
        }

        impl Lane for $lane {
            type Number = AnyNumber;

            functions!(unary: relu relu6 hardswish hardsigmoid leaky_relu neg abs square reciprocal sqrt rsqrt);
            functions!(costly: sigmoid tanh silu exp);

            #[inline(always)]
            fn gelu(self, _: &str) -> Self {
                self.costly()
            }
            #[inline(always)]
            fn clamp(self, _: impl Into<AnyNumber>, _: impl Into<AnyNumber>) -> Self {
                self.unary()
            }
            #[inline(always)]
            fn clamp_min(self, _: impl Into<AnyNumber>) -> Self {
                self.unary()
            }
            #[inline(always)]
            fn clamp_max(self, _: impl Into<AnyNumber>) -> Self {
                self.unary()
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                self.binary(other)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                self.binary(other)
            }

            #[inline(always)]
            fn sum(self, kind: Option<Kind>) -> Self {
                self.reduced(kind)
            }
            #[inline(always)]
            fn mean(self, kind: Option<Kind>) -> Self {
                self.reduced(kind)
            }
            #[inline(always)]
            fn log_sum(self) -> Self {
                self.reduced(None)
            }
            #[inline(always)]
            fn amax(self) -> Self {
                self.reduced(None)
            }
            #[inline(always)]
            fn softmax(self, kind: Option<Kind>) -> Self {
                self.normal(kind).costly()
            }
            #[inline(always)]
            fn log_softmax(self, kind: Option<Kind>) -> Self {
                self.normal(kind).costly()
            }
            #[inline(always)]
            fn layer_norm(self, weight: Option<Self>, bias: Option<Self>, _: impl Into<AnyNumber>) -> Self {
                self.normal(None).affine(weight).affine(bias)
            }
            #[inline(always)]
            fn rms_norm(self, weight: Option<Self>, _: impl Into<AnyNumber>) -> Self {
                self.normal(None).affine(weight)
            }
        }
    )*};
}

shaped! { Layout Sources }
