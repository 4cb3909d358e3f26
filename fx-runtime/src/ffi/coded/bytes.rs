//! Signed bytes, with a scale for each output channel.

use tch::{Kind, TchError, Tensor};

use super::super::buffer::Buffer;
use super::super::epilogue::Epilogue;
use super::super::lanes::Lanes;
use super::super::operands::{Operands, WeightMatrix};
use super::super::tensor::refused;
use super::{Codes, STEP, Stored, copied, floats, has_registers, sums_of};

/// A weight `[out, in]` of signed bytes, row by row.
#[derive(Debug)]
pub(crate) struct ByteWeight {
    codes: Buffer,
    scale: Box<[f32]>,
    out: usize,
    depth: usize,
}

impl ByteWeight {
    /// Copies codes `i8[out, in]` and scales `f32[out]`; none where this machine has no registers for them, or rows do not
    /// fill these.
    ///
    /// # Errors
    ///
    /// Too little memory; scales for another number of rows.
    pub(crate) fn new(codes: &Tensor, scale: &Tensor) -> Result<Option<Self>, TchError> {
        let shape = <[i64; 2]>::try_from(codes.size()).unwrap_or_default();
        let [out, depth] = shape.map(|size| usize::try_from(size).unwrap_or(0));
        if !has_registers() || out == 0 || depth == 0 || !depth.is_multiple_of(STEP) {
            return Ok(None);
        }
        let scale = floats(scale)?;
        if scale.len() != out || codes.f_kind()? != Kind::Int8 {
            return Err(refused("a weight of signed bytes with a scale for each row"));
        }
        Ok(Some(Self { codes: copied(codes)?, scale, out, depth }))
    }

    /// The codes, `i8[out, in]`, and the scales, `f32[out]`.
    ///
    /// # Errors
    ///
    /// Too little memory.
    pub(crate) fn parts(&self) -> Result<(Tensor, Tensor), TchError> {
        let codes = Tensor::f_zeros(self.sizes(), (Kind::Int8, tch::Device::Cpu))?;
        // SAFETY: the tensor is new and as large as the buffer.
        unsafe {
            let to = codes.data_ptr().cast::<u8>();
            to.copy_from_nonoverlapping(self.codes.address().cast_const().cast(), self.out * self.depth);
        }
        Ok((codes, Tensor::f_from_slice(&self.scale)?))
    }

    fn sizes(&self) -> [i64; 2] {
        [self.out, self.depth].map(|size| i64::try_from(size).unwrap_or(0))
    }
}

impl WeightMatrix for ByteWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        super::multiply(self, operands, epilogue, || {
            let (codes, scale) = self.parts()?;
            codes.f_to_kind(Kind::Float)?.f_mul(&scale.f_unsqueeze(1)?)
        })
    }
}

impl Codes for ByteWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    #[inline(always)]
    unsafe fn tile<V: Lanes, const R: usize, const C: usize>(&self, x: *const f32, column: usize) -> [[f32; C]; R] {
        let codes = self.codes.address().cast_const().cast::<i8>().wrapping_add(column * self.depth);
        // SAFETY: by the caller's contract.
        let sums = unsafe { sums_of::<i8, V, R, C>(x, codes, self.depth) };
        sums.map(|mut totals| {
            for (total, scale) in totals.iter_mut().zip(&self.scale[column..column + C]) {
                *total *= scale;
            }
            totals
        })
    }
}

impl Stored for i8 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(from: *const i8) -> V {
        // SAFETY: by the caller's contract.
        unsafe { V::load_bytes(from) }
    }
}
