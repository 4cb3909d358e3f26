//! Which numbers a convolution computes with: the dtypes of its arguments, and the scales and zero points of integers.

use std::ffi::c_int;
use std::sync::Arc;

use tch::{TchError, Tensor};

use super::api::value;
use super::objects::{Affine, Engine};
use super::weight::Constant;
use crate::ffi::Param;

/// A convolution of `u8` by `i8`: what stands for which number.
///
/// With `w` of the weight and `x` of the input the kernel computes, with products and sums of integers that are exact,
/// `post(Σ (x - source_zero) w · weight_scales + bias + added)`, and stores that as `result` says.
#[derive(Debug)]
pub(crate) struct Int8Numbers<'t> {
    /// The integer of the input that stands for zero, also in the border.
    pub(crate) source_zero: i32,
    /// One for each output channel; none of sums.
    pub(crate) weight_scales: &'t [f32],
    /// What is stored.
    pub(crate) result: Int8Result,
    /// Whether a tensor that is added is `u8` and not f32.
    pub(crate) adds_integers: bool,
}

/// What a kernel on integers stores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Int8Result {
    /// f32.
    Floats,
    /// The `u8` `round(· / scale) + zero`, where halves go to the even integer.
    Codes { scale: f32, zero: i32 },
    /// The sums themselves, `i32`; there are no scales, no bias and no activation.
    Sums,
}

/// How many arguments have scales or zero points at most: the input's zero point, the weight's scales, and both of the
/// result.
pub(super) const MOST_AFFINE: usize = 4;

/// Dtypes in oneDNN's numbers, and what stands beside integers.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) source: c_int,
    pub(super) weight: c_int,
    pub(super) bias: c_int,
    pub(super) added: c_int,
    pub(super) result: c_int,
    affine: Vec<Of>,
}

/// Scales or zero points.
#[derive(Debug)]
struct Of {
    affine: Affine,
    argument: c_int,
    /// The axes along which there is one number for each index, as bits.
    mask: c_int,
    constant: Arc<Constant>,
}

impl Numbers {
    /// All of one floating-point dtype.
    pub(super) fn of_one_type(dtype: c_int) -> Self {
        Self { source: dtype, weight: dtype, bias: dtype, added: dtype, result: dtype, affine: Vec::new() }
    }

    /// Those of integers.
    #[expect(clippy::float_cmp, reason = "a scale of exactly one changes nothing")]
    pub(super) fn of_int8(engine: Engine, groups: i64, int8: &Int8Numbers<'_>) -> Result<Self, TchError> {
        let scales = |argument, mask, scales: &[f32]| {
            let sizes = [i64::try_from(scales.len()).unwrap_or(0)];
            let constant = Constant::new(engine, Param::new(Tensor::f_from_slice(scales)?), &sizes, value::F32)?;
            Ok::<_, TchError>(Of { affine: Affine::Scales, argument, mask, constant: Arc::new(constant) })
        };
        let zero = |argument, zero: i32| {
            let constant = Constant::new(engine, Param::new(Tensor::f_from_slice(&[zero])?), &[1], value::S32)?;
            Ok::<_, TchError>(Of { affine: Affine::ZeroPoints, argument, mask: 0, constant: Arc::new(constant) })
        };
        // Weights of several groups have an axis of groups in front of that of output channels.
        let channels = if groups == 1 { 1 } else { 3 };
        let mut affine = Vec::new();
        if int8.result != Int8Result::Sums {
            affine.push(scales(value::ARG_WEIGHTS, channels, int8.weight_scales)?);
        }
        if int8.source_zero != 0 {
            affine.push(zero(value::ARG_SRC, int8.source_zero)?);
        }
        if let Int8Result::Codes { scale, zero: stands_for_zero } = int8.result {
            if scale != 1.0 {
                affine.push(scales(value::ARG_DST, 0, &[scale])?);
            }
            if stands_for_zero != 0 {
                affine.push(zero(value::ARG_DST, stands_for_zero)?);
            }
        }
        Ok(Self {
            source: value::U8,
            weight: value::S8,
            bias: value::F32,
            added: if int8.adds_integers { value::U8 } else { value::F32 },
            result: match int8.result {
                Int8Result::Floats => value::F32,
                Int8Result::Codes { .. } => value::U8,
                Int8Result::Sums => value::S32,
            },
            affine,
        })
    }

    /// Which arguments have scales and zero points, and their masks.
    pub(super) fn affine(&self) -> impl Iterator<Item = (Affine, c_int, c_int)> {
        self.affine.iter().map(|of| (of.affine, of.argument, of.mask))
    }

    /// These scales and zero points, each with its place among the arguments.
    pub(super) fn constants(&self) -> Vec<(c_int, Arc<Constant>)> {
        let place = |of: &Of| match of.affine {
            Affine::Scales => of.argument | value::ARG_SCALES,
            Affine::ZeroPoints => of.argument | value::ARG_ZERO_POINTS,
        };
        self.affine.iter().map(|of| (place(of), of.constant.clone())).collect()
    }

    /// The result's dtype as `c10::ScalarType` counts.
    pub(super) fn result_type(&self) -> i32 {
        match self.result {
            value::F16 => 5,
            value::BF16 => 15,
            value::U8 => 0,
            value::S32 => 3,
            _ => 6,
        }
    }
}

/// Number of an element type in oneDNN; none for one that convolutions are not computed in.
pub(super) fn dtype(kind: tch::Kind) -> Option<c_int> {
    match kind {
        tch::Kind::Half => Some(value::F16),
        tch::Kind::BFloat16 => Some(value::BF16),
        tch::Kind::Float => Some(value::F32),
        _ => None,
    }
}
