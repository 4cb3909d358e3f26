//! One pass over tensors for a computation on their elements.
//!
//! The result is written in the order of its memory, block by block. A tensor that lies as the result does is read where
//! it is; of any other, one that is broadcast, say, each block is gathered first, unless it is there in one piece. So the
//! computation itself is one loop over blocks of plain numbers, which need not be aligned, and is all of the pass that the
//! crate compiles that has the computation: the way over memory is compiled here, once for all of them.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

pub(crate) mod device;
pub(crate) mod half;
mod number;
mod part;
pub(crate) mod rows;
mod walk;

use std::ffi::c_void;
use std::marker::PhantomData;

use fx_ir::ops::group::{MOST_INPUTS, MOST_RESULTS};
use tch::{TchError, Tensor};

use super::omp_threads::{for_each_part, threads};
use super::tensor::{Facts, MAX_RANK, lend, refused, strides};
use super::vector::{Body, VectorWidth, vector_width, vectorised};
use super::{entry::table, output_pool};
use half::Half;
pub(crate) use number::Number;
use part::{Job, Part};
use walk::Walk;

/// So many elements are computed at once.
pub(crate) const BLOCK: usize = 64;
/// So many elements are worth a thread of their own.
const GRAIN: usize = 1 << 15;

/// Whether this CPU has vectors and fused multiply-adds, without which functions of ours are slow.
pub(crate) fn has_vectors() -> bool {
    !cfg!(target_arch = "x86_64") || vector_width() > VectorWidth::Baseline
}

/// Where blocks of an input lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<T> {
    /// The first of them.
    from: *const T,
    /// Elements from one to the next: [`BLOCK`], or none where it is the same again.
    step: usize,
}

impl<T> Source<T> {
    /// Of no input, until there is one.
    const NOWHERE: Self = Self { from: std::ptr::null(), step: 0 };
}

/// A computation on blocks: of `I` inputs and `N` numbers it makes `O` results, the same way everywhere.
pub(crate) trait Blocks<T, const I: usize, const N: usize, const O: usize> {
    /// Computes one block. To be `#[inline(always)]`.
    fn block(inputs: [&[T; BLOCK]; I], numbers: [T; N], outputs: &mut [[T; BLOCK]; O]);
}

/// Computes so many blocks of the results, which lie in a row from these addresses on.
///
/// # Safety
///
/// There are as many sources, numbers and results as the computation has, so many blocks lie in each source, there is room
/// for them in each result, and nobody else has that room.
type BlocksFn<T> = unsafe fn(sources: &[Source<T>], numbers: &[T], results: &[*mut T], blocks: usize);

/// The loop of a computation: all of a pass that is compiled for each computation.
pub(crate) struct Loop<F> {
    compute: F,
    inputs: usize,
    numbers: usize,
    results: usize,
}

impl<F> Loop<F> {
    /// By a function that takes so many inputs, numbers and results.
    const fn new(compute: F, inputs: usize, numbers: usize, results: usize) -> Self {
        assert!(results <= MOST_RESULTS, "a computation yields more than a pass writes");
        Self { compute, inputs, numbers, results }
    }

    /// The dtype of the inputs, and how their elements are read; none where the loop takes others, or other numbers.
    fn reads<T: Number>(&self, inputs: &[Operand<'_>], numbers: &[T]) -> Option<(i32, Option<Half>)> {
        let dtype = inputs.first().map_or(T::DTYPE, |input| input.facts.dtype);
        let is_ours = |input: &Operand<'_>| input.facts.dtype == dtype && input.facts.device.0 == 0;
        let is_this = (inputs.len(), numbers.len()) == (self.inputs, self.numbers) && inputs.iter().all(is_ours);
        T::half(dtype).ok().filter(|_| is_this).map(|half| (dtype, half))
    }
}

/// A loop over blocks.
pub(crate) type BlockLoop<T> = Loop<BlocksFn<T>>;

impl<T: Number> BlockLoop<T> {
    pub(crate) const fn of<B: Blocks<T, I, N, O>, const I: usize, const N: usize, const O: usize>() -> Self {
        Self::new(all_blocks::<B, T, I, N, O>, I, N, O)
    }

    /// Computes the results, all of these sizes and strides, which leave no gaps, of tensors that broadcast to them.
    pub(crate) fn run(
        &self,
        inputs: &[Operand<'_>],
        numbers: &[T],
        sizes: &[i64],
        strides: &[i64],
    ) -> Result<Vec<Tensor>, TchError> {
        let wrong = || refused("a pointwise loop");
        let (dtype, half) = self.reads(inputs, numbers).ok_or_else(wrong)?;
        let walk = Walk::new(inputs, sizes, strides).ok_or_else(wrong)?;
        let bytes = if half.is_some() { 2 } else { size_of::<T>() };
        let mut outputs = Vec::with_capacity(self.results);
        for _ in 0..self.results {
            outputs.push(output_pool::tensor(sizes, strides, dtype, walk.count * bytes)?);
        }
        let job = Job {
            compute: self.compute,
            numbers,
            walk: &walk,
            half,
            inputs: addresses(inputs),
            outputs: outputs.iter().map(|output| output.data_ptr().cast::<T>()).collect(),
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
}

/// Computes blocks one after the other.
///
/// # Safety
///
/// As for [`BlocksFn`].
unsafe fn all_blocks<B: Blocks<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize>(
    sources: &[Source<T>],
    numbers: &[T],
    results: &[*mut T],
    count: usize,
) {
    if let (Some(sources), Some(numbers), Some(results)) =
        (sources.first_chunk::<I>(), numbers.first_chunk::<N>(), results.first_chunk::<O>())
    {
        vectorised(AllBlocks { sources, numbers, results, count, of: PhantomData::<B> });
    }
}

/// Blocks to be computed; there are as many as [`BlocksFn`] says.
struct AllBlocks<'a, B, T, const I: usize, const N: usize, const O: usize> {
    sources: &'a [Source<T>; I],
    numbers: &'a [T; N],
    results: &'a [*mut T; O],
    count: usize,
    of: PhantomData<B>,
}

impl<B: Blocks<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize> Body
    for AllBlocks<'_, B, T, I, N, O>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (zeros, mut values) = ([T::ZERO; BLOCK], Aligned([[T::ZERO; BLOCK]; O]));
        for block in 0..self.count {
            let mut inputs = [&zeros; I];
            let mut input = 0;
            while input < I {
                let Source { from, step } = self.sources[input];
                // SAFETY: so many blocks lie in the source.
                inputs[input] = unsafe { &*from.add(block * step).cast::<[T; BLOCK]>() };
                input += 1;
            }
            B::block(inputs, *self.numbers, &mut values.0);
            let mut output = 0;
            while output < O {
                // SAFETY: there is room for so many blocks. They are of known length, so that no function is called.
                unsafe { self.results[output].add(block * BLOCK).cast::<[T; BLOCK]>().write(values.0[output]) };
                output += 1;
            }
        }
    }
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

    pub(crate) fn strides(&self) -> &[i64; MAX_RANK] {
        &self.strides
    }
}

/// The addresses of inputs; there are at most [`MOST_INPUTS`], by their walk.
fn addresses<T>(inputs: &[Operand<'_>]) -> [*const T; MOST_INPUTS] {
    let mut addresses = [std::ptr::null(); MOST_INPUTS];
    for (address, input) in addresses.iter_mut().zip(inputs) {
        *address = input.address.cast::<T>();
    }
    addresses
}

/// Blocks that begin where cache lines do: a vector across two of them takes twice as long.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Aligned<B>(B);
