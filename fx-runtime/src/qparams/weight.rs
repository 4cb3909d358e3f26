//! Weights of linear layers as integers, or as floats of 16 bits.

use std::fmt;

use tch::{Kind, Tensor};

use super::{DType, QParams, QScheme, Rule, ZeroPoint, calculate_qparams};
use crate::ffi::Param;
use crate::ffi::eight_bits::{EightBits, row_scales};
use crate::{Error, Result};

/// How the weight of a linear layer is kept in fewer bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    /// A signed byte each, and a symmetric scale for each output channel (`default_per_channel_weight_observer`).
    Int8,
    /// Half a byte each, and a scale and a real zero point for each `group` inputs of an output channel
    /// (`per_channel_affine_float_qparams` on `quint4x2`, the group being the channel).
    Int4 {
        /// How many weights have one scale; the number of inputs is a multiple of it, and it is even.
        group: i64,
    },
    /// `f16`; numbers beyond its range are refused.
    F16,
    /// `bf16`.
    Bf16,
    /// A float of eight bits each (`e4m3fn`), and a scale for each output channel, so that its largest weight is 448.
    Float8,
}

/// How linear layers multiply in eight bits: the weight is rounded when the model is frozen, with a scale for each output
/// channel, and each row of what comes in at each call, with a scale of its own.
///
/// Source: torchao's `Int8DynamicActivationInt8WeightConfig` and `Float8DynamicActivationFloat8WeightConfig` by rows, both with
/// symmetric activations. `quant::QConfig::dynamic` is PyTorch's own, whose activations have a zero point and one scale for all
/// rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicFormat {
    /// Integers from -127 to 127.
    Int8,
    /// Floats of eight bits (`e4m3fn`).
    Float8,
}

impl DynamicFormat {
    /// How the weight is kept.
    pub(crate) fn weight(self) -> WeightFormat {
        match self {
            DynamicFormat::Int8 => WeightFormat::Int8,
            DynamicFormat::Float8 => WeightFormat::Float8,
        }
    }
}

impl fmt::Display for DynamicFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DynamicFormat::Int8 => "dynamic int8",
            DynamicFormat::Float8 => "dynamic float8",
        })
    }
}

/// A weight `[out, in]` in fewer bits.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) format: WeightFormat,
    /// `i8[out, in]`; of four bits `u8[out, in / 2]`, the first of two in the low half; or floats of 8 or 16 bits `[out, in]`.
    pub(crate) codes: Param,
    /// `f32[out]`, or `f32[out, in / group, 1]`; none of floats of 16 bits.
    pub(crate) scale: Option<Param>,
    /// `f32[out, in / group, 1]`, of four bits alone.
    pub(crate) zero_point: Option<Param>,
}

impl WeightFormat {
    /// Returns whether a row of so many weights can be kept so.
    pub(crate) fn takes(self, columns: i64) -> bool {
        match self {
            WeightFormat::Int8 | WeightFormat::F16 | WeightFormat::Bf16 | WeightFormat::Float8 => true,
            WeightFormat::Int4 { group } => group >= 2 && group % 2 == 0 && columns % group == 0,
        }
    }

    /// What weights are rounded to, groups being channels of their own; none of floats.
    fn rule(self) -> Option<Rule> {
        let (dtype, scheme) = match self {
            WeightFormat::Int8 => (DType::QInt8, QScheme::PerChannelSymmetric),
            WeightFormat::Int4 { .. } => (DType::QUInt4x2, QScheme::PerChannelAffineFloatQParams),
            WeightFormat::F16 | WeightFormat::Bf16 | WeightFormat::Float8 => return None,
        };
        let range = dtype.range(false);
        Some(Rule { dtype, scheme, range, is_custom_range: false, eps: f32::EPSILON, axis: Some(0) })
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightFormat::Int8 => f.write_str("int8 weights"),
            WeightFormat::Int4 { group } => write!(f, "int4 weights in groups of {group}"),
            WeightFormat::F16 => f.write_str("f16 weights"),
            WeightFormat::Bf16 => f.write_str("bf16 weights"),
            WeightFormat::Float8 => f.write_str("float8 weights"),
        }
    }
}

