//! The product of rows with a weight of eight bits, for which the rows are rounded to eight bits at each call.

use tch::{Kind, TchError, Tensor};

use super::Activation;
use super::int8::channel_sums;
use super::integer_product::{IntegerProduct, LEAST_DEVICE_ROWS};
use crate::Result;
use crate::ffi::driver::driver;
use crate::ffi::eight_bits::{EightBits, quantized_rows, row_scales, scaled_sums};
use crate::ffi::int8::{self, PerTensor, Rounding};
use crate::ffi::{LtActivation, LtWeight, Param};
use crate::qparams::{Coded, DynamicFormat};

/// `x wᵀ + b` for a weight `[out, in]` of eight bits with a scale for each row, and rows of `x` that have a scale each.
///
/// A row's scale is its largest magnitude over the format's (127, or 448 of `e4m3fn`), zero stands for itself, and the result
/// is the sum of the products of codes, times both scales.
///
/// Source: `Int8DynamicActivationInt8WeightConfig` and `Float8DynamicActivationFloat8WeightConfig` (by rows) of torchao, whose
/// activations are symmetric too.
pub(super) struct DynamicMatrix {
    format: DynamicFormat,
    weight: Weight,
    /// `f32[out]`
    scale: Param,
    bias: Option<Param>,
}

enum Weight {
    /// Integers on the CPU, with the sums of each row of the weight, `i32[out]`.
    Host { product: IntegerProduct, sums: Param },
    /// Floats `[out, in]` on a GPU, where cuBLASLt applies scales, bias, addition and activation.
    Lt(LtWeight),
    /// Codes `[out, in]` on a GPU that multiplies them.
    Device(Param),
    /// Codes `[out, in]`; libtorch's operators on floats.
    Composed(Param),
}

/// What stands in the place of 0 in codes without a sign.
const MIDDLE: i32 = 128;

