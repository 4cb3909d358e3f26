//! Which kernels can serve a layer, best first: a pure function of what is known about it, so that choices for devices
//! that are not there can be tested. The first serves it, unless measuring (`tune.rs`) is asked for and finds another.

mod names;

use tch::{Device, Kind};

use super::Activation;
use crate::ffi::{Amx, UnpackedWeight, VectorWidth};
use crate::frame::{OneDnnCall, Target};
use crate::qparams::{DynamicFormat, WeightFormat};
use crate::{Backend, MemoryFormat};

/// Smaller weights are multiplied by sums along their rows, for which no team of threads is opened, where MKL is not at home.
///
/// Measured in f32 on one core and on two with AVX-512 (Zen 5), with 1 to 128 rows. 10 × 512: the sums take 0.35 to 0.56 of
/// ATen's time, oneDNN 0.32 to 1.25. From 128² to 2048² oneDNN takes 0.19 to 0.95, and less than the sums throughout.
const ONEDNN_LINEAR_FROM: i64 = 1 << 13;

/// The same where oneDNN is reached through libtorch's operator, whose call costs 8 to 10 µs.
///
/// Measured on the same machine with two cores: with 10 and 128 rows it wins from 256² on, up to 2.4 times; with one row
/// it loses up to 7 µs at 384² and wins from 512 × 1000 on.
const SHIM_LINEAR_FROM: i64 = 1 << 17;

/// MKL's call costs no more than ATen's; its block has megabytes of addresses, which small weights are not worth.
const MKL_LINEAR_FROM: i64 = 1 << 14;

/// Windows of one pixel over fewer channels stay with oneDNN, which has nothing to do behind the product.
///
/// Measured in f32 on two cores (Sapphire Rapids), images of 7×7 to 56×56: with 128 × 512 channels and more MKL takes
/// 0.8 to 0.95 of the time, below it takes longer.
const MKL_PIXELS_FROM: i64 = 1 << 16;

/// Smaller weights are not worth the way to the tiles.
///
/// Measured on two cores (Sapphire Rapids) with 128 rows.
const AMX_FROM: i64 = 1 << 16;

/// Smaller weights stay in floats: all of them together are not worth what they lose as integers.
const CODED_FROM: i64 = 1 << 16;

/// On GPUs smaller weights are multiplied in the model's own dtype: to round the rows takes longer than it saves.
///
/// Measured in f16 (H200): BERT with 32 texts of 128 tokens (768 × 768 to 768 × 3072) takes 1.17 of its time with floats of eight
/// bits, layers of 4096 × 11008 with 512 rows 0.69 of it, with 4096 rows 0.54.
const DYNAMIC_FROM_ON_CUDA: i64 = 1 << 22;

/// Sides of a weight that is multiplied in eight bits are multiples of this, which libtorch's `_scaled_mm` asks for.
const DYNAMIC_SIDES: i64 = 16;

/// ATen's call is as fast for smaller weights.
///
/// Measured on two cores (Sapphire Rapids) with 1 and 128 rows.
const DOTS_FROM: i64 = 1 << 16;

/// Kernels of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConvChoice {
    /// For windows of one pixel: MKL, packed weight, then bias, addition and activation in one pass.
    Mkl,
    /// oneDNN, packed weight, everything fused.
    OneDnn,
    /// Winograd's algorithm where it pays for the input, else oneDNN.
    Winograd,
    /// For windows that do not overlap: cuBLASLt, everything fused.
    Lt,
    /// cuDNN with relu fused.
    Cudnn,
    /// ATen's convolution without a bias, then bias, addition and activation in one pass.
    OnePass,
    /// ATen's convolution, then the rest.
    Composed,
}

/// Kernels of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinearChoice {
    /// The product on tile registers, then bias, addition and activation, block by block.
    Amx,
    /// MKL, packed weight, then bias, addition and activation in one pass.
    Mkl(Rows),
    /// Sums along rows of the weight, which stays as it lies, then bias, addition and activation, block by block.
    Dots,
    /// oneDNN, packed weight, activation or addition fused.
    OneDnn,
    /// cuBLASLt, bias, addition and activation fused, by the kernel that it proposes at this place.
    Lt(u8),
    /// cuBLASLt through libtorch, with bias and activation fused.
    CublasLt,
    /// ATen's linear, then the rest.
    Composed,
    /// Sums along rows of integers, then bias, addition and activation, block by block; on a GPU of few rows.
    Coded(WeightFormat),
    /// The integers brought into floats in each call, then ATen's linear and the rest.
    Dequantized(WeightFormat),
    /// The rows rounded to eight bits, then the device's product of eight bits and the rest.
    Dynamic(DynamicFormat),
    /// The same numbers by ATen's operators on floats.
    Simulated(DynamicFormat),
}

