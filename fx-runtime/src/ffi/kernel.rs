//! A CUDA C kernel that was compiled while the program runs; [`crate::cuda`] compiles it.

use std::fmt;

use tch::Tensor;

use super::driver::{Loaded, Word};
use crate::{Error, Result};

/// A kernel on a device. Launches from any thread go to the stream that libtorch uses there.
pub struct CudaKernel {
    name: String,
    loaded: Loaded,
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum KernelArg<'a> {
    /// The address of the first element: `const float*`, `__half*`, and so on.
    Tensor(&'a Tensor),
    /// `int`.
    Int(i32),
    /// `long long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
}

impl KernelArg<'_> {
    /// A size that the kernel counts in 32 bits.
    pub(crate) fn int(number: i64) -> Self {
        Self::Int(i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// A number of elements.
    pub(crate) fn count(number: usize) -> Self {
        Self::Long(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn word(&self) -> Word {
        match *self {
            Self::Tensor(tensor) => Word::Eight(tensor.data_ptr() as u64),
            Self::Int(number) => Word::Four(number.cast_unsigned()),
            Self::Long(number) => Word::Eight(number.cast_unsigned()),
            Self::Float(number) => Word::Four(number.to_bits()),
            Self::Double(number) => Word::Eight(number.to_bits()),
        }
    }
}

impl CudaKernel {
    /// The kernel `name` of a piece of machine code.
    pub(crate) fn load(device: usize, name: &str, cubin: &[u8]) -> Result<Self, String> {
        Ok(Self { name: name.to_owned(), loaded: Loaded::new(device, name, cubin)? })
    }

    /// Launches the kernel: `grid` blocks of `block` threads with `shared_bytes` of dynamic shared memory.
    ///
    /// It returns when the kernel is queued, not when it has run. Tensors that are dropped meanwhile are safe: libtorch
    /// gives their memory to later work of the same stream alone.
    ///
    /// # Errors
    ///
    /// What the driver refuses: too many threads in a block, say.
    ///
    /// # Safety
    ///
    /// The kernel takes these arguments in this order, reads and writes inside the tensors alone that it is given, and
    /// no other thread uses those that it writes.
    pub unsafe fn launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &[KernelArg<'_>],
    ) -> Result<()> {
        let words: Vec<Word> = arguments.iter().map(KernelArg::word).collect();
        // SAFETY: this function's contract is that one's.
        let launched = unsafe { self.loaded.launch(grid, block, shared_bytes, &words) };
        launched.map_err(|reason| Error::Cuda { what: format!("launching the kernel `{}`", self.name), reason })
    }
}

impl fmt::Debug for CudaKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaKernel({})", self.name)
    }
}
