//! Floats of 16 bits.

use tch::{Device, Kind, TchError, Tensor};

use super::super::buffer::Buffer;
use super::super::epilogue::Epilogue;
use super::super::lanes::{FIRST_CACHE, Lanes, fetch_line};
use super::super::operands::{Operands, WeightMatrix};
use super::{Codes, STEP, copied, has_registers, totals};

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
        // SAFETY: by the caller's contract; a weight of f16 there is only where the CPU converts it.
        unsafe {
            match self.format {
                Short::F16 => self.tile_of::<V, R, C>(x, column, |from| V::load_f16(from)),
                Short::Bf16 => self.tile_of::<V, R, C>(x, column, |from| V::load_bf16(from)),
            }
        }
    }
}

impl ShortWeight {
    /// # Safety
    ///
    /// As [`Codes::tile`]; `load` reads a register of numbers.
    #[inline(always)]
    unsafe fn tile_of<V: Lanes, const R: usize, const C: usize>(
        &self,
        x: *const f32,
        column: usize,
        load: impl Fn(*const u16) -> V,
    ) -> [[f32; C]; R] {
        let depth = self.depth;
        let numbers = self.numbers.address().cast_const().cast::<u16>().wrapping_add(column * depth);
        // SAFETY: by the caller's contract; rows are multiples of the register.
        unsafe {
            let mut sums = [[V::splat(0.0); C]; R];
            let mut k = 0;
            while k < depth {
                let mut left = [V::splat(0.0); R];
                for (row, left) in left.iter_mut().enumerate() {
                    *left = V::load(x.add(row * depth + k));
                }
                for at in 0..C {
                    if k.is_multiple_of(32) {
                        // What the next tile reads.
                        fetch_line::<FIRST_CACHE>(numbers.wrapping_add((at + C) * depth + k).cast());
                    }
                    let right = load(numbers.add(at * depth + k));
                    for (sums, left) in sums.iter_mut().zip(left) {
                        sums[at] = sums[at].plus_product(left, right);
                    }
                }
                k += V::COUNT;
            }
            sums.map(|sums| totals(sums))
        }
    }
}
