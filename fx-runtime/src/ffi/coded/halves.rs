//! Halves of bytes, with a scale and a zero point for each group of a row.
//!
//! A block of a row is one register of words of 32 bits, each with eight numbers: the lowest halves of all words are the
//! first numbers of the block in their order, the next ones what follows, so that `x` is read as it lies.

use tch::{Device, Kind, TchError, Tensor};

use super::super::buffer::Buffer;
use super::super::epilogue::Epilogue;
use super::super::lanes::{FIRST_CACHE, Lanes, fetch_line};
use super::super::operands::{Operands, WeightMatrix};
use super::super::tensor::refused;
use super::super::vector::{VectorWidth, vector_width};
use super::{Codes, copied, floats, has_registers, totals};

/// Numbers in a word.
const IN_WORD: usize = 8;

/// A weight `[out, in]` of half bytes, block by block.
#[derive(Debug)]
pub(crate) struct HalfByteWeight {
    codes: Buffer,
    /// `[out][groups]`
    scale: Box<[f32]>,
    /// The integers that stand for zero, as real numbers.
    zero: Box<[f32]>,
    /// `-zero · scale`.
    shift: Box<[f32]>,
    out: usize,
    depth: usize,
    group: usize,
}

/// Words of a register.
fn words() -> usize {
    if vector_width() == VectorWidth::Avx512 { 16 } else { 8 }
}

impl HalfByteWeight {
    /// Packs codes `u8[out, in / 2]`, the first of two in the low half, with scales and zero points `f32[out, groups]`; none
    /// where this machine has no registers for them, or blocks and groups do not divide each other.
    ///
    /// # Errors
    ///
    /// Too little memory; scales or zero points for other rows.
    pub(crate) fn new(codes: &Tensor, scale: &Tensor, zero: &Tensor) -> Result<Option<Self>, TchError> {
        let shape = <[i64; 2]>::try_from(codes.size()).unwrap_or_default();
        let [out, half] = shape.map(|size| usize::try_from(size).unwrap_or(0));
        let (depth, block) = (2 * half, words() * IN_WORD);
        let (scale, zero) = (floats(scale)?, floats(zero)?);
        let groups = scale.len() / out.max(1);
        if groups == 0 || scale.len() != out * groups || zero.len() != scale.len() || !depth.is_multiple_of(groups) {
            return Err(refused("a weight of half bytes with a scale and a zero point for each group"));
        }
        let group = depth / groups;
        let divides = group.is_multiple_of(block) || (block.is_multiple_of(group) && group.is_multiple_of(words()));
        if !has_registers() || !depth.is_multiple_of(block) || !divides {
            return Ok(None);
        }
        let shift = scale.iter().zip(&zero).map(|(scale, zero)| -zero * scale).collect();
        let codes = copied(&packed(codes, shape)?)?;
        Ok(Some(Self { codes, scale, zero, shift, out, depth, group }))
    }

    /// The codes, `u8[out, in / 2]`, and scales and zero points, `f32[out, groups, 1]`.
    ///
    /// # Errors
    ///
    /// Too little memory.
    pub(crate) fn parts(&self) -> Result<[Tensor; 3], TchError> {
        let [out, half, groups] =
            [self.out, self.depth / 2, self.groups()].map(|size| i64::try_from(size).unwrap_or(0));
        let codes = Tensor::f_zeros([out, half], (Kind::Uint8, Device::Cpu))?;
        // SAFETY: the tensor is new and as large as the buffer.
        unsafe {
            let to = codes.data_ptr().cast::<u8>();
            to.copy_from_nonoverlapping(self.codes.address().cast_const().cast(), self.out * self.depth / 2);
        }
        let each = |numbers: &[f32]| Tensor::f_from_slice(numbers)?.f_view([out, groups, 1]);
        Ok([unpacked(&codes, [out, half])?, each(&self.scale)?, each(&self.zero)?])
    }

    /// How many numbers of a row have one scale.
    pub(crate) fn group(&self) -> i64 {
        i64::try_from(self.group).unwrap_or(0)
    }

    fn groups(&self) -> usize {
        self.depth / self.group
    }

    /// The weight in floats, `f32[out, in]`.
    pub(super) fn dense(&self) -> Result<Tensor, TchError> {
        let [codes, scale, zero] = self.parts()?;
        let (out, groups) = (codes.size()[0], scale.size()[1]);
        let low = codes.f_bitwise_and(15)?;
        let high = codes.f_bitwise_right_shift_tensor_scalar(4)?;
        let codes = Tensor::f_stack(&[low, high], 2)?.f_view([out, groups, -1])?;
        codes.f_to_kind(Kind::Float)?.f_sub(&zero)?.f_mul(&scale)?.f_view([out, -1])
    }
}

