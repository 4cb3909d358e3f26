//! Floats of 16 bits.

use tch::{Device, Kind, TchError, Tensor};

use super::super::buffer::Buffer;
use super::super::epilogue::Epilogue;
use super::super::lanes::Lanes;
use super::super::operands::{Operands, WeightMatrix};
use super::{Codes, STEP, Stored, copied, has_registers, sums_of};

/// A weight `[out, in]` of f16 or bf16, row by row.
#[derive(Debug)]
pub(crate) struct ShortWeight {
    numbers: Buffer,
    format: Short,
    out: usize,
    depth: usize,
}

#[derive(Debug, Clone, Copy)]
enum Short {
    F16,
    Bf16,
}

impl ShortWeight {
    /// Copies a weight `[out, in]` of f16 or bf16; none where this machine has no registers for it, or rows do not fill these.
    ///
    /// # Errors
    ///
    /// Too little memory.
    pub(crate) fn new(weight: &Tensor) -> Result<Option<Self>, TchError> {
        let shape = <[i64; 2]>::try_from(weight.size()).unwrap_or_default();
        let [out, depth] = shape.map(|size| usize::try_from(size).unwrap_or(0));
        let format = match weight.f_kind()? {
            Kind::Half if converts() => Short::F16,
            Kind::BFloat16 => Short::Bf16,
            _ => return Ok(None),
        };
        if !has_registers() || out == 0 || depth == 0 || !depth.is_multiple_of(STEP) {
            return Ok(None);
        }
        Ok(Some(Self { numbers: copied(weight)?, format, out, depth }))
    }

    /// The weight, `[out, in]` of its dtype.
    ///
    /// # Errors
    ///
    /// Too little memory.
    pub(crate) fn weight(&self) -> Result<Tensor, TchError> {
        let sizes = [self.out, self.depth].map(|size| i64::try_from(size).unwrap_or(0));
        let weight = Tensor::f_zeros(sizes, (self.kind(), Device::Cpu))?;
        // SAFETY: the tensor is new and as large as the buffer.
        unsafe {
            let to = weight.data_ptr().cast::<u8>();
            to.copy_from_nonoverlapping(self.numbers.address().cast_const().cast(), 2 * self.out * self.depth);
        }
        Ok(weight)
    }

    /// The dtype of the weight.
    pub(crate) fn kind(&self) -> Kind {
        match self.format {
            Short::F16 => Kind::Half,
            Short::Bf16 => Kind::BFloat16,
        }
    }
}

/// Returns whether this CPU makes f32 of f16 by itself.
#[cfg(target_arch = "x86_64")]
fn converts() -> bool {
    is_x86_feature_detected!("f16c")
}

/// Returns whether this CPU makes f32 of f16 by itself.
#[cfg(not(target_arch = "x86_64"))]
fn converts() -> bool {
    false
}

impl WeightMatrix for ShortWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        super::multiply(self, operands, epilogue, || self.weight()?.f_to_kind(Kind::Float))
    }
}

impl Codes for ShortWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    #[inline(always)]
    unsafe fn tile<V: Lanes, const R: usize, const C: usize>(&self, x: *const f32, column: usize) -> [[f32; C]; R] {
        let numbers = self.numbers.address().cast_const().wrapping_byte_add(2 * column * self.depth);
        // SAFETY: by the caller's contract; a weight of f16 there is only where the CPU converts it.
        unsafe {
            match self.format {
                Short::F16 => sums_of::<F16, V, R, C>(x, numbers.cast(), self.depth),
                Short::Bf16 => sums_of::<Bf16, V, R, C>(x, numbers.cast(), self.depth),
            }
        }
    }
}

/// A float of 16 bits with five of them for the exponent.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct F16(u16);

impl Stored for F16 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(from: *const F16) -> V {
        // SAFETY: by the caller's contract.
        unsafe { V::load_f16(from.cast()) }
    }
}

/// The upper half of an f32.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Bf16(u16);

impl Stored for Bf16 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(from: *const Bf16) -> V {
        // SAFETY: by the caller's contract.
        unsafe { V::load_bf16(from.cast()) }
    }
}
