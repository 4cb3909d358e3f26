//! The names of variables as what a group computes on: each primitive writes a statement down.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use fx_ir::ops;
use fx_ir::ops::formula::{Primitives, Unary};
use tch::Kind;

use crate::ffi::pointwise::rows::Reduction;
use crate::frozen::group::PointwiseOps;
use crate::frozen::group::pointwise_ops::{given, lanes_of_formulas, param};

/// The statements so far.
#[derive(Debug, Default)]
pub(in super::super) struct Tape {
    pub(super) lines: RefCell<Vec<String>>,
    pub(super) asks: RefCell<Vec<Ask>>,
}

/// What is asked of a variable's values in a row, once so many statements are done.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) of: Name,
    pub(super) reduction: Reduction,
    pub(super) after: usize,
}

/// A variable of the kernel.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Variable<'t> {
    tape: &'t Tape,
    pub(in super::super) name: Name,
}

/// What can be an operand.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Name {
    /// An element of an input.
    Input(usize),
    /// A number that is known at the call.
    Given(usize),
    /// The result of a statement.
    Line(usize),
    /// What was asked of a row.
    Answer(usize),
    /// A constant.
    Float(f64),
    /// An integer.
    Int(i64),
}

impl From<f64> for Name {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<i64> for Name {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Input(input) => write!(f, "x{input}"),
            Self::Given(number) => write!(f, "n{number}"),
            Self::Line(line) => write!(f, "v{line}"),
            Self::Answer(answer) => write!(f, "k{answer}"),
            Self::Float(number) if number.is_nan() => f.write_str("(R(0) / R(0))"),
            Self::Float(number) if number.is_infinite() => {
                write!(f, "({}R(1) / R(0))", if number < 0.0 { "-" } else { "" })
            }
            // As a literal it would be a warning where `R` is f32.
            Self::Float(number) if is_outside_f32(number) => write!(f, "number({number:?})"),
            Self::Float(number) => write!(f, "R({number:?})"),
            Self::Int(number) => write!(f, "R({number})"),
        }
    }
}

/// Too large for f32, or too small to be a normal number of it.
fn is_outside_f32(number: f64) -> bool {
    number != 0.0 && !(f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&number.abs())
}

impl Tape {
    pub(in super::super) fn variable(&self, name: Name) -> Variable<'_> {
        Variable { tape: self, name }
    }
}

impl Variable<'_> {
    fn define(self, expression: &str) -> Self {
        let mut lines = self.tape.lines.borrow_mut();
        let name = Name::Line(lines.len());
        lines.push(format!("    R {name} = {expression};\n"));
        self.tape.variable(name)
    }

    fn call(self, function: &str) -> Self {
        self.define(&format!("{function}({})", self.name))
    }

    /// The answer, which is a parameter of what comes after.
    fn ask(self, reduction: Reduction) -> Self {
        let (mut asks, after) = (self.tape.asks.borrow_mut(), self.tape.lines.borrow().len());
        let name = Name::Answer(asks.len());
        asks.push(Ask { of: self.name, reduction, after });
        self.tape.variable(name)
    }

    fn call_with(self, function: &str, other: Name) -> Self {
        self.define(&format!("{function}({}, {other})", self.name))
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident, $sign:literal;)*) => {$(
        impl $operator<Name> for Variable<'_> {
            type Output = Self;
            fn $method(self, other: Name) -> Self {
                self.define(&format!("{} {} {other}", self.name, $sign))
            }
        }
        impl $operator for Variable<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                $operator::$method(self, other.name)
            }
        }
        impl $operator<f64> for Variable<'_> {
            type Output = Self;
            fn $method(self, number: f64) -> Self {
                $operator::$method(self, Name::from(number))
            }
        }
        impl $operator<i64> for Variable<'_> {
            type Output = Self;
            fn $method(self, number: i64) -> Self {
                $operator::$method(self, Name::from(number))
            }
        }
    )*};
}

operators! {
    Add: add, "+";
    Sub: sub, "-";
    Mul: mul, "*";
    Div: div, "/";
}

impl Neg for Variable<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.call("-")
    }
}

/// The function of CUDA that computes a primitive.
const fn function(primitive: Unary) -> &'static str {
    match primitive {
        Unary::Negative => "-",
        Unary::Absolute => "fabs",
        Unary::Root => ops::SQRT.name(),
        Unary::PowerOfE => ops::EXP.name(),
        Unary::Logarithm => ops::LOG.name(),
        Unary::Logarithm1p => ops::LOG1P.name(),
        Unary::HyperbolicTangent => ops::TANH.name(),
        Unary::ErrorFunction => ops::ERF.name(),
        Unary::Gelu => ops::GELU.name(),
        Unary::RoundedDown => ops::FLOOR.name(),
        Unary::Rounded => "rint",
    }
}

macro_rules! functions {
    ($($name:ident: $primitive:ident;)*) => {$(
        fn $name(self) -> Self {
            self.call(function(Unary::$primitive))
        }
    )*};
}

impl Primitives for Variable<'_> {
    type Number = Name;

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

    fn constant(self, number: f64) -> Self {
        self.tape.variable(number.into())
    }
    fn at_least(self, low: impl Into<Name>) -> Self {
        self.call_with("at_least", low.into())
    }
    fn at_most(self, high: impl Into<Name>) -> Self {
        self.call_with("at_most", high.into())
    }
    fn larger(self, other: Self) -> Self {
        self.call_with("larger", other.name)
    }
    fn smaller(self, other: Self) -> Self {
        self.call_with("smaller", other.name)
    }
    fn where_above(self, bound: f64, yes: Self, no: Self) -> Self {
        self.define(&format!("{} > {} ? {} : {}", self.name, Name::from(bound), yes.name, no.name))
    }
    fn gelu_by(self, approximate: &str) -> Self {
        if approximate == ops::TANH.name() { self.call("gelu_by_tanh") } else { self.call(function(Unary::Gelu)) }
    }
}

impl PointwiseOps for Variable<'_> {
    type Number = Name;

    fx_ir::op_table!(lanes_of_formulas);

    fn sum(self, _: Option<Kind>) -> Self {
        self.ask(Reduction::Sum)
    }
    fn mean(self, _: Option<Kind>) -> Self {
        self.ask(Reduction::Mean)
    }
    fn log_sum(self) -> Self {
        self.ask(Reduction::LogSum)
    }
    fn amax(self) -> Self {
        self.ask(Reduction::Max)
    }
}
