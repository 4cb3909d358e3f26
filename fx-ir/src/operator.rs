//! `+ - * /` in rules: one sign for the op of two tensors and for that of a tensor and a number.

use crate::ops::{self, OpId};

/// An operator between tensors, or between a tensor and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 4] = [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div];

    /// The operator whose op of two tensors has that name.
    pub fn named(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.tensor_op().name() == name)
    }

    /// The op of two tensors.
    pub fn tensor_op(self) -> OpId {
        match self {
            Operator::Add => ops::ADD,
            Operator::Sub => ops::SUB,
            Operator::Mul => ops::MUL,
            Operator::Div => ops::DIV,
        }
    }

    /// The op of a tensor and a number.
    pub fn scalar_op(self) -> OpId {
        match self {
            Operator::Add => ops::ADD_SCALAR,
            Operator::Sub => ops::SUB_SCALAR,
            Operator::Mul => ops::MUL_SCALAR,
            Operator::Div => ops::DIV_SCALAR,
        }
    }

    /// Both ops, that of two tensors first.
    pub fn ops(self) -> impl Iterator<Item = OpId> {
        [self.tensor_op(), self.scalar_op()].into_iter()
    }

    /// Returns whether both orders mean the same.
    pub fn commutes(self) -> bool {
        matches!(self, Operator::Add | Operator::Mul)
    }

    /// As Rust spells it.
    pub fn sign(self) -> char {
        match self {
            Operator::Add => '+',
            Operator::Sub => '-',
            Operator::Mul => '*',
            Operator::Div => '/',
        }
    }

    /// The operator on two integers, where that is exact.
    pub fn of_ints(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Operator::Add => a.checked_add(b),
            Operator::Sub => a.checked_sub(b),
            Operator::Mul => a.checked_mul(b),
            Operator::Div => a.checked_rem(b).filter(|&rest| rest == 0).and_then(|_| a.checked_div(b)),
        }
    }

    /// The operator on two floats.
    pub fn of_floats(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Add => a + b,
            Operator::Sub => a - b,
            Operator::Mul => a * b,
            Operator::Div => a / b,
        }
    }
}
