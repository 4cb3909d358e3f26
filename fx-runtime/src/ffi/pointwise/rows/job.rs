//! The rows of a job, one after the other, and the passes over each.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(clippy::cast_ptr_alignment, reason = "addresses of elements are held as bytes")]

use fx_ir::ops::group::{MOST_INPUTS, MOST_REDUCTIONS};

use super::super::half::Half;
use super::super::walk::{Place, Walk};
use super::super::{Aligned, BLOCK, Number};
use super::total::Total;
use super::{Kept, RowBlocks};

/// A go over memory; addresses are of bytes, since elements may have two.
pub(crate) struct Job<'a> {
    pub(super) walk: &'a Walk,
    pub(super) half: Option<Half>,
    pub(super) inputs: [*const u8; MOST_INPUTS],
    pub(super) outputs: Vec<*mut u8>,
    pub(super) is_whole: &'a [bool],
}

// SAFETY: the inputs are only read, and each part writes rows of its own.
unsafe impl Sync for Job<'_> {}

/// The inputs of one row.
pub(super) struct Row<T> {
    pub(super) number: usize,
    pub(super) from: [*const u8; MOST_INPUTS],
    /// Blocks of what is one number for the row, and of what is not a whole block of numbers.
    pub(super) buffers: Aligned<[[T; BLOCK]; MOST_INPUTS]>,
}

impl Job<'_> {
    /// Goes to a row.
    pub(super) fn enter<T: Number>(&self, row: &mut Row<T>, place: &Place) {
        let (_, steps) = self.walk.axes[0];
        let bytes = self.bytes::<T>();
        for (input, step) in steps.into_iter().enumerate().take(self.walk.inputs) {
            // SAFETY: this is where the row begins in the input, by the walk.
            row.from[input] = unsafe { self.inputs[input].offset(place.offsets[input] * bytes.cast_signed()) };
            if step == 0 {
                // SAFETY: the row has an element there.
                row.buffers.0[input] = [unsafe { self.element(row.from[input]) }; BLOCK];
            }
        }
    }

    fn bytes<T>(&self) -> usize {
        if self.half.is_some() { 2 } else { size_of::<T>() }
    }

    /// # Safety
    ///
    /// An element lies there.
    unsafe fn element<T: Number>(&self, from: *const u8) -> T {
        match self.half {
            // SAFETY: by this function's contract.
            Some(half) => T::widen(half, &[unsafe { *from.cast::<u16>() }; BLOCK])[0],
            // SAFETY: as above.
            None => unsafe { *from.cast::<T>() },
        }
    }

    /// Passes over the row; what is asked in this pass, or zero in the last.
    #[inline(always)]
    pub(super) fn pass<
        B: RowBlocks<T, I, N, O>,
        T: Number,
        const I: usize,
        const N: usize,
        const O: usize,
        const PASS: usize,
    >(
        &self,
        row: &mut Row<T>,
        numbers: [T; N],
        known: &[T; MOST_REDUCTIONS],
        scratch: &mut [Aligned<Kept<T>>],
    ) -> T {
        let (length, _) = self.walk.axes[0];
        let is_last = PASS == B::REDUCTIONS;
        // Results that are one number for the row need one block alone.
        let end = if is_last && !self.is_whole.contains(&true) { length.min(BLOCK) } else { length };
        let (mut values, mut results) = (Aligned([T::ZERO; BLOCK]), Aligned([[T::ZERO; BLOCK]; O]));
        let mut total = Total::new();
        for (number, Aligned(kept)) in scratch.iter_mut().enumerate() {
            let at = number * BLOCK;
            if at >= end {
                break;
            }
            let count = (length - at).min(BLOCK);
            // SAFETY: the elements `at..at + count` of the row exist.
            let inputs = unsafe { self.block_of::<T, I>(row, at, count) };
            let asked = B::block::<PASS>(inputs, numbers, known, kept, &mut values.0, &mut results.0);
            if let Some(reduction) = asked {
                total.add(reduction, number, &values.0, count);
            }
            if is_last {
                // SAFETY: as above, and this part alone writes this row.
                unsafe { self.store(row.number, at, count, &results.0) };
            }
        }
        total.end(length)
    }

    /// The inputs from element `at` of the row on.
    ///
    /// # Safety
    ///
    /// There are `count` of them, at most [`BLOCK`].
    #[inline(always)]
    unsafe fn block_of<'r, T: Number, const I: usize>(
        &self,
        row: &'r mut Row<T>,
        at: usize,
        count: usize,
    ) -> [&'r [T; BLOCK]; I] {
        let (_, steps) = self.walk.axes[0];
        let mut sources: [*const T; I] = [std::ptr::null(); I];
        for input in 0..I {
            let buffer = &mut row.buffers.0[input];
            sources[input] = buffer.as_ptr();
            if steps[input] == 0 {
                continue;
            }
            if let Some(half) = self.half {
                let mut bits = [0; BLOCK];
                // SAFETY: by this function's contract.
                unsafe {
                    let from = row.from[input].cast::<u16>().add(at);
                    std::ptr::copy_nonoverlapping(from, bits.as_mut_ptr(), count);
                }
                *buffer = T::widen(half, &bits);
                continue;
            }
            // SAFETY: as above.
            let from = unsafe { row.from[input].cast::<T>().add(at) };
            if count == BLOCK {
                sources[input] = from;
            } else {
                // SAFETY: as above, and a buffer has room for a block.
                unsafe { std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), count) };
            }
        }
        // SAFETY: each is a buffer of the row, or a whole block of an input.
        sources.map(|source| unsafe { &*source.cast::<[T; BLOCK]>() })
    }

    /// Writes the results from element `at` of a row on.
    ///
    /// # Safety
    ///
    /// There are `count` of them, at most [`BLOCK`], and nobody else writes them.
    #[inline(always)]
    unsafe fn store<T: Number>(&self, row: usize, at: usize, count: usize, results: &[[T; BLOCK]]) {
        let (length, _) = self.walk.axes[0];
        for (output, numbers) in results.iter().enumerate() {
            let (element, count) =
                if self.is_whole[output] { (row * length + at, count) } else { (row, usize::from(at == 0)) };
            // SAFETY: a result has a row, or an element, for each row of the walk.
            unsafe {
                let to = self.outputs[output].add(element * self.bytes::<T>());
                if let Some(half) = self.half {
                    let bits = T::narrow(half, numbers);
                    std::ptr::copy_nonoverlapping(bits.as_ptr(), to.cast(), count);
                } else if count == BLOCK {
                    // Of known length, so that no function is called.
                    to.cast::<[T; BLOCK]>().write_unaligned(*numbers);
                } else {
                    std::ptr::copy_nonoverlapping(numbers.as_ptr(), to.cast(), count);
                }
            }
        }
    }
}
