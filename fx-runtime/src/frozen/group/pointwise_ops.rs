//! What a group computes on: numbers of a vector, whole tensors, descriptions of tensors. One function serves them all.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(clippy::return_self_not_must_use, reason = "generated code calls these, and uses what it asks for")]

use tch::Kind;

pub use fx_ir::ops::formula::Arithmetic;

/// The type of a parameter of a formula, to a caller.
macro_rules! param {
    (lane) => { Self };
    (number) => { impl Into<Self::Number> };
    (text) => { &str };
}

/// The trait: a method for each op of the op table that has a formula, and the ops on rows.
macro_rules! lane_trait {
    ($($id:ident = row($op:literal, $methods:expr, $class:ident, $doc:literal) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {
        /// An element of a tensor, or what stands for all of them. The functions are PyTorch's, NaN and infinity included.
        pub trait PointwiseOps:
            Clone + Arithmetic<Self> + Arithmetic<f64> + Arithmetic<i64> + Arithmetic<<Self as PointwiseOps>::Number>
        {
            /// A number that is known at the call.
            type Number: Clone + From<f64> + From<i64>;
            $($(
                #[doc = $doc]
                fn $name(self $(, $param: param!($kind))*) -> Self;
            )?)*

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
                let x = self.kept();
                let power = (x.clone() - x.amax()).exp().kept();
                // One division a row.
                power.clone() * power.sum(None).reciprocal()
            }
            /// The logarithm of that.
            #[inline(always)]
            fn log_softmax(self, _: Option<Kind>) -> Self {
                let x = self.kept();
                let rest = (x.clone() - x.amax()).kept();
                rest.clone() - rest.exp().log_sum()
            }
            /// `(x - mean x) / √(mean (x - mean x)² + eps) · weight + bias` along the last axis.
            #[inline(always)]
            fn layer_norm(self, weight: Option<Self>, bias: Option<Self>, eps: impl Into<Self::Number>) -> Self {
                let x = self.kept();
                let rest = x.clone() - x.mean(None);
                let inverse = (rest.clone().square().mean(None) + eps.into()).rsqrt();
                affine(rest * inverse, weight, bias)
            }
            /// `x / √(mean x² + eps) · weight` along the last axis.
            #[inline(always)]
            fn rms_norm(self, weight: Option<Self>, eps: impl Into<Self::Number>) -> Self {
                let x = self.kept();
                let inverse = (x.clone().square().mean(None) + eps.into()).rsqrt();
                affine(x * inverse, weight, None)
            }
        }
    };
}

fx_ir::op_table!(lane_trait);

/// The methods of `PointwiseOps` on what has the primitives that formulas are written in.
macro_rules! lanes_of_formulas {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {$($(
        #[inline(always)]
        fn $name(self $(, $param: param!($kind))*) -> Self {
            fx_ir::ops::formulas::$name(self $(, given!($kind $param))*)
        }
    )?)*};
}

/// A parameter of a formula, from what a caller gave.
macro_rules! given {
    (number $param:ident) => {
        $param.into()
    };
    ($kind:ident $param:ident) => {
        $param
    };
}

pub(super) use {given, lanes_of_formulas, param};

#[inline(always)]
fn affine<L: PointwiseOps>(x: L, weight: Option<L>, bias: Option<L>) -> L {
    let scaled = match weight {
        Some(weight) => x * weight,
        None => x,
    };
    match bias {
        Some(bias) => scaled + bias,
        None => scaled,
    }
}
