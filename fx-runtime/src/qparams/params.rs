//! Quantization parameters: which real number an integer stands for.
//!
//! `x = (q - zero_point) * scale`, and back `q = clamp(round(x * (1 / scale)) + zero_point)`, where halves are rounded to
//! the even integer and the zero point is added to what is rounded, as libtorch's kernels do (its documentation says
//! `round(x / scale + zero_point)`, which differs for odd zero points).

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::{DType, QScheme, QuantRange};
use crate::{Error, Result};

/// The zero points: integers, or of [`QScheme::PerChannelAffineFloatQParams`] real numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ZeroPoint {
    /// The integers that stand for zero.
    Int(Vec<i64>),
    /// Where zero lies between the integers.
    Float(Vec<f32>),
}

/// How a value is quantized: one entry of `scale` and `zero_point`, or one for each index along `axis`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QParams {
    /// The integers.
    pub dtype: DType,
    /// How numbers are laid over them.
    pub scheme: QScheme,
    /// The distance of two neighbouring integers, in units of the value.
    pub scale: Vec<f32>,
    /// The integer that stands for zero.
    pub zero_point: ZeroPoint,
    /// The axis whose indices have scales of their own; none of a value with one scale.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub axis: Option<i64>,
    /// The smallest integer that is used.
    pub quant_min: i64,
    /// The largest integer that is used.
    pub quant_max: i64,
}

/// What [`calculate_qparams`] needs to know beside the extremes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) dtype: DType,
    pub(crate) scheme: QScheme,
    pub(crate) range: QuantRange,
    /// Whether the range is the user's own.
    pub(crate) is_custom_range: bool,
    pub(crate) eps: f32,
    pub(crate) axis: Option<i64>,
}