/// For how many rows MKL packs a weight: a hint, any number of rows can be multiplied with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows(pub(super) u16);

impl Rows {
    /// What is not known when a model is frozen.
    ///
    /// Measured for 1 to 2048 rows on two cores (Sapphire Rapids): packed for 256, products of 197 rows take 0.87 to
    /// 0.92 of the time that they take packed for 128, and no number of rows takes longer.
    pub(super) const USUAL: Self = Self(256);
    /// More rows than this want no other layout: packed for 1024, some weights are multiplied by one thread alone.
    const MOST: u16 = 512;

    /// The hint for an input of so many rows.
    pub(super) fn of(rows: i64) -> Self {
        Self(u16::try_from(rows).map_or(Self::MOST, |rows| rows.clamp(1, Self::MOST)))
    }
}

/// What is known about a convolution.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConvLayer {
    /// Number of spatial axes.
    pub(super) axes: usize,
    pub(super) transposed: bool,
    /// Some weight of the model is not finite.
    pub(super) non_finite: bool,
    pub(super) act: Activation,
    /// Winograd's algorithm computes it.
    pub(super) tiles: bool,
    /// Elements of the matrix that each pixel is multiplied with, where the windows are of one pixel.
    pub(super) pixels: Option<i64>,
    /// Pixels of a window, where windows stand side by side.
    pub(super) apart: Option<i64>,
}

/// What is known about a linear layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearLayer {
    /// Of the weight, `[out, in]`.
    pub(super) shape: [i64; 2],
    pub(super) has_bias: bool,
    /// Some weight of the model is not finite.
    pub(super) non_finite: bool,
    /// Another layer holds the weight as it is, so that it would lie in memory twice if it were packed.
    pub(super) shared: bool,
    pub(super) act: Activation,
    /// How the model's weights are to be kept, if in fewer bits.
    pub(super) format: Option<WeightFormat>,
    /// How it is to multiply in eight bits, if it is.
    pub(super) dynamic: Option<DynamicFormat>,
}

impl LinearLayer {
    /// What the weight becomes; none of a small one, or one that does not fall into groups.
    pub(super) fn coded(&self) -> Option<WeightFormat> {
        self.format.filter(|format| is_coded(*format, self.shape))
    }

    /// Returns whether it computes with fewer bits than the model's dtype.
    pub(super) fn is_quantized(&self, device: Device) -> bool {
        self.coded().is_some() || self.dynamic(device).is_some()
    }

    /// How it multiplies in eight bits; not with a small weight, or one whose sides are no whole loads.
    pub(super) fn dynamic(&self, device: Device) -> Option<DynamicFormat> {
        let is_whole = self.shape.iter().all(|side| side % DYNAMIC_SIDES == 0);
        let from = if device == Device::Cpu { CODED_FROM } else { DYNAMIC_FROM_ON_CUDA };
        self.dynamic.filter(|_| is_whole && self.shape[0] * self.shape[1] >= from)
    }
}

/// Returns whether a matrix `[rows, columns]` is kept as integers where the model's weights are: not a small one, and not one
/// whose rows do not fall into groups.
pub(super) fn is_coded(format: WeightFormat, [rows, columns]: [i64; 2]) -> bool {
    rows * columns >= CODED_FROM && format.takes(columns)
}

impl Target {
    fn onednn(&self) -> bool {
        self.device == Device::Cpu
            && match self.kind {
                Kind::Float => true,
                Kind::BFloat16 => self.cpu.bf16,
                Kind::Half => self.cpu.f16,
                _ => false,
            }
    }

    fn f32_on_the_cpu(&self) -> bool {
        self.device == Device::Cpu && self.kind == Kind::Float
    }

    fn mkl(&self) -> bool {
        self.f32_on_the_cpu() && self.cpu.mkl
    }

    fn amx(&self) -> bool {
        self.f32_on_the_cpu() && self.cpu.amx != Amx::Absent && self.backend == Backend::Best
    }

    fn dots(&self) -> bool {
        self.f32_on_the_cpu() && self.cpu.vectors > VectorWidth::Baseline
    }

    fn on_cuda(&self) -> bool {
        matches!(self.device, Device::Cuda(_)) && matches!(self.kind, Kind::Float | Kind::Half | Kind::BFloat16)
    }

    /// Whether products go to cuBLASLt directly. Not in f32, where libtorch's switches say how exact a product is.
    fn lt(&self) -> bool {
        self.on_cuda() && self.kind != Kind::Float
    }