/// Pairs of neighbours as blocks.
fn packed(codes: &Tensor, [out, half]: [i64; 2]) -> Result<Tensor, TchError> {
    let words = i64::try_from(words()).unwrap_or(0);
    let low = codes.f_bitwise_and(15)?;
    let high = codes.f_bitwise_right_shift_tensor_scalar(4)?;
    let each = Tensor::f_stack(&[low, high], 2)?.f_view([out, -1, 8, words])?;
    // The eight numbers of a word lie together: two in each of its bytes.
    let pairs = each.f_transpose(2, 3)?.f_reshape([out, -1, words, 4, 2])?;
    let high = pairs.f_select(4, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
    high.f_bitwise_or_tensor(&pairs.f_select(4, 0)?)?.f_reshape([out, half])
}

/// Blocks as pairs of neighbours.
fn unpacked(codes: &Tensor, [out, half]: [i64; 2]) -> Result<Tensor, TchError> {
    let words = i64::try_from(words()).unwrap_or(0);
    let low = codes.f_bitwise_and(15)?;
    let high = codes.f_bitwise_right_shift_tensor_scalar(4)?;
    let each = Tensor::f_stack(&[low, high], 2)?.f_view([out, -1, words, 8])?;
    let pairs = each.f_transpose(2, 3)?.f_reshape([out, half, 2])?;
    let high = pairs.f_select(2, 1)?.f_bitwise_left_shift_tensor_scalar(4)?;
    high.f_bitwise_or_tensor(&pairs.f_select(2, 0)?)
}

impl WeightMatrix for HalfByteWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        super::multiply(self, operands, epilogue, || self.dense())
    }
}

impl Codes for HalfByteWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    #[inline(always)]
    unsafe fn tile<V: Lanes, const R: usize, const C: usize>(&self, x: *const f32, column: usize) -> [[f32; C]; R] {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.group / V::COUNT {
                0 | 1 => self.by_groups_of::<V, R, C, 1>(x, column),
                2 | 3 => self.by_groups_of::<V, R, C, 2>(x, column),
                4..8 => self.by_groups_of::<V, R, C, 4>(x, column),
                _ => self.by_groups_of::<V, R, C, IN_WORD>(x, column),
            }
        }
    }
}

impl HalfByteWeight {
    /// The same where `STEPS` registers belong to one group, or a whole block does.
    #[inline(always)]
    unsafe fn by_groups_of<V: Lanes, const R: usize, const C: usize, const STEPS: usize>(
        &self,
        x: *const f32,
        column: usize,
    ) -> [[f32; C]; R] {
        let (depth, group, groups) = (self.depth, self.group, self.groups());
        // Bytes of a row of codes.
        let stride = depth / 2;
        let codes = self.codes.address().cast_const().cast::<u8>().wrapping_add(column * stride);
        let [scale, shift] = [&self.scale, &self.shift].map(|each| each.as_ptr().wrapping_add(column * groups));
        // SAFETY: by the caller's contract; blocks fill rows, and groups blocks or the other way round.
        unsafe {
            let zero = V::splat(0.0);
            let mut sums = [[zero; C]; R];
            let mut k = 0;
            while k < depth {
                let mut words = [V::load_words(codes.add(k / 2)); C];
                for (at, words) in words.iter_mut().enumerate() {
                    fetch_line::<FIRST_CACHE>(codes.wrapping_add((at + C) * stride + k / 2).cast());
                    *words = V::load_words(codes.add(at * stride + k / 2));
                }
                for part in 0..IN_WORD / STEPS {
                    let from = k + part * STEPS * V::COUNT;
                    let mut parts = [[zero; C]; R];
                    let mut parts_of_x = [zero; R];
                    for step in 0..STEPS {
                        for row in 0..R {
                            let left = V::load(x.add(row * depth + from + step * V::COUNT));
                            parts_of_x[row] = parts_of_x[row].plus(left);
                            for at in 0..C {
                                parts[row][at] = parts[row][at].plus_product(left, V::low_halves(words[at]));
                            }
                        }
                        words = words.map(|words| V::shifted(words));
                    }
                    let of = from / group;
                    for at in 0..C {
                        let factor = V::splat(*scale.add(at * groups + of));
                        let moved = V::splat(*shift.add(at * groups + of));
                        for row in 0..R {
                            let both = sums[row][at].plus_product(parts[row][at], factor);
                            sums[row][at] = both.plus_product(parts_of_x[row], moved);
                        }
                    }
                }
                k += IN_WORD * V::COUNT;
            }
            sums.map(|sums| totals(sums))
        }
    }
}
