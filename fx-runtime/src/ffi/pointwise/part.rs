//! Some elements of a pass: the way over memory around the loop of a computation.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use fx_ir::ops::group::{MOST_INPUTS, MOST_RESULTS};

use super::half::Half;
use super::walk::{Place, Walk};
use super::{Aligned, BLOCK, BlocksFn, Number, Source};
use crate::ffi::vector::Body;

/// A pass over memory. Where elements have two bytes the addresses are theirs.
pub(super) struct Job<'a, T> {
    pub(super) compute: BlocksFn<T>,
    pub(super) numbers: &'a [T],
    pub(super) walk: &'a Walk,
    pub(super) half: Option<Half>,
    pub(super) inputs: [*const T; MOST_INPUTS],
    pub(super) outputs: Vec<*mut T>,
}

// SAFETY: the inputs are only read, and each part writes elements of its own.
unsafe impl<T: Number> Sync for Job<'_, T> {}

/// The elements `first..last` of a pass.
pub(super) struct Part<'a, T> {
    pub(super) job: &'a Job<'a, T>,
    pub(super) first: usize,
    pub(super) last: usize,
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
