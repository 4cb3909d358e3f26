//! Which kernel serves a layer: a pure function of what is known at freeze time, so that choices for devices that are
//! not there can be tested.

use tch::{Device, Kind};

use super::Act;
use crate::ffi::ops;
use crate::{Backend, MemoryFormat};

/// Weights with fewer elements than this stay with ATen's matrix product, because oneDNN's call costs 10 to 15 µs more.
///
/// Measured in f32 on two cores with AVX-512 (Zen 5), from 64² to 3072 × 768: with 10 and 128 rows packed weights win
/// from 256² on, up to 2.4 times; with one row they lose up to 7 µs at 384² and win from 512 × 1000 on.
const PACKED_LINEAR_FROM: i64 = 1 << 17;

/// MKL's call costs no more than ATen's; its block has megabytes of addresses, which small weights are not worth.
const MKL_LINEAR_FROM: i64 = 1 << 14;

/// What is known about a layer when it is packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) device: Device,
    pub(super) kind: Kind,
    pub(super) memory_format: MemoryFormat,
    pub(super) backend: Backend,
    pub(super) cpu: Cpu,
}

/// What the CPU's kernels can do besides oneDNN in f32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    /// oneDNN computes in bf16.
    pub(super) bf16: bool,
    /// oneDNN computes in f16.
    pub(super) f16: bool,
    /// MKL multiplies with packed weights, and is at home on this CPU.
    pub(super) mkl: bool,
}

impl Cpu {
    pub(super) fn of_this_machine() -> Self {
        Self { bf16: ops::onednn_has_bf16(), f16: ops::onednn_has_f16(), mkl: crate::ffi::mkl_is_available() }
    }
}

/// Kernels of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConvChoice {
    /// oneDNN, packed weight, everything fused.
    OneDnn,
    /// cuDNN with relu fused.
    Cudnn,
    /// ATen's convolution, then the rest.
    Composed,
}

/// Kernels of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinearChoice {
    /// MKL, packed weight, then bias, addition and activation in one pass.
    Mkl,
    /// oneDNN, packed weight, activation or addition fused.
    OneDnn,
    /// cuBLAS with bias and activation fused.
    CublasLt,
    /// ATen's linear, then the rest.
    Composed,
}

impl Site {
    fn onednn(&self) -> bool {
        self.device == Device::Cpu
            && match self.kind {
                Kind::Float => true,
                Kind::BFloat16 => self.cpu.bf16,
                Kind::Half => self.cpu.f16,
                _ => false,
            }
    }

    fn mkl(&self) -> bool {
        self.device == Device::Cpu && self.kind == Kind::Float && self.cpu.mkl
    }

    fn on_cuda(&self) -> bool {
        matches!(self.device, Device::Cuda(_)) && matches!(self.kind, Kind::Float | Kind::Half | Kind::BFloat16)
    }

    /// For a convolution over `axes` spatial axes.
    pub(super) fn conv(&self, axes: usize, transposed: bool, act: Act) -> ConvChoice {
        match self.backend {
            Backend::Composed => ConvChoice::Composed,
            _ if self.onednn() && self.memory_format == MemoryFormat::ChannelsLast => ConvChoice::OneDnn,
            _ if self.on_cuda() && axes == 2 && !transposed && act == Act::Relu => ConvChoice::Cudnn,
            _ => ConvChoice::Composed,
        }
    }

    /// Whether a convolution that oneDNN computes may take Winograd's algorithm instead.
    pub(super) fn winograd(&self) -> bool {
        self.backend == Backend::Best && self.kind == Kind::Float
    }

