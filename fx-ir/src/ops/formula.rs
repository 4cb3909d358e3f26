//! What a pointwise op computes, in terms of a few primitives.
//!
//! The formula of an op stands in its row as an expression over [`Primitives`] and is a generic function here, so that
//! what it is applied to decides what comes of it: numbers of a vector give the loop, names of variables give CUDA C, a
//! [`Tape`] gives its steps as data.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The four operations with a right side of type `R`.
pub trait Arithmetic<R>:
    Add<R, Output = Self> + Sub<R, Output = Self> + Mul<R, Output = Self> + Div<R, Output = Self> + Sized
{
}

impl<L, R> Arithmetic<R> for L where L: Add<R, Output = L> + Sub<R, Output = L> + Mul<R, Output = L> + Div<R, Output = L>
{}

/// What formulas are written in. The functions are PyTorch's, NaN and infinity included.
#[allow(clippy::return_self_not_must_use, reason = "formulas use what they ask for")]
pub trait Primitives:
    Copy + Neg<Output = Self> + Arithmetic<Self> + Arithmetic<f64> + Arithmetic<<Self as Primitives>::Number>
{
    /// A number that is known at the call.
    type Number: Copy + From<f64>;

    /// A constant.
    fn constant(self, number: f64) -> Self;
    /// The value, but at least `low`; NaN stays.
    fn at_least(self, low: impl Into<Self::Number>) -> Self;
    /// The value, but at most `high`; NaN stays.
    fn at_most(self, high: impl Into<Self::Number>) -> Self;
    /// The larger of both; NaN where either is.
    fn larger(self, other: Self) -> Self;
    /// The smaller of both; NaN where either is.
    fn smaller(self, other: Self) -> Self;
    /// `yes` where the value is greater than `bound`, else `no`.
    fn where_above(self, bound: f64, yes: Self, no: Self) -> Self;
    /// `|x|`.
    fn absolute(self) -> Self;
    /// `√x`.
    fn root(self) -> Self;
    /// `eˣ`.
    fn power_of_e(self) -> Self;
    /// The natural logarithm.
    fn logarithm(self) -> Self;
    /// The natural logarithm of `1 + x`.
    fn logarithm_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// The error function.
    fn error_function(self) -> Self;
    /// `x · Φ(x)`, exact (`"none"`) or by the formula with tanh (`"tanh"`).
    fn gelu_by(self, approximate: &str) -> Self;
    /// The largest integer that is not larger.
    fn rounded_down(self) -> Self;
    /// The nearest integer, of two the even one.
    fn rounded(self) -> Self;

    /// `1 / x`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
    fn inverse(self) -> Self {
        self.constant(1.0) / self
    }
}

/// One step of a formula; operands are the numbers of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The tensor at that position among the op's tensors.
    Tensor(usize),
    /// The number at that position among the op's numbers.
    Number(usize),
    /// A constant.
    Constant(f64),
    /// A function of one value.
    Unary(Unary, usize),
    /// A function of two values.
    Binary(Binary, usize, usize),
    /// The third value where the first is greater than the second, else the fourth.
    WhereAbove(usize, usize, usize, usize),
}

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the primitives of the same names say it")]
pub enum Unary {
    Negative,
    Absolute,
    Root,
    PowerOfE,
    Logarithm,
    Logarithm1p,
    HyperbolicTangent,
    ErrorFunction,
    Gelu,
    RoundedDown,
    Rounded,
}

impl Unary {
    /// Returns whether it takes many times as long as a product.
    pub const fn is_costly(self) -> bool {
        !matches!(self, Unary::Negative | Unary::Absolute | Unary::Root | Unary::RoundedDown | Unary::Rounded)
    }
}

/// A function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the primitives of the same names say it")]
pub enum Binary {
    Sum,
    Difference,
    Product,
    Quotient,
    AtLeast,
    AtMost,
    Larger,
    Smaller,
}

/// The steps of a formula, in the order of computation; the last is the result.
#[derive(Clone, Debug, Default)]
pub struct Tape(RefCell<Vec<Step>>);

impl Tape {
    /// Notes a step.
    pub fn step(&self, step: Step) -> Recorded<'_> {
        let mut steps = self.0.borrow_mut();
        steps.push(step);
        Recorded { tape: self, at: steps.len() - 1 }
    }

    /// The steps so far.
    pub fn into_steps(self) -> Vec<Step> {
        self.0.into_inner()
    }
}

/// A value of a formula that is written down.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'t> {
    tape: &'t Tape,
    at: usize,
}

/// A number of a formula that is written down.
#[derive(Clone, Copy, Debug)]
pub enum RecordedNumber {
    /// A constant.
    Constant(f64),
    /// The number at that position among the op's numbers.
    Given(usize),
}

impl From<f64> for RecordedNumber {
    fn from(number: f64) -> Self {
        Self::Constant(number)
    }
}

impl Recorded<'_> {
    fn unary(self, function: Unary) -> Self {
        self.tape.step(Step::Unary(function, self.at))
    }

    fn binary(self, function: Binary, other: Self) -> Self {
        self.tape.step(Step::Binary(function, self.at, other.at))
    }

    fn number(self, number: impl Into<RecordedNumber>) -> Self {
        self.tape.step(match number.into() {
            RecordedNumber::Constant(number) => Step::Constant(number),
            RecordedNumber::Given(position) => Step::Number(position),
        })
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident, $function:ident;)*) => {$(
        impl $operator for Recorded<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.binary(Binary::$function, other)
            }
        }
        impl $operator<f64> for Recorded<'_> {
            type Output = Self;
            fn $method(self, number: f64) -> Self {
                self.binary(Binary::$function, self.number(number))
            }
        }
        impl $operator<RecordedNumber> for Recorded<'_> {
            type Output = Self;
            fn $method(self, number: RecordedNumber) -> Self {
                self.binary(Binary::$function, self.number(number))
            }
        }
    )*};
}

operators! {
    Add: add, Sum;
    Sub: sub, Difference;
    Mul: mul, Product;
    Div: div, Quotient;
}

impl Neg for Recorded<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(Unary::Negative)
    }
}

macro_rules! unary {
    ($($name:ident: $function:ident;)*) => {$(
        fn $name(self) -> Self {
            self.unary(Unary::$function)
        }
    )*};
}

impl Primitives for Recorded<'_> {
    type Number = RecordedNumber;

    unary! {
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

    fn constant(self, number: f64) -> Self {
        self.number(number)
    }
    fn at_least(self, low: impl Into<RecordedNumber>) -> Self {
        self.binary(Binary::AtLeast, self.number(low))
    }
    fn at_most(self, high: impl Into<RecordedNumber>) -> Self {
        self.binary(Binary::AtMost, self.number(high))
    }
    fn larger(self, other: Self) -> Self {
        self.binary(Binary::Larger, other)
    }
    fn smaller(self, other: Self) -> Self {
        self.binary(Binary::Smaller, other)
    }
    fn where_above(self, bound: f64, yes: Self, no: Self) -> Self {
        let bound = self.number(bound);
        self.tape.step(Step::WhereAbove(self.at, bound.at, yes.at, no.at))
    }
    fn gelu_by(self, _: &str) -> Self {
        self.unary(Unary::Gelu)
    }
}
