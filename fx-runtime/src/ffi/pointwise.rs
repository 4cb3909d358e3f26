//! One pass over tensors for a computation on their elements.
//!
//! The result is written in the order of its memory, block by block. A tensor that lies as the result does is read where
//! it is; of any other, one that is broadcast, say, each block is gathered first, unless it is there in one piece. So the
//! computation itself is compiled once, for blocks of plain numbers, and what it is given need not be aligned.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

pub(crate) mod device;
mod walk;

use std::ffi::c_void;
use std::marker::PhantomData;

use tch::{TchError, Tensor};

use super::pool::{for_each_part, threads};
use super::tensor::{Facts, MAX_RANK, lend, refused, strides};
use super::vector::{Body, VectorWidth, vector_width, vectorised};
use super::{entry::table, results};
use walk::{Place, Walk};

/// So many elements are computed at once.
pub(crate) const BLOCK: usize = 64;
/// So many elements are worth a thread of their own.
const GRAIN: usize = 1 << 15;

/// Has this CPU vectors and fused multiply-adds, without which functions of ours are slow?
pub(crate) fn has_vectors() -> bool {
    !cfg!(target_arch = "x86_64") || vector_width() > VectorWidth::Baseline
}

/// A type of numbers.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    /// As `c10::ScalarType` counts.
    const DTYPE: i32;
    /// Zero.
    const ZERO: Self;
}

impl Number for f32 {
    const DTYPE: i32 = 6;
    const ZERO: Self = 0.0;
}

impl Number for f64 {
    const DTYPE: i32 = 7;
    const ZERO: Self = 0.0;
}

/// A computation on blocks: of `I` numbers it makes `O`, the same way everywhere.
pub(crate) trait Blocks<T, const I: usize, const O: usize>: Sync {
    /// Computes one block. To be `#[inline(always)]`.
    fn block(&self, inputs: [&[T; BLOCK]; I], outputs: &mut [[T; BLOCK]; O]);
}

/// A tensor that a pass can read: on the CPU or a CUDA device, with strides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    address: *const c_void,
    facts: Facts,
    strides: [i64; MAX_RANK],
    lent: PhantomData<&'a Tensor>,
}

impl<'a> Operand<'a> {
    /// None for a tensor that is elsewhere, or whose elements are not what lies in memory.
    pub(crate) fn of(tensor: &'a Tensor) -> Option<Self> {
        let facts = Facts::of(tensor).filter(|facts| matches!(facts.device.0, 0 | 1))?;
        let strides = strides(tensor, facts.sizes().len())?;
        let mut address = std::ptr::null_mut();
        // SAFETY: the tensor is alive; the callee writes one pointer.
        let status = unsafe { (table().data?)(lend(tensor), &raw mut address) };
        // oneDNN's own layouts have strides of no meaning, and the imaginary part of a conjugate is stored without its sign.
        let is_plain = status == 0 && !tensor.is_mkldnn() && !tensor.f_is_neg().unwrap_or(true);
        is_plain.then_some(Self { address, facts, strides, lent: PhantomData })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn strides(&self) -> [i64; MAX_RANK] {
        self.strides
    }
}

/// Computes the results, all of these sizes and strides, which leave no gaps, of tensors that broadcast to them.
pub(crate) fn run<T: Number, B: Blocks<T, I, O>, const I: usize, const O: usize>(
    blocks: &B,
    inputs: &[Operand<'_>; I],
    sizes: &[i64],
    strides: &[i64],
) -> Result<[Tensor; O], TchError> {
    let wrong = || refused("a pointwise loop");
    let is_ours = |input: &Operand<'_>| input.facts.dtype == T::DTYPE && input.facts.device.0 == 0;
    let walk = Walk::new(inputs, sizes, strides).filter(|_| inputs.iter().all(is_ours));
    let walk = walk.ok_or_else(wrong)?;
    let mut outputs = [const { None }; O];
    for output in &mut outputs {
        *output = Some(results::tensor(sizes, strides, T::DTYPE, walk.count * size_of::<T>())?);
    }
    // None is left out, or `?` had returned.
    let outputs = outputs.map(Option::unwrap_or_default);
    let job = Job {
        blocks,
        walk: &walk,
        inputs: inputs.map(|input| input.address.cast::<T>()),
        outputs: outputs.each_ref().map(|output| output.data_ptr().cast::<T>()),
    };
    let parts = (walk.count / GRAIN).clamp(1, threads());
    for_each_part(parts, &|part| {
        // Whole blocks, but for the last.
        let border = |part: usize| (walk.count * part / parts).next_multiple_of(BLOCK).min(walk.count);
        vectorised(Part { job: &job, first: border(part), last: border(part + 1) });
    });
    Ok(outputs)
}

/// A pass over memory.
struct Job<'a, T, B, const I: usize, const O: usize> {
    blocks: &'a B,
    walk: &'a Walk<I>,
    inputs: [*const T; I],
    outputs: [*mut T; O],
}

// SAFETY: the inputs are only read, and each part writes elements of its own.
unsafe impl<T: Number, B: Sync, const I: usize, const O: usize> Sync for Job<'_, T, B, I, O> {}

/// The elements `first..last` of a pass.
struct Part<'a, T, B, const I: usize, const O: usize> {
    job: &'a Job<'a, T, B, I, O>,
    first: usize,
    last: usize,
}

impl<T: Number, B: Blocks<T, I, O>, const I: usize, const O: usize> Body for Part<'_, T, B, I, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Job { blocks, walk, inputs, outputs } = self.job;
        let mut buffers = Aligned([[T::ZERO; BLOCK]; I]);
        let mut results = Aligned([[T::ZERO; BLOCK]; O]);
        let (Aligned(buffers), Aligned(results)) = (&mut buffers, &mut results);
        let mut place = Place::new(walk, self.first);
        let has_gathered = walk.is_linear.contains(&false);
        for at in (self.first..self.last).step_by(BLOCK) {
            let count = (self.last - at).min(BLOCK);
            let mut sources: [*const T; I] = [std::ptr::null(); I];
            if has_gathered {
                // SAFETY: the elements `at..at + count` of the result exist, and every input broadcasts to it.
                unsafe { place.gather(walk, inputs, count, buffers, &mut sources) };
            }
            let mut input = 0;
            while input < I {
                if walk.is_linear[input] {
                    // SAFETY: the input lies as the result does, which has `at + count` elements.
                    sources[input] = unsafe { inputs[input].add(at) };
                    if count < BLOCK {
                        // SAFETY: as above, and a buffer has room for a block.
                        unsafe { std::ptr::copy_nonoverlapping(sources[input], buffers[input].as_mut_ptr(), count) };
                        sources[input] = buffers[input].as_ptr();
                    }
                }
                input += 1;
            }
            // SAFETY: each source is a buffer, or `BLOCK` elements of an input in a row.
            let blocks_of = sources.map(|source| unsafe { &*source.cast::<[T; BLOCK]>() });
            blocks.block(blocks_of, results);
            let mut output = 0;
            while output < O {
                // SAFETY: the result has `at + count` elements, of which this part alone writes these.
                unsafe {
                    let to = outputs[output].add(at);
                    if count == BLOCK {
                        // Of known length, so that no function is called.
                        to.cast::<[T; BLOCK]>().write(results[output]);
                    } else {
                        std::ptr::copy_nonoverlapping(results[output].as_ptr(), to, count);
                    }
                }
                output += 1;
            }
        }
    }
}

/// Blocks that begin where cache lines do: a vector across two of them takes twice as long.
#[repr(align(64))]
struct Aligned<B>(B);