impl Coded {
    /// Rounds a weight `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the weight is not finite, or its inputs do not fall into such groups.
    pub(crate) fn of(weight: &Tensor, format: WeightFormat) -> Result<Self> {
        let [rows, columns] = weight.size()[..] else {
            return Err(Error::Refused("the weight of a linear layer has two axes".to_owned()));
        };
        if let WeightFormat::Int4 { group } = format
            && !format.takes(columns)
        {
            let reason = format!("{columns} inputs do not fall into groups of {group}, which has to be even");
            return Err(Error::Quantization { site: "weight".to_owned(), reason });
        }
        let weight = weight.f_contiguous()?;
        let Some(rule) = format.rule() else { return Self::in_floats(&weight, format) };
        let channels = match format {
            WeightFormat::Int4 { group } => weight.f_view([-1, group])?,
            _ => weight,
        };
        let of = learned(&channels, &rule)?;
        let codes = of.quantize(&channels)?;
        let place = channels.device();
        let each = |numbers: &[f32]| -> Result<Tensor> {
            let tensor = Tensor::f_from_slice(numbers)?.f_to_device(place)?;
            Ok(if format == WeightFormat::Int8 { tensor } else { tensor.f_view([rows, -1, 1])? })
        };
        let zero_point = match &of.zero_point {
            ZeroPoint::Float(zero) => Some(each(zero)?),
            ZeroPoint::Int(_) => None,
        };
        let codes = match format {
            WeightFormat::Int8 | WeightFormat::F16 | WeightFormat::Bf16 | WeightFormat::Float8 => codes,
            WeightFormat::Int4 { .. } => {
                let pairs = codes.f_view([rows, columns / 2, 2])?;
                let high = pairs.f_select(2, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
                high.f_bitwise_or_tensor(&pairs.f_select(2, 0)?)?
            }
        };
        Ok(Self::of_parts(codes, Some(each(&of.scale)?), zero_point))
    }

    /// Rounds a weight to floats of 16 bits, or of eight with scales.
    fn in_floats(weight: &Tensor, format: WeightFormat) -> Result<Self> {
        let (rounded, scale) = match format {
            WeightFormat::F16 => (weight.f_to_kind(Kind::Half)?, None),
            WeightFormat::Float8 => {
                let scale = row_scales(weight, EightBits::Float)?;
                let largest = f64::from(EightBits::Float.largest());
                let scaled = weight.f_div(&scale.f_unsqueeze(1)?)?.f_clamp(-largest, largest)?;
                (scaled.f_to_kind(Kind::Float8e4m3fn)?, Some(scale))
            }
            _ => (weight.f_to_kind(Kind::BFloat16)?, None),
        };
        if rounded.f_to_kind(Kind::Float)?.f_isfinite()?.f_all()?.f_int64_value(&[])? == 0 {
            let (low, high) = (weight.f_min()?.f_double_value(&[])?, weight.f_max()?.f_double_value(&[])?);
            let reason = format!("it reaches from {low} to {high}, which {format} do not hold");
            return Err(Error::Quantization { site: "weight".to_owned(), reason });
        }
        Ok(Self::of_parts(rounded, scale, None))
    }

    /// Codes with their scales and, of four bits, zero points, or floats without them; see the fields.
    pub(crate) fn of_parts(codes: Tensor, scale: Option<Tensor>, zero_point: Option<Tensor>) -> Self {
        let columns = 2 * codes.size().last().copied().unwrap_or(0);
        let format = match (&scale, &zero_point) {
            (None, _) if codes.kind() == Kind::Half => WeightFormat::F16,
            (None, _) => WeightFormat::Bf16,
            (Some(_), None) if codes.kind() == Kind::Float8e4m3fn => WeightFormat::Float8,
            (Some(_), None) => WeightFormat::Int8,
            (Some(scale), Some(_)) => {
                WeightFormat::Int4 { group: columns / scale.size().get(1).copied().unwrap_or(1).max(1) }
            }
        };
        let [scale, zero_point] = [scale, zero_point].map(|part| part.map(Param::new));
        Self { format, codes: Param::new(codes), scale, zero_point }
    }

    /// A second handle on the same integers.
    pub(crate) fn handle(&self) -> Self {
        let handle = |part: &Option<Param>| part.as_ref().map(|part| part.shallow_clone());
        Self::of_parts(self.codes.shallow_clone(), handle(&self.scale), handle(&self.zero_point))
    }

    /// `[out, in]`.
    pub(crate) fn shape(&self) -> [i64; 2] {
        let size = self.codes.size();
        let halves = if matches!(self.format, WeightFormat::Int4 { .. }) { 2 } else { 1 };
        [size[0], size[1] * halves]
    }

    /// The rows of these indices, `i64[n]`, in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if an index is none of a row.
    pub(crate) fn rows(&self, indices: &Tensor) -> Result<Self> {
        let chosen = |of: &Param| of.f_index_select(0, indices);
        let [scale, zero_point] = [&self.scale, &self.zero_point].map(|part| part.as_ref().map(chosen).transpose());
        Ok(Self::of_parts(chosen(&self.codes)?, scale?, zero_point?))
    }

    /// The numbers that the integers stand for, `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub(crate) fn dense(&self) -> Result<Tensor> {
        let Some(scale) = &self.scale else { return Ok(self.codes.f_to_kind(Kind::Float)?) };
        let Some(zero_point) = &self.zero_point else {
            return Ok(self.codes.f_to_kind(Kind::Float)?.f_mul(&scale.f_unsqueeze(1)?)?);
        };
        let rows = self.codes.size()[0];
        let low = self.codes.f_bitwise_and(0x0F)?;
        let high = self.codes.f_bitwise_right_shift_tensor_scalar(4)?;
        let codes = Tensor::f_stack(&[low, high], 2)?.f_view([rows, scale.size()[1], -1])?;
        let codes = codes.f_to_kind(Kind::Float)?.f_sub(zero_point.tensor())?;
        Ok(codes.f_mul(scale.tensor())?.f_view([rows, -1])?)
    }

    /// The bytes of codes, scales and zero points.
    pub(crate) fn bytes(&self) -> usize {
        let size = |tensor: &Param| tensor.numel() * tensor.kind().elt_size_in_bytes();
        size(&self.codes) + self.scale.iter().chain(&self.zero_point).map(size).sum::<usize>()
    }
}

/// The parameters of each row.
fn learned(rows: &Tensor, rule: &Rule) -> Result<QParams> {
    let (min, max) = rows.f_aminmax(1, false)?;
    let list = |of: Tensor| -> Result<Vec<f32>> { Ok(Vec::try_from(of.f_reshape([-1])?)?) };
    calculate_qparams(rule, &list(min)?, &list(max)?)
}