    /// For a linear layer with a weight of so many elements; `tainted` if some weight of the model is not finite.
    pub(super) fn linear(&self, elements: i64, has_bias: bool, tainted: bool, act: Act) -> LinearChoice {
        match self.backend {
            Backend::Composed => LinearChoice::Composed,
            // A weight that is not finite could not be unpacked again.
            _ if self.mkl() && !tainted && elements >= MKL_LINEAR_FROM => LinearChoice::Mkl,
            _ if self.onednn() && elements >= PACKED_LINEAR_FROM => LinearChoice::OneDnn,
            // cuBLASLt's GELU is the tanh approximation.
            Backend::Best | Backend::Direct
                if self.on_cuda() && has_bias && matches!(act, Act::Relu | Act::GeluTanh) =>
            {
                LinearChoice::CublasLt
            }
            _ => LinearChoice::Composed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(device: Device, kind: Kind) -> Site {
        let cpu = Cpu { bf16: true, f16: false, mkl: false };
        Site { device, kind, memory_format: MemoryFormat::ChannelsLast, backend: Backend::Best, cpu }
    }

    #[test]
    fn the_cpu_packs_what_onednn_computes() {
        for (kind, choice) in [
            (Kind::Float, ConvChoice::OneDnn),
            (Kind::BFloat16, ConvChoice::OneDnn),
            (Kind::Half, ConvChoice::Composed),
            (Kind::Double, ConvChoice::Composed),
            (Kind::Int64, ConvChoice::Composed),
        ] {
            assert_eq!(site(Device::Cpu, kind).conv(2, false, Act::Gelu), choice, "{kind:?}");
        }
        let contiguous = Site { memory_format: MemoryFormat::Contiguous, ..site(Device::Cpu, Kind::Float) };
        assert_eq!(contiguous.conv(2, false, Act::Relu), ConvChoice::Composed);
    }

    #[test]
    fn cuda_fuses_relu_in_two_dimensions() {
        let cuda = site(Device::Cuda(0), Kind::Half);
        assert_eq!(cuda.conv(2, false, Act::Relu), ConvChoice::Cudnn);
        assert_eq!(cuda.conv(2, true, Act::Relu), ConvChoice::Composed);
        assert_eq!(cuda.conv(3, false, Act::Relu), ConvChoice::Composed);
        assert_eq!(cuda.conv(2, false, Act::Silu), ConvChoice::Composed);
        assert_eq!(site(Device::Cuda(0), Kind::Double).conv(2, false, Act::Relu), ConvChoice::Composed);
    }

    #[test]
    fn linear_layers_by_size_and_device() {
        let (cpu, cuda) = (site(Device::Cpu, Kind::Float), site(Device::Cuda(1), Kind::BFloat16));
        assert_eq!(cpu.linear(512 * 1000, true, false, Act::None), LinearChoice::OneDnn);
        assert_eq!(cpu.linear(64 * 64, true, false, Act::Relu), LinearChoice::Composed);
        let intel = Site { cpu: Cpu { mkl: true, ..cpu.cpu }, ..cpu };
        assert_eq!(intel.linear(512 * 1000, true, false, Act::Gelu), LinearChoice::Mkl);
        assert_eq!(intel.linear(512 * 1000, true, true, Act::Gelu), LinearChoice::OneDnn);
        assert_eq!(intel.linear(64, true, false, Act::Relu), LinearChoice::Composed);
        let half = Site { kind: Kind::BFloat16, ..intel };
        assert_eq!(half.linear(512 * 1000, true, false, Act::None), LinearChoice::OneDnn);
        assert_eq!(cuda.linear(64, true, false, Act::GeluTanh), LinearChoice::CublasLt);
        assert_eq!(cuda.linear(64, true, false, Act::Gelu), LinearChoice::Composed);
        assert_eq!(cuda.linear(64, false, false, Act::Relu), LinearChoice::Composed);
    }

    #[test]
    fn composed_means_composed() {
        let site = Site { backend: Backend::Composed, ..site(Device::Cpu, Kind::Float) };
        assert_eq!(site.conv(2, false, Act::Relu), ConvChoice::Composed);
        assert_eq!(site.linear(1 << 20, true, false, Act::Relu), LinearChoice::Composed);
    }
}
