//! One go over the rows of tensors for a computation that asks for sums and maxima of them.
//!
//! A row is passed once for each thing that is asked, block by block, and once more for the results, while it lies in the
//! first cache. What a pass keeps for the later ones lies there too. Sums are taken in lanes, one for each place in a
//! block, of at most [`CHAIN`](total::CHAIN) terms each; the lanes are added in f64. So the error of a sum in f32 is at most `CHAIN` units
//! of 2⁻²⁴ of the sum of the terms' magnitudes, however long the row is, and that of its rounding.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

mod job;
mod total;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use fx_ir::ops::group::{MOST_INPUTS, MOST_REDUCTIONS};
use tch::{TchError, Tensor};

use super::half::Half;
use super::walk::{Place, Walk};
use super::{Aligned, BLOCK, GRAIN, Loop, MAX_RANK, Number, Operand, addresses, for_each_part, output_pool, threads};
use crate::ffi::omp_threads::share;
use crate::ffi::vector::{Body, vectorised};
use job::{Job, Row};

/// It keeps at most so many values of each element.
pub(crate) const MOST_KEPT: usize = 4;
/// Rows of fewer elements would leave most of a block empty.
pub(crate) const LEAST_LENGTH: usize = BLOCK / 2;
/// A thread keeps this much memory for its next rows.
const MOST_SCRATCH: usize = 1 << 20;

/// What is asked of the values of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    /// The natural logarithm of the sum.
    LogSum,
    /// NaN if there is one.
    Max,
}

/// The values of a block's elements that later passes read.
pub(crate) type Kept<T> = [[T; BLOCK]; MOST_KEPT];

/// A computation on rows, of `I` tensors and `N` numbers, that yields `O`.
pub(crate) trait RowBlocks<T, const I: usize, const N: usize, const O: usize> {
    /// How many things it asks for, one after the other.
    const REDUCTIONS: usize;

    /// Pass `PASS` over one block: what is asked in it, and its values; in the last pass the results instead. `known` are
    /// the answers so far. To be `#[inline(always)]`.
    fn block<const PASS: usize>(
        inputs: [&[T; BLOCK]; I],
        numbers: [T; N],
        known: &[T; MOST_REDUCTIONS],
        kept: &mut Kept<T>,
        values: &mut [T; BLOCK],
        outputs: &mut [[T; BLOCK]; O],
    ) -> Option<Reduction>;
}

