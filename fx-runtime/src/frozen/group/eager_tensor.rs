//! A group by `ATen`'s operators, one after the other: for whatever a generated loop cannot do, and as its oracle.

use std::ops::{Add, Div, Mul, Sub};

use tch::{Kind, Scalar, TchError, Tensor};

use super::PointwiseOps;
use super::pointwise_ops::param;
use crate::frozen::State;

/// A tensor, or why there is none.
#[derive(Debug)]
pub(super) struct EagerTensor(pub(super) Result<Tensor, TchError>);

/// A number as the caller has it: `ATen` promotes dtypes by whether it is whole.
#[derive(Debug, Clone, Copy, PartialEq, State)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The number, an integer rounded to the nearest.
    #[allow(clippy::cast_precision_loss, reason = "as libtorch casts a number to a tensor's dtype")]
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    fn scalar(self) -> Scalar {
        match self {
            Self::Int(number) => number.into(),
            Self::Float(number) => number.into(),
        }
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<Number> for Scalar {
    fn from(number: Number) -> Self {
        number.scalar()
    }
}

impl Clone for EagerTensor {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Ok(tensor) => Ok(tensor.shallow_clone()),
            Err(error) => Err(TchError::Torch(error.to_string())),
        })
    }
}

impl EagerTensor {
    pub(super) fn of(tensor: &Tensor) -> Self {
        Self(Ok(tensor.shallow_clone()))
    }

    /// All of them, or why the first that is missing is.
    pub(super) fn all(tensors: &mut dyn Iterator<Item = Self>) -> Result<Vec<Tensor>, TchError> {
        tensors.map(|tensor| tensor.0).collect()
    }

    fn unary(self, function: impl FnOnce(Tensor) -> Result<Tensor, TchError>) -> Self {
        Self(self.0.and_then(function))
    }

    fn binary(self, other: Self, function: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor, TchError>) -> Self {
        Self(self.0.and_then(|a| function(&a, &other.0?)))
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident, $tensors:ident, $number:ident;)*) => {$(
        impl $operator for EagerTensor {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.binary(other, |a, b| a.$tensors(b))
            }
        }
        impl $operator<Number> for EagerTensor {
            type Output = Self;
            fn $method(self, number: Number) -> Self {
                self.unary(|x| x.$number(number.scalar()))
            }
        }
        impl $operator<f64> for EagerTensor {
            type Output = Self;
            fn $method(self, number: f64) -> Self {
                $operator::$method(self, Number::from(number))
            }
        }
        impl $operator<i64> for EagerTensor {
            type Output = Self;
            fn $method(self, number: i64) -> Self {
                $operator::$method(self, Number::from(number))
            }
        }
    )*};
}

operators! {
    Add: add, f_add, f_add_scalar;
    Sub: sub, f_sub, f_sub_scalar;
    Mul: mul, f_mul, f_mul_scalar;
    Div: div, f_div, f_div_scalar;
}

/// The methods of `PointwiseOps` as those of tch.
macro_rules! by_aten {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {$($(
        fn $name(self $(, $param: param!($kind))*) -> Self {
            self.unary(|x| x.$method($(by_aten!(@ $kind $param)),*))
        }
    )?)*};
    (@ lane $param:ident) => { &$param.0? };
    (@ number $param:ident) => { $param.into().scalar() };
    (@ text $param:ident) => { $param };
}

impl PointwiseOps for EagerTensor {
    type Number = Number;

    fx_ir::op_table!(by_aten);

    fn sum(self, kind: Option<Kind>) -> Self {
        self.unary(|x| x.f_sum_dim_intlist(LAST, true, kind))
    }
    fn mean(self, kind: Option<Kind>) -> Self {
        self.unary(|x| x.f_mean_dim(LAST, true, kind))
    }
    fn log_sum(self) -> Self {
        self.sum(None).unary(|x| x.f_log())
    }
    fn amax(self) -> Self {
        self.unary(|x| x.f_amax(LAST, true))
    }
    fn softmax(self, kind: Option<Kind>) -> Self {
        self.unary(|x| x.f_softmax(-1, kind))
    }
    fn log_softmax(self, kind: Option<Kind>) -> Self {
        self.unary(|x| x.f_log_softmax(-1, kind))
    }
    fn layer_norm(self, weight: Option<Self>, bias: Option<Self>, eps: impl Into<Number>) -> Self {
        let parts = optional(weight).and_then(|weight| Ok((weight, optional(bias)?)));
        self.unary(|x| {
            let (weight, bias) = parts?;
            x.f_layer_norm(normalized(&x, weight.as_ref()), weight.as_ref(), bias.as_ref(), eps.into().float(), true)
        })
    }
    fn rms_norm(self, weight: Option<Self>, eps: impl Into<Number>) -> Self {
        let weight = optional(weight);
        self.unary(|x| {
            let weight = weight?;
            x.f_rms_norm(normalized(&x, weight.as_ref()), weight.as_ref(), eps.into().float())
        })
    }
}

const LAST: &[i64] = &[-1];

fn optional(value: Option<EagerTensor>) -> Result<Option<Tensor>, TchError> {
    value.map(|value| value.0).transpose()
}

/// The axes that a norm goes over: as many as the weight has, or the last.
fn normalized(x: &Tensor, weight: Option<&Tensor>) -> Vec<i64> {
    weight.map_or_else(|| x.size().last().copied().into_iter().collect(), Tensor::size)
}
