//! One pass over tensors for a computation on their elements.
//!
//! The result is written in the order of its memory, block by block. A tensor that lies as the result does is read where
//! it is; of any other, one that is broadcast, say, each block is gathered first, unless it is there in one piece. So the
//! computation itself is compiled once, for blocks of plain numbers, and what it is given need not be aligned.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

pub(crate) mod device;
pub(crate) mod half;
pub(crate) mod rows;
mod walk;

use std::ffi::c_void;
use std::marker::PhantomData;

use tch::{TchError, Tensor};

use super::omp_threads::{for_each_part, threads};
use super::tensor::{Facts, MAX_RANK, lend, refused, strides};
use super::vector::{Body, VectorWidth, vector_width, vectorised};
use super::{entry::table, output_pool};
use half::Half;
use walk::{Place, Walk};

/// So many elements are computed at once.
pub(crate) const BLOCK: usize = 64;
/// So many elements are worth a thread of their own.
const GRAIN: usize = 1 << 15;

/// Whether this CPU has vectors and fused multiply-adds, without which functions of ours are slow.
pub(crate) fn has_vectors() -> bool {
    !cfg!(target_arch = "x86_64") || vector_width() > VectorWidth::Baseline
}

/// A type of numbers that is computed with.
pub(crate) trait Number: Copy + Send + Sync + PartialOrd + std::ops::Add<Output = Self> + 'static {
    /// As `c10::ScalarType` counts.
    const DTYPE: i32;
    /// Zero.
    const ZERO: Self;
    /// Less than any other, or as little.
    const LOWEST: Self;

    /// How elements of a dtype are read, if not as they are; an error if not at all.
    fn half(dtype: i32) -> Result<Option<Half>, ()>;
    /// The elements of two bytes as numbers.
    fn widen(half: Half, from: &[u16; BLOCK]) -> [Self; BLOCK];
    /// The numbers as elements of two bytes.
    fn narrow(half: Half, from: &[Self; BLOCK]) -> [u16; BLOCK];
    /// The number itself.
    fn wide(self) -> f64;
    /// The nearest number.
    fn nearest(number: f64) -> Self;
}

impl Number for f32 {
    const DTYPE: i32 = 6;
    const ZERO: Self = 0.0;
    const LOWEST: Self = f32::NEG_INFINITY;

    fn half(dtype: i32) -> Result<Option<Half>, ()> {
        if dtype == Self::DTYPE { Ok(None) } else { Half::of(dtype).map(Some).ok_or(()) }
    }
    fn widen(half: Half, from: &[u16; BLOCK]) -> [Self; BLOCK] {
        let mut to = [0.0; BLOCK];
        half.widen(from, &mut to);
        to
    }
    fn narrow(half: Half, from: &[Self; BLOCK]) -> [u16; BLOCK] {
        let mut to = [0; BLOCK];
        half.narrow(from, &mut to);
        to
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's dtype")]
    fn nearest(number: f64) -> Self {
        number as f32
    }
}

impl Number for f64 {
    const DTYPE: i32 = 7;
    const ZERO: Self = 0.0;
    const LOWEST: Self = f64::NEG_INFINITY;