/// Lays the numbers between `min` and `max`, one of each for each channel, over the integers.
///
/// Source: `UniformQuantizationObserverBase._calculate_qparams` of torch 2.11, computed in `f32` as there.
///
/// # Errors
///
/// [`Error::Quantization`] if a bound is not finite or they are in the wrong order. PyTorch asserts the order alone, and
/// yields an infinite scale with an undefined zero point of an infinite bound.
pub(crate) fn calculate_qparams(rule: &Rule, min: &[f32], max: &[f32]) -> Result<QParams> {
    let refused = |reason: String| Error::Quantization { site: rule.scheme.name().to_owned(), reason };
    if let Some((low, high)) = min.iter().zip(max).find(|(low, high)| !low.is_finite() || !high.is_finite()) {
        return Err(refused(format!("the observed values reach from {low} to {high}; they have to be finite")));
    }
    if let Some((low, high)) = min.iter().zip(max).find(|(low, high)| low > high) {
        return Err(refused(format!("the smallest value {low} is above the largest {high}")));
    }
    let bounds = min.iter().copied().zip(max.iter().copied());
    let (scale, zero_point) = match rule.scheme {
        QScheme::PerChannelAffineFloatQParams => {
            let (scale, zero): (Vec<f32>, Vec<f32>) = bounds.map(|(low, high)| float_qparams(rule, low, high)).unzip();
            (scale, ZeroPoint::Float(zero))
        }
        scheme => {
            let one = if scheme.is_symmetric() { symmetric } else { affine };
            let (scale, zero): (Vec<f32>, Vec<i64>) = bounds.map(|(low, high)| one(rule, low, high)).unzip();
            (scale, ZeroPoint::Int(zero))
        }
    };
    let QuantRange { quant_min, quant_max } = rule.range;
    Ok(QParams { dtype: rule.dtype, scheme: rule.scheme, scale, zero_point, axis: rule.axis, quant_min, quant_max })
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch divides an f32 tensor by the number as f32")]
fn symmetric(rule: &Rule, low: f32, high: f32) -> (f32, i64) {
    let largest = (-low.min(0.0)).max(high.max(0.0));
    let scale = (largest / (rule.range.steps() / 2.0) as f32).max(rule.eps);
    let zero = match rule.dtype {
        DType::QUInt8 if rule.is_custom_range => (rule.range.quant_min + rule.range.quant_max).div_euclid(2),
        DType::QUInt8 => 128,
        _ => 0,
    };
    (scale, zero)
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch computes in f32, and rounds to an i32")]
fn affine(rule: &Rule, low: f32, high: f32) -> (f32, i64) {
    let QuantRange { quant_min, quant_max } = rule.range;
    let (low, high) = (low.min(0.0), high.max(0.0));
    let scale = ((high - low) / rule.range.steps() as f32).max(rule.eps);
    let zero = quant_min - i64::from((low / scale).round_ties_even() as i32);
    (scale, zero.clamp(quant_min, quant_max))
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch divides an f32 tensor by the number as f32")]
fn float_qparams(rule: &Rule, low: f32, high: f32) -> (f32, f32) {
    let scale = (high - low) / rule.range.steps() as f32;
    let scale = if scale > rule.eps { scale } else { 1.0 };
    (scale, -low / scale)
}

impl QParams {
    /// The parameters of a value with one scale and one zero point.
    pub fn per_tensor(dtype: DType, scheme: QScheme, scale: f32, zero_point: i64) -> QParams {
        let QuantRange { quant_min, quant_max } = dtype.range(false);
        let zero_point = ZeroPoint::Int(vec![zero_point]);
        QParams { dtype, scheme, scale: vec![scale], zero_point, axis: None, quant_min, quant_max }
    }

    /// The value as it is after quantization and back, of the same shape, in `f32`.
    ///
    /// This is libtorch's own `fake_quantize_*`, which passes gradients where the value lies within the integers' range.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if there are not as many scales as indices along the axis; [`Error::Torch`] if libtorch
    /// refuses.
    pub fn fake_quantize(&self, xs: &Tensor) -> Result<Tensor> {
        let (quant_min, quant_max) = (self.quant_min, self.quant_max);
        match (self.axis, &self.zero_point) {
            (Some(axis), _) => {
                let [scale, zero] = self.tensors(xs)?;
                Ok(xs.f_fake_quantize_per_channel_affine(&scale, &zero, axis, quant_min, quant_max)?)
            }
            (None, ZeroPoint::Int(zero)) if zero.len() == 1 && self.scale.len() == 1 => {
                let scale = f64::from(self.scale[0]);
                Ok(xs.f_fake_quantize_per_tensor_affine(scale, zero[0], quant_min, quant_max)?)
            }
            (None, _) => Err(self.refused("has no axis and yet not one scale and one zero point")),
        }
    }

    /// The integers, `i8`, `u8` or `i32` of the value's shape; those of four bits as one `u8` each.
    ///
    /// # Errors
    ///
    /// As [`QParams::fake_quantize`].
    pub fn quantize(&self, xs: &Tensor) -> Result<Tensor> {
        let [scale, zero] = self.shaped(xs)?;
        let inverse = scale.f_reciprocal()?;
        let scaled = xs.f_mul(&inverse)?;
        let codes = match self.zero_point {
            ZeroPoint::Int(_) => scaled.f_round()?.f_add(&zero)?,
            // Source: fbgemm's quantization of embeddings.
            ZeroPoint::Float(_) => scaled.f_add(&zero)?.f_round()?,
        };
        let kind = match self.dtype {
            DType::QInt8 => tch::Kind::Int8,
            DType::QUInt8 | DType::QUInt4x2 => tch::Kind::Uint8,
            DType::QInt32 => tch::Kind::Int,
        };
        Ok(codes.f_clamp(self.quant_min, self.quant_max)?.f_to_kind(kind)?)
    }

    /// The numbers that the integers stand for, `f32` of the same shape.
    ///
    /// # Errors
    ///
    /// As [`QParams::fake_quantize`].
    pub fn dequantize(&self, codes: &Tensor) -> Result<Tensor> {
        let [scale, zero] = self.shaped(codes)?;
        Ok(codes.f_to_kind(tch::Kind::Float)?.f_sub(&zero)?.f_mul(&scale)?)
    }

    /// The scale and the integer that stands for zero; none if there are several, or zero is no integer.
    pub(crate) fn single(&self) -> Option<(f32, i64)> {
        match (self.scale.as_slice(), &self.zero_point) {
            (&[scale], ZeroPoint::Int(zero)) => match zero.as_slice() {
                &[zero] => Some((scale, zero)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether the integers that are used are those of the dtype, or of its reduced range.
    pub(crate) fn has_range_of_dtype(&self) -> bool {
        let range = QuantRange { quant_min: self.quant_min, quant_max: self.quant_max };
        [false, true].iter().any(|&reduced| self.dtype.range(reduced) == range)
    }

    /// Scale and zero point, in shapes that broadcast over the value.
    fn shaped(&self, xs: &Tensor) -> Result<[Tensor; 2]> {
        let [scale, zero] = self.tensors(xs)?;
        let mut shape = vec![1; xs.dim().max(1)];
        if let Some(axis) = self.axis {
            shape[wrapped(axis, xs.dim())] = -1;
        }
        let zero = zero.f_to_kind(tch::Kind::Float)?;
        if xs.dim() == 0 {
            return Ok([scale.f_squeeze()?, zero.f_squeeze()?]);
        }
        Ok([scale.f_view(shape.as_slice())?, zero.f_view(shape.as_slice())?])
    }

    /// Scale as `f32[channels]`, and zero point as `i32[channels]`, or `f32` if it is no integer.
    fn tensors(&self, xs: &Tensor) -> Result<[Tensor; 2]> {
        let channels = self.scale.len();
        if let Some(axis) = self.axis {
            let size = xs.size();
            let found = size.get(wrapped(axis, size.len())).copied();
            if found.and_then(|size| usize::try_from(size).ok()) != Some(channels) {
                return Err(self.refused(&format!("has {channels} scales along axis {axis}, the value is {size:?}")));
            }
        }
        let zero = match &self.zero_point {
            ZeroPoint::Int(zero) => Tensor::f_from_slice(zero)?.f_to_kind(tch::Kind::Int)?,
            ZeroPoint::Float(zero) => Tensor::f_from_slice(zero)?,
        };
        let device = xs.device();
        Ok([Tensor::f_from_slice(&self.scale)?.f_to_device(device)?, zero.f_to_device(device)?])
    }

    fn refused(&self, reason: &str) -> Error {
        Error::Quantization { site: format!("{} {}", self.dtype, self.scheme), reason: reason.to_owned() }
    }
}

/// The position of an axis that may be counted from the end; one behind all of them if there is no such axis.
pub(crate) fn wrapped(axis: i64, rank: usize) -> usize {
    let at = usize::try_from(axis.unsigned_abs()).unwrap_or(usize::MAX);
    if axis < 0 { rank.checked_sub(at).unwrap_or(usize::MAX) } else { at }
}
