//! Integers of eight bits that stand for real numbers: to and fro, looked up, added, multiplied and pooled.
//!
//! A tensor of codes is an ordinary one of `u8`; what its codes stand for is known to those that read it. Loops run over the
//! memory of dense tensors, whatever the order of their axes, on the threads of libtorch.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

mod blocks;
mod lanes;
mod pool;
mod rows;

pub(crate) use blocks::{Blocks, as_blocks};
pub(crate) use lanes::{Combination, combine, dequantize, look_up, quantize};
pub(crate) use pool::{Pooling, average, max_pool};
pub(crate) use rows::{Rounding, dequantize_sums, quantize_rows};

use tch::{TchError, Tensor};

use super::memory_format::{contiguous, is_dense_in};
use super::omp_threads::{for_each_part, share, threads};
use super::output_pool;
use super::tensor::{Facts, refused, strides};

/// What codes stand for: `(code - zero_point) · scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PerTensor {
    pub(crate) scale: f32,
    /// From 0 to 255.
    pub(crate) zero_point: i32,
}

impl PerTensor {
    /// The code of a number: halves go to the even integer, and the zero point is added to what is rounded, as libtorch's
    /// kernels do; NaN becomes 0.
    #[inline(always)]
    fn code(self, inverse: f32, x: f32) -> u8 {
        stored((x * inverse).round_ties_even() + zero(self))
    }
}

#[expect(clippy::cast_precision_loss, reason = "eight bits")]
#[inline(always)]
fn zero(of: PerTensor) -> f32 {
    of.zero_point as f32
}

/// A whole number brought between 0 and 255.
#[allow(clippy::manual_clamp, reason = "unlike `clamp` these make a number of NaN")]
#[inline(always)]
fn stored(x: f32) -> u8 {
    let x = x.max(0.0).min(255.0);
    // SAFETY: between 0 and 255, NaN excluded by `max`.
    let code = unsafe { x.to_int_unchecked::<i32>() };
    // SAFETY: as above.
    unsafe { u8::try_from(code).unwrap_unchecked() }
}

/// What these loops run over.
trait Element: Sync {
    /// As `c10::ScalarType` counts.
    const DTYPE: i32;
    /// What a tensor of them is called where another one comes.
    const NAME: &'static str;
}

impl Element for u8 {
    const DTYPE: i32 = 0;
    const NAME: &'static str = "codes, which are u8 on the CPU,";
}

impl Element for i32 {
    const DTYPE: i32 = 3;
    const NAME: &'static str = "sums of products of codes, which are i32 on the CPU,";
}

impl Element for f32 {
    const DTYPE: i32 = 6;
    const NAME: &'static str = "what is quantized, f32 on the CPU,";
}

/// A tensor whose elements lie without gaps.
struct Dense {
    tensor: Tensor,
    facts: Facts,
    strides: Vec<i64>,
}

impl Dense {
    fn new(x: &Tensor) -> Result<Self, TchError> {
        let facts = Facts::of(x).ok_or_else(|| refused("a tensor of too many axes"))?;
        let rank = facts.sizes().len();
        let steps = strides(x, rank).ok_or_else(|| refused("a tensor without strides"))?;
        let mut axes: Vec<usize> = (0..rank).rev().collect();
        axes.sort_by_key(|&axis| steps[axis]);
        if is_dense_in(facts.sizes(), &steps[..rank], axes.into_iter()) {
            return Ok(Self { tensor: x.shallow_clone(), facts, strides: steps[..rank].to_vec() });
        }
        Ok(Self { tensor: x.f_contiguous()?, facts, strides: contiguous(facts.sizes()) })
    }

    /// The same values in the order of another tensor of the same sizes.
    fn as_lies(&self, other: &Dense) -> Result<Dense, TchError> {
        if self.strides == other.strides {
            return Ok(Dense { tensor: self.tensor.shallow_clone(), facts: self.facts, strides: self.strides.clone() });
        }
        let mut copy = unwritten(self.facts.sizes(), &other.strides, self.facts.dtype, self.count())?;
        copy.f_copy_(&self.tensor)?;
        Ok(Dense { tensor: copy, facts: self.facts, strides: other.strides.clone() })
    }

    fn count(&self) -> usize {
        self.tensor.numel()
    }

    /// An unwritten tensor that lies as this one.
    fn unwritten_like(&self, dtype: i32) -> Result<Tensor, TchError> {
        unwritten(self.facts.sizes(), &self.strides, dtype, self.count())
    }

    /// # Safety
    ///
    /// The elements are of the type `T`, and nobody writes to them meanwhile.
    unsafe fn elements<T>(&self) -> &[T] {
        if self.count() == 0 {
            return &[];
        }
        // SAFETY: by this function's contract; a dense tensor has its elements one after the other.
        unsafe { std::slice::from_raw_parts(self.tensor.data_ptr().cast_const().cast(), self.count()) }
    }
}

/// An unwritten tensor on the CPU of `u8` or f32.
fn unwritten(sizes: &[i64], strides: &[i64], dtype: i32, count: usize) -> Result<Tensor, TchError> {
    let width = if dtype == u8::DTYPE { 1 } else { 4 };
    output_pool::tensor(sizes, strides, dtype, count * width)
}

/// What is known of images of codes, and their sizes `[batch, channels, height, width]`.
fn image_facts(x: &Tensor) -> Result<(Facts, [usize; 4]), TchError> {
    let facts = Facts::of(x).filter(|facts| facts.dtype == u8::DTYPE && facts.device.0 == 0);
    let facts = facts.ok_or_else(|| refused("images of codes, which are u8 on the CPU,"))?;
    match *facts.sizes() {
        [batch, channels, height, width] => {
            Ok((facts, [batch, channels, height, width].map(|size| usize::try_from(size).unwrap_or(0))))
        }
        _ => Err(refused("images of codes, [batch, channels, height, width],")),
    }
}

/// Strides of images `[batch, channels, height, width]` with the channels together.
fn channels_together(sizes: &[i64]) -> Vec<i64> {
    let inner = contiguous(&[sizes[0], sizes[2], sizes[3], sizes[1]]);
    vec![inner[0], inner[3], inner[1], inner[2]]
}

/// A result that parts of a loop write to, each to a range of its own.
struct Output<T>(*mut T);

// SAFETY: `part` is called for disjoint ranges.
unsafe impl<T> Sync for Output<T> {}

impl<T> Output<T> {
    /// Of a new tensor with elements of this type.
    fn of(tensor: &Tensor) -> Self {
        Self(tensor.data_ptr().cast())
    }

    /// # Safety
    ///
    /// The range lies within the tensor, which is alive, and nobody else has it.
    unsafe fn part<'a>(&self, range: std::ops::Range<usize>) -> &'a mut [T] {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

/// Calls `work` with ranges that together are `0..count`, on several threads where it is worth it.
fn in_parts<F: Fn(std::ops::Range<usize>) + Sync>(count: usize, cost: usize, work: &F) {
    let parts = if count.saturating_mul(cost) < 1 << 15 { 1 } else { threads().min(count) };
    for_each_part(parts, &|part| work(share(count, part, parts)));
}

#[cfg(test)]
mod tests;
