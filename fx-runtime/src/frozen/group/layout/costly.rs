//! Whether a formula asks for a function that takes many times as long as a product.

#![allow(clippy::inline_always, reason = "what is known when a group is compiled is to be no work in a call")]

use std::ops::{Add, Div, Mul, Neg, Sub};

use fx_ir::ops::formula::{Primitives, Unary};

use super::AnyNumber;

/// What is known of a value of a formula: whether a costly function was applied on the way to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costly(pub(super) bool);

impl Costly {
    #[inline(always)]
    const fn by(self, function: Unary) -> Self {
        Self(self.0 || function.is_costly())
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident;)*) => {$(
        impl $operator for Costly {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 || other.0)
            }
        }
        operators!(@number $operator: $method, AnyNumber f64);
    )*};
    (@number $operator:ident: $method:ident, $($number:ty)*) => {$(
        impl $operator<$number> for Costly {
            type Output = Self;
            #[inline(always)]
            fn $method(self, _: $number) -> Self {
                self
            }
        }
    )*};
}

operators! {
    Add: add;
    Sub: sub;
    Mul: mul;
    Div: div;
}

impl Neg for Costly {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.by(Unary::Negative)
    }
}

macro_rules! functions {
    ($($name:ident: $function:ident;)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            self.by(Unary::$function)
        }
    )*};
}

impl Primitives for Costly {
    type Number = AnyNumber;

    functions! {
        absolute: Absolute;
        root: Root;
        power_of_e: PowerOfE;
        logarithm: Logarithm;
        logarithm_1p: Logarithm1p;
        hyperbolic_tangent: HyperbolicTangent;
        error_function: ErrorFunction;
        rounded_down: RoundedDown;
        rounded: Rounded;
    }

    #[inline(always)]
    fn constant(self, _: f64) -> Self {
        Self(false)
    }
    #[inline(always)]
    fn at_least(self, _: impl Into<AnyNumber>) -> Self {
        self
    }
    #[inline(always)]
    fn at_most(self, _: impl Into<AnyNumber>) -> Self {
        self
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Self(self.0 || other.0)
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Self(self.0 || other.0)
    }
    #[inline(always)]
    fn where_above(self, _: f64, yes: Self, no: Self) -> Self {
        Self(self.0 || yes.0 || no.0)
    }
    #[inline(always)]
    fn gelu_by(self, _: &str) -> Self {
        self.by(Unary::Gelu)
    }
}
