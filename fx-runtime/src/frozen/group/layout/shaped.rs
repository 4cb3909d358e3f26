//! Lanes that stand for whole tensors of which something is known: what each op does to that is one of a few things.

use std::ops::{Add, Div, Mul, Sub};

use fx_ir::ops::formulas;
use tch::Kind;

use super::super::PointwiseOps;
use super::super::pointwise_ops::param;
use super::costly::Costly;
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

/// The methods of `PointwiseOps`: an op of one tensor is costly or not, one of two is `binary`.
macro_rules! by_formula {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {$($(
        #[inline(always)]
        fn $name(self $(, $param: param!($kind))*) -> Self {
            let is_costly = formulas::$name(Costly(false) $(, by_formula!(@formula $kind $param))*).0;
            by_formula!(@shape self $($kind $param)*; is_costly)
        }
    )?)*};
    (@formula lane $param:ident) => { Costly(false) };
    (@formula number $param:ident) => {{
        let _ = $param;
        AnyNumber
    }};
    (@formula text $param:ident) => { $param };
    // The numbers beside two tensors change no layout.
    (@shape $of:ident lane $param:ident $($rest:ident)*; $is_costly:ident) => {{
        if $is_costly { $of.binary($param).costly() } else { $of.binary($param) }
    }};
    (@shape $of:ident $($rest:ident)*; $is_costly:ident) => {
        if $is_costly { $of.costly() } else { $of.unary() }
    };
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

        impl PointwiseOps for $lane {
            type Number = AnyNumber;

            fx_ir::op_table!(by_formula);

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