/// Computes some rows of a job.
///
/// # Safety
///
/// There are as many inputs, numbers and results as the computation has, the job has these rows, which nobody else writes,
/// and there is scratch for every block of a row.
type RowsFn<T> = unsafe fn(job: &Job<'_>, numbers: &[T], rows: Range<usize>, scratch: &mut [Aligned<Kept<T>>]);

/// A loop over rows.
pub(crate) type RowLoop<T> = Loop<RowsFn<T>>;

impl<T: Number> RowLoop<T> {
    pub(crate) const fn of<B: RowBlocks<T, I, N, O>, const I: usize, const N: usize, const O: usize>() -> Self {
        Self::new(all_rows::<B, T, I, N, O>, I, N, O)
    }

    /// Computes the results, contiguous, of tensors that broadcast to `sizes`, whose last axis they pass in single steps or
    /// not at all; none where one lies otherwise. A result is of these sizes where `is_whole` says so; else its last axis
    /// has one element.
    pub(crate) fn run(
        &self,
        inputs: &[Operand<'_>],
        numbers: &[T],
        sizes: &[i64],
        is_whole: &[bool],
    ) -> Option<Result<Vec<Tensor>, TchError>> {
        let reads = self.reads(inputs, numbers).filter(|_| is_whole.len() == self.results)?;
        let walk = Walk::of_rows(inputs, sizes)?;
        Some(self.along(inputs, numbers, &walk, reads, (sizes, is_whole)))
    }

    /// The same, when it is known how to go.
    fn along(
        &self,
        inputs: &[Operand<'_>],
        numbers: &[T],
        walk: &Walk,
        (dtype, half): (i32, Option<Half>),
        (sizes, is_whole): (&[i64], &[bool]),
    ) -> Result<Vec<Tensor>, TchError> {
        let (length, bytes) = (walk.axes[0].0, if half.is_some() { 2 } else { size_of::<T>() });
        let rows = walk.count / length;
        let mut outputs = Vec::with_capacity(is_whole.len());
        for &is_whole in is_whole {
            let (mut own, mut strides) = ([0; MAX_RANK], [0; MAX_RANK]);
            let (own, strides) = (&mut own[..sizes.len()], &mut strides[..sizes.len()]);
            own.copy_from_slice(sizes);
            if let (Some(last), false) = (own.last_mut(), is_whole) {
                *last = 1;
            }
            let mut step = 1;
            for (stride, size) in strides.iter_mut().zip(&*own).rev() {
                *stride = step;
                step *= size;
            }
            let count = if is_whole { walk.count } else { rows };
            outputs.push(output_pool::tensor(own, strides, dtype, count * bytes)?);
        }
        let job = Job {
            walk,
            half,
            inputs: addresses(inputs),
            outputs: outputs.iter().map(|output| output.data_ptr().cast::<u8>()).collect(),
            is_whole,
        };
        let parts = (walk.count / GRAIN).clamp(1, rows);
        let parts = if parts == 1 { parts } else { parts.min(threads()) };
        let compute = self.compute;
        for_each_part(parts, &|part| {
            with_scratch(length.div_ceil(BLOCK), |scratch| {
                // SAFETY: there are as many inputs, numbers and results as the loop has; each part has rows of its own.
                unsafe { compute(&job, numbers, share(rows, part, parts), scratch) };
            });
        });
        Ok(outputs)
    }
}

/// Computes rows one after the other.
///
/// # Safety
///
/// As for [`RowsFn`].
unsafe fn all_rows<B: RowBlocks<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize>(
    job: &Job<'_>,
    numbers: &[T],
    rows: Range<usize>,
    scratch: &mut [Aligned<Kept<T>>],
) {
    if let Some(&numbers) = numbers.first_chunk::<N>() {
        vectorised(AllRows::<B, T, I, N, O> { job, numbers, rows, scratch, of: PhantomData });
    }
}

/// Rows to be computed, of a job that has them, as [`RowsFn`] says.
struct AllRows<'a, B, T, const I: usize, const N: usize, const O: usize> {
    job: &'a Job<'a>,
    numbers: [T; N],
    rows: Range<usize>,
    scratch: &'a mut [Aligned<Kept<T>>],
    of: PhantomData<B>,
}

impl<B: RowBlocks<T, I, N, O>, T: Number, const I: usize, const N: usize, const O: usize> Body
    for AllRows<'_, B, T, I, N, O>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { job, numbers, rows, scratch, of: _ } = self;
        let mut place = Place::new(job.walk, rows.start * job.walk.axes[0].0);
        let mut row = Row { number: rows.start, from: job.inputs, buffers: Aligned([[T::ZERO; BLOCK]; MOST_INPUTS]) };
        while row.number < rows.end {
            job.enter(&mut row, &place);
            let mut known = [T::ZERO; MOST_REDUCTIONS];
            // A pass is code of its own, and there is none that is not needed.
            if const { B::REDUCTIONS > 0 } {
                known[0] = job.pass::<B, T, I, N, O, 0>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS > 1 } {
                known[1] = job.pass::<B, T, I, N, O, 1>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS > 2 } {
                known[2] = job.pass::<B, T, I, N, O, 2>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS > 3 } {
                known[3] = job.pass::<B, T, I, N, O, 3>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS == 1 } {
                job.pass::<B, T, I, N, O, 1>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS == 2 } {
                job.pass::<B, T, I, N, O, 2>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS == 3 } {
                job.pass::<B, T, I, N, O, 3>(&mut row, numbers, &known, scratch);
            }
            if const { B::REDUCTIONS == 4 } {
                job.pass::<B, T, I, N, O, 4>(&mut row, numbers, &known, scratch);
            }
            row.number += 1;
            place.advance(job.walk);
        }
    }
}

/// Lends memory for what is kept of so many blocks.
fn with_scratch<T: Number>(blocks: usize, work: impl FnOnce(&mut [Aligned<Kept<T>>])) {
    thread_local! {
        static SCRATCH: Cell<Vec<Aligned<[u8; 64]>>> = const { Cell::new(Vec::new()) };
    }
    let mut memory = SCRATCH.take();
    let lines = blocks * size_of::<Kept<T>>() / 64;
    if memory.len() < lines {
        memory.resize(lines, Aligned([0; 64]));
    }
    // SAFETY: there are as many bytes, which are initialised, at a multiple of 64, and any bits are a number.
    work(unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), blocks) });
    if memory.len() * 64 <= MOST_SCRATCH {
        SCRATCH.set(memory);
    }
}
