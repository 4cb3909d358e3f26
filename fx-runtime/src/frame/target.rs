//! What kernels are chosen for: device, dtype, memory format, and what this CPU can do.

use tch::{Device, Kind};

use crate::ffi::{self, Amx, VectorWidth, ops};
use crate::{Backend, MemoryFormat};

/// What is known about a layer when it is packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) device: Device,
    pub(crate) kind: Kind,
    pub(crate) memory_format: MemoryFormat,
    pub(crate) backend: Backend,
    pub(crate) cpu: Cpu,
}

/// How oneDNN is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OneDnnCall {
    /// Its own functions are called.
    Direct,
    /// Through libtorch's operators.
    Operator,
}

/// What the CPU's kernels can do besides oneDNN in f32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    /// How oneDNN is reached.
    pub(crate) onednn: OneDnnCall,
    /// oneDNN computes in bf16.
    pub(crate) bf16: bool,
    /// oneDNN computes in f16.
    pub(crate) f16: bool,
    /// MKL multiplies with packed weights, and is at home on this CPU.
    pub(crate) mkl: bool,
    /// Its tile registers, of which products of f32 are made.
    pub(crate) amx: Amx,
    /// Its registers that kernels of ours are compiled for.
    pub(crate) vectors: VectorWidth,
}

impl Cpu {
    pub(crate) fn of_this_machine() -> Self {
        Self {
            onednn: if ffi::onednn::release().is_ok() { OneDnnCall::Direct } else { OneDnnCall::Operator },
            bf16: ops::onednn_has_bf16(),
            f16: ops::onednn_has_f16(),
            mkl: ffi::mkl_is_available(),
            amx: Amx::of_this_machine(),
            vectors: ffi::lanes_width(),
        }
    }
}