    /// The kernels that can compute a convolution: the first without a look at its inputs, the others where measuring
    /// says so.
    pub(super) fn conv(&self, layer: ConvLayer) -> Vec<ConvChoice> {
        if self.backend == Backend::Composed {
            return vec![ConvChoice::Composed];
        }
        let ConvLayer { axes, transposed, non_finite, act, tiles, pixels, apart } = layer;
        let channels_last = self.memory_format == MemoryFormat::ChannelsLast;
        let packs = self.onednn() && channels_last;
        // A weight that is not finite could not be unpacked again.
        let elements = pixels.filter(|_| self.mkl() && channels_last && !non_finite);
        let lt = self.lt() && channels_last;
        let tiles = tiles && self.backend == Backend::Best && self.kind == Kind::Float;
        those_of(&[
            (ConvChoice::Mkl, elements.is_some_and(|elements| elements >= MKL_PIXELS_FROM)),
            (ConvChoice::Winograd, packs && tiles),
            (ConvChoice::OneDnn, packs),
            (ConvChoice::Lt, lt && apart.is_some_and(|pixels| pixels > 1)),
            (ConvChoice::Cudnn, self.on_cuda() && axes == 2 && !transposed && act == Activation::Relu),
            (ConvChoice::OnePass, self.on_cuda()),
            (ConvChoice::Composed, true),
            (ConvChoice::Mkl, elements.is_some()),
            (ConvChoice::Lt, lt && apart.is_some()),
        ])
    }

    /// The kernels that can compute a linear layer: the first without a look at its inputs, the others where measuring
    /// says so, for inputs of so many rows.
    pub(super) fn linear(&self, layer: LinearLayer, rows: Option<Rows>) -> Vec<LinearChoice> {
        if let Some(format) = layer.dynamic(self.device) {
            let is_host = self.f32_on_the_cpu() && format == DynamicFormat::Int8;
            let fast = (is_host || self.on_cuda()) && self.backend != Backend::Composed;
            return those_of(&[(LinearChoice::Dynamic(format), fast), (LinearChoice::Simulated(format), true)]);
        }
        if let Some(format) = layer.coded() {
            let is_integers = matches!(format, WeightFormat::Int8 | WeightFormat::Int4 { .. });
            let on_host = self.f32_on_the_cpu() && format != WeightFormat::Float8;
            let fast = (on_host || self.on_cuda() && is_integers) && self.backend != Backend::Composed;
            return those_of(&[(LinearChoice::Coded(format), fast), (LinearChoice::Dequantized(format), true)]);
        }
        if self.backend == Backend::Composed {
            return vec![LinearChoice::Composed];
        }
        let LinearLayer { shape, has_bias, non_finite, shared, act, format: _, dynamic: _ } = layer;
        let elements = shape[0] * shape[1];
        // A weight that is not finite could not be unpacked again.
        let mkl = self.mkl() && !non_finite && !shared;
        let amx = self.amx() && !non_finite && !shared;
        let onednn = self.onednn() && !shared;
        let onednn_from = match self.cpu.onednn {
            OneDnnCall::Direct => ONEDNN_LINEAR_FROM,
            OneDnnCall::Operator => SHIM_LINEAR_FROM,
        };
        let dots = self.dots() && UnpackedWeight::takes(shape);
        let lt = self.lt();
        // cuBLASLt's GELU is the tanh approximation.
        let cublas = self.on_cuda() && has_bias && matches!(act, Activation::Relu | Activation::GeluTanh);
        those_of(&[
            (LinearChoice::Amx, amx && self.cpu.amx == Amx::Own && elements >= AMX_FROM),
            (LinearChoice::Mkl(Rows::USUAL), mkl && elements >= MKL_LINEAR_FROM),
            (LinearChoice::Dots, dots && shared && elements >= DOTS_FROM),
            (LinearChoice::OneDnn, onednn && elements >= onednn_from),
            (LinearChoice::Dots, dots && !shared && !self.cpu.mkl && elements < ONEDNN_LINEAR_FROM),
            (LinearChoice::Lt(0), lt),
            (LinearChoice::CublasLt, cublas),
            (LinearChoice::Composed, true),
            (LinearChoice::Mkl(rows.unwrap_or(Rows::USUAL)), mkl),
            (LinearChoice::Mkl(Rows::USUAL), mkl),
            (LinearChoice::Amx, amx),
            (LinearChoice::OneDnn, onednn),
            (LinearChoice::Dots, dots),
            (LinearChoice::Lt(1), lt),
            (LinearChoice::Lt(2), lt),
            (LinearChoice::Lt(3), lt),
        ])
    }
}

/// The kernels for which the condition holds, each once, best first.
fn those_of<C: Copy + PartialEq>(kernels: &[(C, bool)]) -> Vec<C> {
    let mut all = Vec::with_capacity(kernels.len());
    for &(kernel, holds) in kernels {
        if holds && !all.contains(&kernel) {
            all.push(kernel);
        }
    }
    all
}

#[cfg(test)]
mod tests;
