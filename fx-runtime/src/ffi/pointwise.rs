//! One pass over tensors for a computation on their elements.
//!
//! The result is written in the order of its memory, block by block. A tensor that lies as the result does is read where
//! it is; of any other, one that is broadcast, say, each block is gathered first, unless it is there in one piece. So the
//! computation itself is one loop over blocks of plain numbers, which need not be aligned, and is all of the pass that the
//! crate compiles that has the computation: the way over memory is compiled here, once for all of them.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

/// A module with a function in the version for each width.
macro_rules! versions {
    ($module:ident: $function:ident of $trait:ident as $type:ident($($param:ident: $of:ty),*);) => {
        mod $module {
            use super::*;

            pub(super) const fn versions<
                B: $trait<T, I, N, O>,
                T: Number,
                const I: usize,
                const N: usize,
                const O: usize,
            >() -> Versions<$type<T>> {
                Versions {
                    baseline: baseline::<B, T, I, N, O>,
                    avx2: avx2::<B, T, I, N, O>,
                    avx512: avx512::<B, T, I, N, O>,
                }
            }

            versions!(baseline: $function of $trait($($param: $of),*););
            versions! {
                #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
                avx2: $function of $trait($($param: $of),*);
            }
            versions! {
                #[cfg_attr(
                    target_arch = "x86_64",
                    target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
                )]
                avx512: $function of $trait($($param: $of),*);
            }
        }
    };
    ($(#[$attribute:meta])* $name:ident: $function:ident of $trait:ident($($param:ident: $of:ty),*);) => {
        /// # Safety
        ///
        /// As for the function's type; and the CPU has the features.
        $(#[$attribute])*
        unsafe fn $name<B: $trait<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize>(
            $($param: $of),*
        ) {
            // SAFETY: by this function's contract.
            unsafe { $function::<B, T, I, N, O>($($param),*) }
        }
    };
}

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
use super::vector::{VectorWidth, Versions, vector_width, vectorised};
use super::{entry::table, output_pool};
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
struct Source<T> {
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

/// The loop of a computation over blocks: all of a pass that is compiled for each computation.
pub(crate) struct Loop<T> {
    versions: Versions<BlocksFn<T>>,
    inputs: usize,
    numbers: usize,
    results: usize,
}

impl<T: Number> Loop<T> {
    pub(crate) const fn of<B: Blocks<T, I, N, O>, const I: usize, const N: usize, const O: usize>() -> Self {
        Self { versions: blocks::versions::<B, T, I, N, O>(), inputs: I, numbers: N, results: O }
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
        let dtype = inputs.first().map_or(T::DTYPE, |input| input.facts.dtype);
        let half = T::half(dtype).map_err(|()| wrong())?;
        let is_ours = |input: &Operand<'_>| input.facts.dtype == dtype && input.facts.device.0 == 0;
        let is_this = (inputs.len(), numbers.len()) == (self.inputs, self.numbers) && self.results <= MOST_RESULTS;
        let is_this = is_this && inputs.iter().all(is_ours);
        let walk = Walk::new(inputs, sizes, strides).filter(|_| is_this).ok_or_else(wrong)?;
        let bytes = if half.is_some() { 2 } else { size_of::<T>() };
        let mut outputs = Vec::with_capacity(self.results);
        for _ in 0..self.results {
            outputs.push(output_pool::tensor(sizes, strides, dtype, walk.count * bytes)?);
        }
        let job = Job {
            compute: self.versions.best(),
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

versions! {
    blocks: all_blocks of Blocks as BlocksFn(sources: &[Source<T>], numbers: &[T], results: &[*mut T], count: usize);
}

/// Computes blocks one after the other.
///
/// # Safety
///
/// As for [`BlocksFn`].
#[inline(always)]
unsafe fn all_blocks<B: Blocks<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize>(
    sources: &[Source<T>],
    numbers: &[T],
    results: &[*mut T],
    count: usize,
) {
    let (Some(sources), Some(numbers), Some(results)) =
        (sources.first_chunk::<I>(), numbers.first_chunk::<N>(), results.first_chunk::<O>())
    else {
        return;
    };
    let (zeros, mut values) = ([T::ZERO; BLOCK], Aligned([[T::ZERO; BLOCK]; O]));
    for block in 0..count {
        let mut inputs = [&zeros; I];
        let mut input = 0;
        while input < I {
            let Source { from, step } = sources[input];
            // SAFETY: so many blocks lie in the source.
            inputs[input] = unsafe { &*from.add(block * step).cast::<[T; BLOCK]>() };
            input += 1;
        }
        B::block(inputs, *numbers, &mut values.0);
        let mut output = 0;
        while output < O {
            // SAFETY: there is room for so many blocks. They are of known length, so that no function is called.
            unsafe { results[output].add(block * BLOCK).cast::<[T; BLOCK]>().write(values.0[output]) };
            output += 1;
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
struct Aligned<B>(B);