    fn half(dtype: i32) -> Result<Option<Half>, ()> {
        if dtype == Self::DTYPE { Ok(None) } else { Err(()) }
    }
    // Never asked, see `half`.
    fn widen(_: Half, _: &[u16; BLOCK]) -> [Self; BLOCK] {
        [f64::NAN; BLOCK]
    }
    fn narrow(_: Half, _: &[Self; BLOCK]) -> [u16; BLOCK] {
        [0; BLOCK]
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn nearest(number: f64) -> Self {
        number
    }
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
    /// Of no tensor, until there is one.
    pub(crate) const NOTHING: Self =
        Self { address: std::ptr::null(), facts: Facts::NOTHING, strides: [0; MAX_RANK], lent: PhantomData };

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

    pub(crate) fn strides(&self) -> &[i64; MAX_RANK] {
        &self.strides
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
    let dtype = inputs.first().map_or(T::DTYPE, |input| input.facts.dtype);
    let half = T::half(dtype).map_err(|()| wrong())?;
    let is_ours = |input: &Operand<'_>| input.facts.dtype == dtype && input.facts.device.0 == 0;
    let walk = Walk::new(inputs, sizes, strides).filter(|_| inputs.iter().all(is_ours));
    let walk = walk.ok_or_else(wrong)?;
    let bytes = if half.is_some() { 2 } else { size_of::<T>() };
    let mut outputs = [const { None }; O];
    for output in &mut outputs {
        *output = Some(output_pool::tensor(sizes, strides, dtype, walk.count * bytes)?);
    }
    // None is left out, or `?` had returned.
    let outputs = outputs.map(Option::unwrap_or_default);
    let job = Job {
        blocks,
        walk: &walk,
        half,
        inputs: inputs.map(|input| input.address.cast::<T>()),
        outputs: outputs.each_ref().map(|output| output.data_ptr().cast::<T>()),
    };
    let parts = walk.count / GRAIN;
    if parts < 2 {
        vectorised(Part { job: &job, first: 0, last: walk.count });
        return Ok(outputs);
    }
    let parts = parts.min(threads());
    for_each_part(parts, &|part| {
        // Whole blocks, but for the last.
        let border = |part: usize| (walk.count * part / parts).next_multiple_of(BLOCK).min(walk.count);
        vectorised(Part { job: &job, first: border(part), last: border(part + 1) });
    });
    Ok(outputs)
}

/// A pass over memory. Where elements have two bytes the addresses are theirs.
struct Job<'a, T, B, const I: usize, const O: usize> {
    blocks: &'a B,
    walk: &'a Walk<I>,
    half: Option<Half>,
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
        let Job { blocks, walk, half, inputs, outputs } = self.job;
        let mut buffers = Aligned([[T::ZERO; BLOCK]; I]);
        let mut results = Aligned([[T::ZERO; BLOCK]; O]);
        let (Aligned(buffers), Aligned(results)) = (&mut buffers, &mut results);
        let mut place = Place::new(walk, self.first);
        for at in (self.first..self.last).step_by(BLOCK) {
            let count = (self.last - at).min(BLOCK);
            let mut sources: [*const T; I] = [std::ptr::null(); I];
            if let Some(half) = half {
                // SAFETY: the elements `at..at + count` of the result exist, every input broadcasts to it, and has elements
                // of two bytes.
                unsafe { widened(*half, walk, &mut place, inputs, at, count, buffers) };
                sources = buffers.each_ref().map(|buffer| buffer.as_ptr());
            } else {
                // SAFETY: as above, with elements that are numbers.
                unsafe { place.block(walk, inputs, at, count, buffers, &mut sources) };
            }
            // SAFETY: each source is a buffer, or `BLOCK` elements of an input in a row.
            let blocks_of = sources.map(|source| unsafe { &*source.cast::<[T; BLOCK]>() });
            blocks.block(blocks_of, results);
            let mut output = 0;
            while output < O {
                // SAFETY: the result has `at + count` elements, of which this part alone writes these.
                unsafe {
                    if let Some(half) = half {
                        let bits = T::narrow(*half, &results[output]);
                        let to = outputs[output].cast::<u16>().add(at);
                        std::ptr::copy_nonoverlapping(bits.as_ptr(), to, count);
                    } else if count == BLOCK {
                        // Of known length, so that no function is called.
                        outputs[output].add(at).cast::<[T; BLOCK]>().write(results[output]);
                    } else {
                        let to = outputs[output].add(at);
                        std::ptr::copy_nonoverlapping(results[output].as_ptr(), to, count);
                    }
                }
                output += 1;
            }
        }
    }
}

/// The next elements of two bytes of every input, as numbers. Compiled once for all groups of so many inputs.
///
/// # Safety
///
/// As for [`Place::block`], with elements of two bytes.
unsafe fn widened<T: Number, const I: usize>(
    half: Half,
    walk: &Walk<I>,
    place: &mut Place<I>,
    inputs: &[*const T; I],
    at: usize,
    count: usize,
    buffers: &mut [[T; BLOCK]; I],
) {
    let mut bits = [[0; BLOCK]; I];
    let mut sources = [std::ptr::null(); I];
    let inputs = inputs.map(<*const T>::cast::<u16>);
    // SAFETY: by this function's contract.
    unsafe { place.block(walk, &inputs, at, count, &mut bits, &mut sources) };
    for (buffer, source) in buffers.iter_mut().zip(sources) {
        // SAFETY: each source is a buffer, or `BLOCK` elements of an input in a row.
        *buffer = T::widen(half, unsafe { &*source.cast::<[u16; BLOCK]>() });
    }
}

/// Blocks that begin where cache lines do: a vector across two of them takes twice as long.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Aligned<B>(B);
