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
mod tests {
    use super::*;
    use crate::frame::Cpu;

    fn target(device: Device, kind: Kind) -> Target {
        let cpu = Cpu {
            onednn: OneDnnCall::Direct,
            bf16: true,
            f16: false,
            mkl: false,
            amx: Amx::Absent,
            vectors: VectorWidth::Baseline,
        };
        Target { device, kind, memory_format: MemoryFormat::ChannelsLast, backend: Backend::Best, cpu }
    }

    fn convolution(axes: usize, transposed: bool, act: Activation) -> ConvLayer {
        ConvLayer { axes, transposed, non_finite: false, act, tiles: false, pixels: None, apart: None }
    }

    fn linear(shape: [i64; 2], has_bias: bool, act: Activation) -> LinearLayer {
        LinearLayer { shape, has_bias, non_finite: false, shared: false, act, format: None, dynamic: None }
    }

    #[test]
    fn the_cpu_packs_what_onednn_computes() {
        for (kind, choices) in [
            (Kind::Float, &[ConvChoice::OneDnn, ConvChoice::Composed][..]),
            (Kind::BFloat16, &[ConvChoice::OneDnn, ConvChoice::Composed]),
            (Kind::Half, &[ConvChoice::Composed]),
            (Kind::Double, &[ConvChoice::Composed]),
            (Kind::Int64, &[ConvChoice::Composed]),
        ] {
            assert_eq!(target(Device::Cpu, kind).conv(convolution(2, false, Activation::Gelu)), choices, "{kind:?}");
        }
        let contiguous = Target { memory_format: MemoryFormat::Contiguous, ..target(Device::Cpu, Kind::Float) };
        assert_eq!(contiguous.conv(convolution(2, false, Activation::Relu)), [ConvChoice::Composed]);
    }

    #[test]
    fn mkl_comes_first_where_one_matrix_serves_every_pixel() {
        use ConvChoice::{Composed, Mkl, OneDnn};
        let amd = target(Device::Cpu, Kind::Float);
        let intel = Target { cpu: Cpu { mkl: true, ..amd.cpu }, ..amd };
        let of = |elements| ConvLayer { pixels: Some(elements), ..convolution(2, false, Activation::Relu) };
        let large = of(512 * 128);
        assert_eq!(intel.conv(large), [Mkl, OneDnn, Composed]);
        assert_eq!(intel.conv(of(64 * 256)), [OneDnn, Composed, Mkl]);
        assert_eq!(intel.conv(ConvLayer { non_finite: true, ..large }), [OneDnn, Composed]);
        assert_eq!(amd.conv(large), [OneDnn, Composed]);
        assert_eq!(Target { kind: Kind::BFloat16, ..intel }.conv(large), [OneDnn, Composed]);
        assert_eq!(Target { memory_format: MemoryFormat::Contiguous, ..intel }.conv(large), [Composed]);
    }

