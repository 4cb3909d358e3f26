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
pub(crate) mod rows;
mod walk;

use std::ffi::c_void;
use std::marker::PhantomData;

use tch::{TchError, Tensor};

use super::omp_threads::{for_each_part, threads};
use super::tensor::{Facts, MAX_RANK, lend, refused, strides};
use super::vector::{Body, VectorWidth, Versions, vector_width, vectorised};
use super::{entry::table, output_pool};
use fx_ir::ops::group::{MOST_INPUTS, MOST_RESULTS};
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

/// A pass over memory. Where elements have two bytes the addresses are theirs.
struct Job<'a, T> {
    compute: BlocksFn<T>,
    numbers: &'a [T],
    walk: &'a Walk,
    half: Option<Half>,
    inputs: [*const T; MOST_INPUTS],
    outputs: Vec<*mut T>,
}

// SAFETY: the inputs are only read, and each part writes elements of its own.
unsafe impl<T: Number> Sync for Job<'_, T> {}

/// The elements `first..last` of a pass.
struct Part<'a, T> {
    job: &'a Job<'a, T>,
    first: usize,
    last: usize,
}

impl<T: Number> Body for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Job { compute, numbers, walk, half, inputs, outputs } = self.job;
        let mut buffers = Aligned([[T::ZERO; BLOCK]; MOST_INPUTS]);
        let mut sources = [Source::NOWHERE; MOST_INPUTS];
        // Where results are computed that are not whole blocks of numbers.
        let mut results = Aligned([[T::ZERO; BLOCK]; MOST_RESULTS]);
        let in_buffers = results.0.each_mut().map(|result| result.as_mut_ptr());
        let mut in_place = [std::ptr::null_mut(); MOST_RESULTS];
        let mut halves = half.map(|half| Halves { half, bits: [[0; BLOCK]; MOST_INPUTS] });
        let mut place = Place::new(walk, self.first);
        let mut at = self.first;
        while at < self.last {
            let left = self.last - at;
            let blocks = if let Some(halves) = &mut halves {
                // SAFETY: as below, of elements of two bytes.
                unsafe { halves.widened(walk, &mut place, inputs, (at, left), &mut buffers.0, &mut sources) };
                1
            } else {
                // SAFETY: the elements `at..at + left` of the result exist, and every input broadcasts to it.
                unsafe { place.blocks(walk, inputs, (at, left), &mut buffers.0, &mut sources) }
            };
            let sources = &sources[..walk.inputs];
            if half.is_none() && left >= BLOCK {
                for (to, output) in in_place.iter_mut().zip(outputs) {
                    // SAFETY: the result has so many elements.
                    *to = unsafe { output.add(at) };
                }
                // SAFETY: the blocks are in the sources by `blocks`, and the results have room for as many more, which this
                // part alone writes. There are as many inputs and numbers as the loop has.
                unsafe { compute(sources, numbers, &in_place[..outputs.len()], blocks) };
            } else {
                // SAFETY: as above; a buffer has room for a block.
                unsafe { compute(sources, numbers, &in_buffers[..outputs.len()], 1) };
                for (output, numbers) in outputs.iter().zip(in_buffers) {
                    // SAFETY: the result has so many more elements, which this part alone writes; the block is in its buffer.
                    unsafe { store(*half, &*numbers.cast(), *output, at, left.min(BLOCK)) };
                }
            }
            at += blocks * BLOCK;
        }
    }
}

/// Writes elements `at..at + count` of a result.
///
/// # Safety
///
/// It has them, nobody else writes them, and there are at most [`BLOCK`].
#[inline(always)]
unsafe fn store<T: Number>(half: Option<Half>, numbers: &[T; BLOCK], to: *mut T, at: usize, count: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        if let Some(half) = half {
            let bits = T::narrow(half, numbers);
            std::ptr::copy_nonoverlapping(bits.as_ptr(), to.cast::<u16>().add(at), count);
        } else {
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), to.add(at), count);
        }
    }
}

/// Elements of two bytes on their way to numbers.
struct Halves {
    half: Half,
    bits: [[u16; BLOCK]; MOST_INPUTS],
}

impl Halves {
    /// The next block of every input, as numbers.
    ///
    /// # Safety
    ///
    /// As for [`Place::blocks`], with elements of two bytes.
    unsafe fn widened<T: Number>(
        &mut self,
        walk: &Walk,
        place: &mut Place,
        inputs: &[*const T; MOST_INPUTS],
        (at, left): (usize, usize),
        buffers: &mut [[T; BLOCK]; MOST_INPUTS],
        sources: &mut [Source<T>; MOST_INPUTS],
    ) {
        let mut narrow = [Source::NOWHERE; MOST_INPUTS];
        let inputs = inputs.map(<*const T>::cast::<u16>);
        // SAFETY: by this function's contract.
        unsafe { place.blocks(walk, &inputs, (at, left.min(BLOCK)), &mut self.bits, &mut narrow) };
        for input in 0..walk.inputs {
            // SAFETY: each source is a buffer, or `BLOCK` elements of an input in a row.
            buffers[input] = T::widen(self.half, unsafe { &*narrow[input].from.cast::<[u16; BLOCK]>() });
            sources[input] = Source { from: buffers[input].as_ptr(), step: 0 };
        }
    }
}

/// Blocks that begin where cache lines do: a vector across two of them takes twice as long.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Aligned<B>(B);
