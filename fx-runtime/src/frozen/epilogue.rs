//! What follows a matrix product row by row: bias, addition and activation in one pass over memory.
//!
//! Unlike the fused kernels of oneDNN these loops keep NaN: a comparison that fails leaves the value as it is.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(
    clippy::cast_possible_truncation,
    reason = "bounds and slopes are cast as libtorch casts a number to a tensor's dtype"
)]

use super::Activation;
use super::group::Element;
use crate::ffi::Epilogue;
use crate::math::{at_least, at_most, gelu, gelu_tanh};

/// `act(row + bias + other)` for every row.
#[derive(Debug)]
pub(super) struct RowEpilogue<'a> {
    /// As long as a row.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) act: Activation,
}

impl Epilogue for RowEpilogue<'_> {
    fn is_nothing(&self) -> bool {
        self.bias.is_none() && self.act == Activation::None
    }

    #[inline(always)]
    fn apply(&self, first: usize, width: usize, rows: &mut [f32], other: Option<&[f32]>) {
        self.by_act(first, width, rows, other);
    }
}

/// A function of one number. A type of its own and no closure, because closures cannot be made to be inlined.
trait Map {
    fn map(&self, x: f32) -> f32;
}

macro_rules! maps {
    ($($name:ident $(($($field:ident),*))? = |$x:ident| $body:expr;)*) => {$(
        struct $name $(($(maps!(@f32 $field)),*))?;

        impl Map for $name {
            #[inline(always)]
            fn map(&self, $x: f32) -> f32 {
                $(let &Self($($field),*) = self;)?
                $body
            }
        }
    )*};
    (@f32 $field:ident) => { f32 };
}

maps! {
    Same = |x| x;
    Clamp(low, high) = |x| at_most(at_least(x, low), high);
    Gelu = |x| gelu(x);
    GeluTanh = |x| gelu_tanh(x);
    LeakyRelu(slope) = |x| if x > 0.0 { x } else { x * slope };
}

/// A loop for each activation: those without parameters by their formulas.
macro_rules! by_formulas {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {
        $($($(
            struct $act;

            impl Map for $act {
                #[inline(always)]
                fn map(&self, x: f32) -> f32 {
                    fx_ir::ops::formulas::$name(Element(x)).0
                }
            }
        )?)?)*

        impl RowEpilogue<'_> {
            #[inline(always)]
            fn by_act(&self, first: usize, width: usize, rows: &mut [f32], other: Option<&[f32]>) {
                match self.act {
                    Activation::None => self.each(first, width, rows, other, &Same),
                    $($($(Activation::$act => self.each(first, width, rows, other, &$act),)?)?)*
                    Activation::Gelu => self.each(first, width, rows, other, &Gelu),
                    Activation::GeluTanh => self.each(first, width, rows, other, &GeluTanh),
                    Activation::LeakyRelu(slope) => self.each(first, width, rows, other, &LeakyRelu(slope as f32)),
                    Activation::Clamp(low, high) => self.each(first, width, rows, other, &Clamp(low as f32, high as f32)),
                }
            }
        }
    };
}

fx_ir::op_table!(by_formulas);

impl RowEpilogue<'_> {
    #[inline(always)]
    fn each(&self, first: usize, width: usize, rows: &mut [f32], other: Option<&[f32]>, f: &impl Map) {
        let bias = self.bias.map(|bias| &bias[first..][..width]);
        for (start, row) in rows.chunks_exact_mut(width).enumerate() {
            let other = other.map(|other| &other[start * width..][..width]);
            match (bias, other) {
                (None, None) => {
                    for y in row {
                        *y = f.map(*y);
                    }
                }
                (None, Some(other)) => {
                    for (y, o) in row.iter_mut().zip(other) {
                        *y = f.map(*y + o);
                    }
                }
                (Some(bias), None) => {
                    for (y, b) in row.iter_mut().zip(bias) {
                        *y = f.map(*y + b);
                    }
                }
                (Some(bias), Some(other)) => {
                    for ((y, b), o) in row.iter_mut().zip(bias).zip(other) {
                        *y = f.map(*y + b + o);
                    }
                }
            }
        }
    }
}