    #[test]
    fn winograd_comes_first_where_it_computes_the_layer() {
        use ConvChoice::{Composed, OneDnn, Winograd};
        let cpu = target(Device::Cpu, Kind::Float);
        for (tiles, choices) in [(true, &[Winograd, OneDnn, Composed][..]), (false, &[OneDnn, Composed])] {
            let layer = ConvLayer { tiles, ..convolution(2, false, Activation::Relu) };
            assert_eq!(cpu.conv(layer), choices, "{tiles}");
            assert_eq!(Target { backend: Backend::Direct, ..cpu }.conv(layer), [OneDnn, Composed]);
            assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.conv(layer), [OneDnn, Composed]);
        }
    }

    #[test]
    fn cuda_fuses_relu_in_two_dimensions() {
        use ConvChoice::{Composed, Cudnn, OnePass};
        let cuda = target(Device::Cuda(0), Kind::Half);
        assert_eq!(cuda.conv(convolution(2, false, Activation::Relu)), [Cudnn, OnePass, Composed]);
        for layer in [
            convolution(2, true, Activation::Relu),
            convolution(3, false, Activation::Relu),
            convolution(2, false, Activation::Silu),
        ] {
            assert_eq!(cuda.conv(layer), [OnePass, Composed], "{layer:?}");
        }
        let patches = ConvLayer { apart: Some(256), ..convolution(2, false, Activation::None) };
        assert_eq!(cuda.conv(patches), [ConvChoice::Lt, OnePass, Composed]);
        let pixels = ConvLayer { apart: Some(1), ..convolution(2, false, Activation::Relu) };
        assert_eq!(cuda.conv(pixels), [Cudnn, OnePass, Composed, ConvChoice::Lt]);
        assert_eq!(target(Device::Cuda(0), Kind::Float).conv(patches), [OnePass, Composed]);
        let double = target(Device::Cuda(0), Kind::Double);
        assert_eq!(double.conv(convolution(2, false, Activation::Relu)), [Composed]);
    }

    #[test]
    fn integers_serve_what_is_large_and_falls_into_groups() {
        use LinearChoice::{Coded, Composed, Dequantized};
        let cpu = target(Device::Cpu, Kind::Float);
        let format = WeightFormat::Int4 { group: 128 };
        let of = |shape| LinearLayer { format: Some(format), ..linear(shape, true, Activation::None) };
        assert_eq!(cpu.linear(of([768, 512]), None), [Coded(format), Dequantized(format)]);
        assert_eq!(cpu.linear(of([1024, 64]), None), [LinearChoice::OneDnn, Composed], "64 is no group");
        assert_eq!(cpu.linear(of([128, 128]), None), [LinearChoice::OneDnn, Composed], "a small weight");
        let composed = Target { backend: Backend::Composed, ..cpu };
        assert_eq!(composed.linear(of([768, 512]), None), [Dequantized(format)]);
        assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.linear(of([768, 512]), None), [Dequantized(format)]);
        let cuda = target(Device::Cuda(0), Kind::Half);
        assert_eq!(cuda.linear(of([768, 512]), None), [Coded(format), Dequantized(format)]);
        let short = LinearLayer { format: Some(WeightFormat::Float8), ..of([768, 512]) };
        assert_eq!(cuda.linear(short, None), [Dequantized(WeightFormat::Float8)]);
    }

    #[test]
    fn products_of_eight_bits_by_device_and_shape() {
        use LinearChoice::{Dynamic, Simulated};
        let (cpu, cuda) = (target(Device::Cpu, Kind::Float), target(Device::Cuda(0), Kind::BFloat16));
        for format in [DynamicFormat::Int8, DynamicFormat::Float8] {
            let of = |shape| LinearLayer { dynamic: Some(format), ..linear(shape, true, Activation::Relu) };
            let (fast, simulated) = (vec![Dynamic(format), Simulated(format)], vec![Simulated(format)]);
            let on_cpu = if format == DynamicFormat::Int8 { &fast } else { &simulated };
            assert_eq!(cpu.linear(of([768, 512]), None), *on_cpu);
            assert_eq!(cuda.linear(of([4096, 1024]), None), fast);
            assert_eq!(Target { backend: Backend::Composed, ..cuda }.linear(of([4096, 1024]), None), simulated);
            assert!(!cuda.linear(of([768, 512]), None).contains(&Dynamic(format)), "a small weight on a GPU");
            assert_eq!(Target { kind: Kind::BFloat16, ..cpu }.linear(of([768, 512]), None), simulated);
            for shape in [[128, 128], [770, 512], [768, 520]] {
                assert!(cpu.linear(of(shape), None).iter().all(|choice| !matches!(choice, Dynamic(_) | Simulated(_))));
            }
        }
    }

    #[test]
    fn linear_layers_by_size_and_device() {
        use LinearChoice::{Composed, Mkl, OneDnn};
        let cpu = target(Device::Cpu, Kind::Float);
        let (usual, large) = (Rows::USUAL, linear([1000, 512], true, Activation::Gelu));
        assert_eq!(cpu.linear(large, None), [OneDnn, Composed]);
        assert_eq!(cpu.linear(linear([64, 64], true, Activation::Relu), None), [Composed, OneDnn]);
        let intel = Target { cpu: Cpu { mkl: true, ..cpu.cpu }, ..cpu };
        assert_eq!(intel.linear(large, None), [Mkl(usual), OneDnn, Composed]);
        assert_eq!(intel.linear(large, Some(Rows(10))), [Mkl(usual), OneDnn, Composed, Mkl(Rows(10))]);
        assert_eq!(intel.linear(LinearLayer { non_finite: true, ..large }, Some(Rows(10))), [OneDnn, Composed]);
        assert_eq!(intel.linear(LinearLayer { shared: true, ..large }, Some(Rows(10))), [Composed]);
        assert_eq!(intel.linear(linear([8, 8], true, Activation::Relu), None), [Composed, Mkl(usual), OneDnn]);
        let tiles = Target { cpu: Cpu { amx: Amx::Own, ..intel.cpu }, ..intel };
        assert_eq!(tiles.linear(large, None), [LinearChoice::Amx, Mkl(usual), OneDnn, Composed]);
        assert_eq!(
            tiles.linear(linear([8, 8], true, Activation::Relu), None),
            [Composed, Mkl(usual), LinearChoice::Amx, OneDnn]
        );
        assert_eq!(tiles.linear(LinearLayer { shared: true, ..large }, None), [Composed]);
        let strangers = Target { cpu: Cpu { amx: Amx::Shared, ..tiles.cpu }, ..tiles };
        assert_eq!(strangers.linear(large, None), [Mkl(usual), OneDnn, Composed, LinearChoice::Amx]);
        for other in [Target { backend: Backend::Direct, ..tiles }, Target { kind: Kind::Double, ..tiles }] {
            assert!(!other.linear(large, None).contains(&LinearChoice::Amx), "{other:?}");
        }
        let half = Target { kind: Kind::BFloat16, ..intel };
        assert_eq!(half.linear(large, Some(Rows(10))), [OneDnn, Composed]);
    }

    #[test]
    fn cuda_fuses_what_follows_a_linear_layer() {
        use LinearChoice::{Composed, CublasLt, Lt};
        let half = target(Device::Cuda(1), Kind::BFloat16);
        let relu = linear([8, 8], true, Activation::Relu);
        assert_eq!(half.linear(relu, None), [Lt(0), CublasLt, Composed, Lt(1), Lt(2), Lt(3)]);
        let of = |act| LinearLayer { act, ..relu };
        assert_eq!(half.linear(of(Activation::Gelu), None), [Lt(0), Composed, Lt(1), Lt(2), Lt(3)]);
        let float = Target { kind: Kind::Float, ..half };
        assert_eq!(float.linear(of(Activation::GeluTanh), None), [CublasLt, Composed]);
        assert_eq!(float.linear(LinearLayer { has_bias: false, ..relu }, None), [Composed]);
    }

    #[test]
    fn small_weights_stay_off_the_team_of_threads() {
        use LinearChoice::{Composed, Dots, Mkl, OneDnn};
        let cpu = Cpu { vectors: VectorWidth::Avx512, ..target(Device::Cpu, Kind::Float).cpu };
        let amd = Target { cpu, ..target(Device::Cpu, Kind::Float) };
        let of = |shape| linear(shape, true, Activation::None);
        assert_eq!(amd.linear(of([10, 512]), None), [Dots, Composed, OneDnn]);
        assert_eq!(amd.linear(of([128, 128]), None), [OneDnn, Composed, Dots]);
        assert_eq!(Target { kind: Kind::BFloat16, ..amd }.linear(of([10, 512]), None), [Composed, OneDnn]);
        let intel = Target { cpu: Cpu { mkl: true, ..cpu }, ..amd };
        assert_eq!(intel.linear(of([10, 512]), None), [Composed, Mkl(Rows::USUAL), OneDnn, Dots]);
        let by_operators = Target { cpu: Cpu { onednn: OneDnnCall::Operator, ..cpu }, ..amd };
        assert_eq!(by_operators.linear(of([128, 128]), None), [Composed, OneDnn, Dots]);
        assert_eq!(by_operators.linear(of([1000, 512]), None), [OneDnn, Composed, Dots]);
    }

    #[test]
    fn a_shared_weight_stays_as_it_lies() {
        use LinearChoice::{Composed, Dots, OneDnn};
        let cpu = target(Device::Cpu, Kind::Float);
        let wide = Target { cpu: Cpu { vectors: VectorWidth::Avx2, mkl: true, amx: Amx::Own, ..cpu.cpu }, ..cpu };
        let table = LinearLayer { shared: true, ..linear([50257, 768], false, Activation::None) };
        assert_eq!(wide.linear(table, None), [Dots, Composed]);
        assert_eq!(wide.linear(LinearLayer { non_finite: true, ..table }, None), [Dots, Composed]);
        assert_eq!(wide.linear(LinearLayer { shape: [50257, 770], ..table }, None), [Composed]);
        assert_eq!(wide.linear(LinearLayer { shape: [64, 64], ..table }, None), [Composed, Dots]);
        assert_eq!(wide.linear(LinearLayer { shared: false, ..table }, None).last(), Some(&Dots));
        assert_eq!(cpu.linear(table, None), [Composed]);
        assert_eq!(Target { kind: Kind::BFloat16, ..wide }.linear(table, None), [Composed]);
        assert_eq!(Target { device: Device::Cuda(0), ..wide }.linear(table, None), [Composed]);
        let alone = Target { cpu: Cpu { vectors: VectorWidth::Avx512, ..cpu.cpu }, ..cpu };
        assert_eq!(alone.linear(LinearLayer { shared: false, ..table }, None), [OneDnn, Composed, Dots]);
    }

    #[test]
    fn composed_means_composed() {
        let cpu = Cpu {
            onednn: OneDnnCall::Direct,
            bf16: true,
            f16: true,
            mkl: true,
            amx: Amx::Own,
            vectors: VectorWidth::Avx512,
        };
        let target = Target { backend: Backend::Composed, cpu, ..target(Device::Cpu, Kind::Float) };
        let small = ConvLayer { tiles: true, ..convolution(2, false, Activation::Relu) };
        assert_eq!(target.conv(small), [ConvChoice::Composed]);
        assert_eq!(
            target.linear(linear([1024, 1024], true, Activation::Relu), Some(Rows(1))),
            [LinearChoice::Composed]
        );
    }
}