impl DynamicMatrix {
    /// Packs a weight that has been rounded, for results of `kind`, by the device's own product of eight bits; none where it
    /// has none.
    ///
    /// # Errors
    ///
    /// No memory.
    pub(super) fn pack(of: &Coded, format: DynamicFormat, bias: Option<&Tensor>, kind: Kind) -> Result<Option<Self>> {
        let (codes, bias) = (&of.codes, bias.map(Param::copied).transpose()?);
        let weight = match (format, codes.device()) {
            (DynamicFormat::Int8, tch::Device::Cpu) => {
                Weight::Host { product: IntegerProduct::new(codes)?, sums: Param::new(channel_sums(codes)?) }
            }
            (DynamicFormat::Int8, tch::Device::Cuda(_)) => Weight::Device(codes.handle()),
            (DynamicFormat::Float8, tch::Device::Cuda(device)) => match (capability(device), &of.scale) {
                (Some(HOPPER..), Some(scale)) => {
                    let packed =
                        LtWeight::of_float8(codes.handle(), scale.handle(), bias.as_ref().map(Param::handle), kind);
                    packed.map_or_else(|| Weight::Device(codes.handle()), Weight::Lt)
                }
                (Some(ADA..), _) => Weight::Device(codes.handle()),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Self::new(of, format, weight, bias))
    }

    /// The same by libtorch's operators on floats, on any device.
    ///
    /// # Errors
    ///
    /// No memory.
    pub(super) fn composed(of: &Coded, format: DynamicFormat, bias: Option<&Tensor>) -> Result<Option<Self>> {
        let bias = bias.map(Param::copied).transpose()?;
        Ok(Self::new(of, format, Weight::Composed(of.codes.handle()), bias))
    }

    fn new(of: &Coded, format: DynamicFormat, weight: Weight, bias: Option<Param>) -> Option<Self> {
        Some(Self { format, weight, scale: of.scale.as_ref()?.handle(), bias })
    }

    pub(super) fn format(&self) -> DynamicFormat {
        self.format
    }

    /// Whether it is libtorch's operators that compute.
    pub(super) fn is_composed(&self) -> bool {
        matches!(self.weight, Weight::Composed(_))
    }

    /// The weight as it was packed.
    ///
    /// # Errors
    ///
    /// No memory.
    pub(super) fn coded(&self) -> Result<Coded> {
        let codes = match &self.weight {
            Weight::Host { product, .. } => product.codes()?,
            Weight::Lt(packed) => packed.weight().tensor().shallow_clone(),
            Weight::Device(codes) | Weight::Composed(codes) => codes.tensor().shallow_clone(),
        };
        Ok(Coded::of_parts(codes, Some(self.scale.tensor().shallow_clone()), None))
    }

    pub(super) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// `act(x wᵀ + b + other)` by one product, and what it does not apply behind it; none where there is no kernel for it. `sizes`
    /// are the result's, and those of `other`.
    ///
    /// # Errors
    ///
    /// What libtorch reports.
    pub(super) fn fused(
        &self,
        x: &Tensor,
        sizes: &[i64],
        other: Option<&Tensor>,
        (fused, rest): (LtActivation, Activation),
    ) -> Result<Option<Tensor>> {
        let Weight::Lt(packed) = &self.weight else { return Ok(None) };
        let other = other.map(matrix).transpose()?;
        let Some((rows, of_rows)) = quantized_rows(&matrix(x)?, self.bits(), 0)? else { return Ok(None) };
        match packed.run((&rows, Some(&of_rows)), other.as_ref(), fused)? {
            Some(y) => Ok(Some(rest.apply(y.f_reshape(sizes)?)?)),
            None => Ok(None),
        }
    }

    /// `x wᵀ + b` for `x` `[.., in]` of the dtype that the layer was packed for, which the result has too; `sizes` are the
    /// result's.
    ///
    /// # Errors
    ///
    /// What libtorch reports.
    pub(super) fn run(&self, x: &Tensor, sizes: &[i64]) -> Result<Tensor> {
        Ok(self.rows(&matrix(x)?)?.f_reshape(sizes)?)
    }

    fn rows(&self, x: &Tensor) -> Result<Tensor> {
        let out = self.scale.size()[0];
        if x.numel() == 0 {
            return Ok(Tensor::f_zeros([x.size()[0], out], (x.f_kind()?, x.device()))?);
        }
        match &self.weight {
            Weight::Host { product, sums } => {
                let of = Vec::<f32>::try_from(row_scales(x, self.bits())?)?.into_iter();
                let of: Vec<PerTensor> = of.map(|scale| PerTensor { scale, zero_point: MIDDLE }).collect();
                let codes = int8::quantize_rows(x, &of, Rounding::BeforeZero)?;
                let found = product.sums(&codes, out)?;
                Ok(int8::dequantize_sums(&found, &of, (sums, &self.scale, self.bias.as_deref()))?)
            }
            Weight::Device(codes) => match self.on_device(x, codes)? {
                Some(found) => Ok(found),
                None => self.by_floats(x, codes),
            },
            Weight::Lt(packed) => self.by_floats(x, packed.weight()),
            Weight::Composed(codes) => self.by_floats(x, codes),
        }
    }

    /// By the product of the device; none where a kernel does not take the rows.
    fn on_device(&self, x: &Tensor, codes: &Param) -> Result<Option<Tensor>> {
        let least = if self.format == DynamicFormat::Int8 { LEAST_DEVICE_ROWS } else { 0 };
        let Some((rows, of_rows)) = quantized_rows(x, self.bits(), least)? else { return Ok(None) };
        let weight = codes.f_tr()?;
        let sums = match self.format {
            DynamicFormat::Int8 => rows.f_internal_int_mm(&weight)?,
            DynamicFormat::Float8 => {
                let (one, none) = (Tensor::f_ones([], (Kind::Float, x.device()))?, None::<&Tensor>);
                rows.f_internal_scaled_mm(&weight, &one, &one, none, none, Kind::Float, true)?
            }
        };
        scaled_sums(&sums, [&of_rows, &self.scale], self.bias.as_deref(), x)
    }

    /// The same numbers, but for the order of sums, by operators on f32.
    fn by_floats(&self, x: &Tensor, codes: &Param) -> Result<Tensor> {
        let scale = row_scales(x, self.bits())?.f_unsqueeze(1)?;
        let largest = f64::from(self.bits().largest());
        let scaled = x.f_to_kind(Kind::Float)?.f_mul(&scale.f_reciprocal()?)?;
        let rounded = match self.format {
            DynamicFormat::Int8 => scaled.f_round()?.f_clamp(-largest, largest)?,
            DynamicFormat::Float8 => {
                scaled.f_clamp(-largest, largest)?.f_to_kind(Kind::Float8e4m3fn)?.f_to_kind(Kind::Float)?
            }
        };
        let sums = rounded.f_matmul(&codes.f_to_kind(Kind::Float)?.f_tr()?)?;
        let y = sums.f_mul(&scale.f_mul(self.scale.tensor())?)?;
        let y = match &self.bias {
            Some(bias) => y.f_add(&bias.f_to_kind(Kind::Float)?)?,
            None => y,
        };
        Ok(y.f_to_kind(x.f_kind()?)?)
    }

    /// What rows are rounded to.
    fn bits(&self) -> EightBits {
        match self.format {
            DynamicFormat::Int8 => EightBits::Int,
            DynamicFormat::Float8 => EightBits::Float,
        }
    }
}

/// The compute capabilities from which on there are products of floats of eight bits, and such with a scale for each row.
const ADA: i32 = 89;
const HOPPER: i32 = 90;

/// Tens are the major one.
fn capability(device: usize) -> Option<i32> {
    let [major, minor] = driver().and_then(|driver| driver.capability(device)).ok()?;
    Some(major * 10 + minor)
}

/// All rows, one behind the other.
fn matrix(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_reshape([-1, x.size().last().copied().unwrap_or(0)])?.f_contiguous()
}
