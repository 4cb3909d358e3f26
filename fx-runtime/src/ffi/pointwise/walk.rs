//! The way through the inputs of a pass, in the order of its results' memory.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use super::{BLOCK, MAX_RANK, Operand};
use crate::ffi::memory_format::is_dense_in;

/// How the inputs lie, as seen along the results' memory.
#[derive(Debug)]
pub(super) struct Walk<const I: usize> {
    /// Elements of a result.
    pub(super) count: usize,
    /// Whether the input lies as the results do.
    pub(super) is_linear: [bool; I],
    /// Axes, innermost first: lengths, and steps of the inputs. Neighbours that every input passes in one step are one.
    pub(super) axes: [(usize, [isize; I]); MAX_RANK],
    pub(super) rank: usize,
}

impl<const I: usize> Walk<I> {
    /// None where the result has gaps or an input does not broadcast to it.
    pub(super) fn new(inputs: &[Operand<'_>; I], sizes: &[i64], strides: &[i64]) -> Option<Self> {
        let lies_alike = |input: &Operand<'_>| input.facts.sizes() == sizes && input.strides[..sizes.len()] == *strides;
        if is_dense_in(sizes, strides, (0..sizes.len()).rev()) && inputs.iter().all(lies_alike) {
            return Self::in_a_row(sizes);
        }
        let mut order: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let order = order.get_mut(..sizes.len())?;
        order.sort_by_key(|&axis| strides[axis]);
        let mut walk = Self::of_nothing();
        for &axis in order.iter().filter(|&&axis| sizes[axis] != 1) {
            let length = usize::try_from(sizes[axis]).ok().filter(|&length| length > 0)?;
            let step = usize::try_from(strides[axis]).ok().filter(|&step| step == walk.count)?;
            let steps = walk.steps(inputs, axis, sizes, step)?;
            walk.count = walk.count.checked_mul(length)?;
            walk.push(length, steps);
        }
        inputs.iter().all(|input| input.facts.sizes().len() <= sizes.len()).then_some(walk)
    }

    /// The way through rows, for results that are contiguous: the first axis is the row, which an input passes in single
    /// steps or not at all. None where one does otherwise, or does not broadcast.
    pub(super) fn of_rows(inputs: &[Operand<'_>; I], sizes: &[i64]) -> Option<Self> {
        let mut walk = Self::of_nothing();
        for axis in (0..sizes.len()).rev() {
            let length = usize::try_from(sizes[axis]).ok().filter(|&length| length > 0)?;
            let steps = walk.steps(inputs, axis, sizes, walk.count)?;
            walk.count = walk.count.checked_mul(length)?;
            if axis + 1 == sizes.len() {
                walk.axes[0] = (length, steps);
                // The next axis is not joined to it.
                walk.rank = 2;
            } else if length != 1 {
                walk.push(length, steps);
            }
        }
        let (_, steps) = walk.axes[0];
        let is_plain = steps.iter().all(|step| matches!(step, 0 | 1));
        let broadcasts = inputs.iter().all(|input| input.facts.sizes().len() <= sizes.len());
        (is_plain && broadcasts).then_some(walk)
    }

    /// For inputs that lie as the results do, without gaps.
    fn in_a_row(sizes: &[i64]) -> Option<Self> {
        let count: i64 = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
        let mut walk = Self::of_nothing();
        walk.count = usize::try_from(count).ok().filter(|&count| count > 0)?;
        walk.axes[0] = (walk.count, [1; I]);
        Some(walk)
    }

    /// One element, without axes.
    fn of_nothing() -> Self {
        Self { count: 1, is_linear: [true; I], axes: [(1, [0; I]); MAX_RANK], rank: 1 }
    }

    /// From one element to the next along an axis, in which the results take so large a step.
    fn steps(&mut self, inputs: &[Operand<'_>; I], axis: usize, sizes: &[i64], step: usize) -> Option<[isize; I]> {
        let mut steps = [0; I];
        for (input, (own, is_linear)) in inputs.iter().zip(steps.iter_mut().zip(&mut self.is_linear)) {
            *own = input.step(axis, sizes)?;
            *is_linear &= usize::try_from(*own) == Ok(step);
        }
        Some(steps)
    }

    fn push(&mut self, length: usize, steps: [isize; I]) {
        let (inner, inner_steps) = self.axes[self.rank - 1];
        let goes_on = |(step, inner_step): (&isize, &isize)| *step == inner_step.wrapping_mul(inner.cast_signed());
        if inner == 1 {
            self.axes[self.rank - 1] = (length, steps);
        } else if steps.iter().zip(&inner_steps).all(goes_on) {
            self.axes[self.rank - 1].0 *= length;
        } else {
            self.axes[self.rank] = (length, steps);
            self.rank += 1;
        }
    }
}

impl Operand<'_> {
    /// From one element to the next along an axis of the result; none if the input does not broadcast to it.
    fn step(&self, axis: usize, sizes: &[i64]) -> Option<isize> {
        let own = self.facts.sizes();
        let Some(own_axis) = (axis + own.len()).checked_sub(sizes.len()) else { return Some(0) };
        match own[own_axis] {
            1 => Some(0),
            length if length == sizes[axis] => isize::try_from(self.strides[own_axis]).ok(),
            _ => None,
        }
    }
}

/// Where in the inputs an element of the result comes from.
pub(super) struct Place<const I: usize> {
    /// Position along the innermost axis.
    inner: usize,
    /// Positions along the others.
    outer: [usize; MAX_RANK],
    /// Of each input, where the innermost axis begins.
    pub(super) offsets: [isize; I],
}

impl<const I: usize> Place<I> {
    pub(super) fn new(walk: &Walk<I>, element: usize) -> Self {
        let (length, _) = walk.axes[0];
        let mut place = Self { inner: element % length, outer: [0; MAX_RANK], offsets: [0; I] };
        let mut rest = element / length;
        for axis in 1..walk.rank {
            let (length, steps) = walk.axes[axis];
            place.outer[axis] = rest % length;
            rest /= length;
            for (offset, step) in place.offsets.iter_mut().zip(steps) {
                *offset += place.outer[axis].cast_signed() * step;
            }
        }
        place
    }

    /// Goes to the next row.
    #[inline(always)]
    pub(super) fn advance(&mut self, walk: &Walk<I>) {
        self.inner = 0;
        for axis in 1..walk.rank {
            let (length, steps) = walk.axes[axis];
            self.outer[axis] += 1;
            let back = if self.outer[axis] == length { length.cast_signed() } else { 0 };
            for (offset, step) in self.offsets.iter_mut().zip(steps) {
                *offset += (1 - back) * step;
            }
            if back == 0 {
                return;
            }
            self.outer[axis] = 0;
        }
    }

    /// Where the next elements of the inputs are, those from element `at` of the result on: in the inputs, if a whole block
    /// lies there in a row, and else in buffers.
    ///
    /// # Safety
    ///
    /// There are `count` more elements, at most [`BLOCK`], and the walk is that of the inputs.
    #[inline(always)]
    pub(super) unsafe fn block<T: Copy>(
        &mut self,
        walk: &Walk<I>,
        inputs: &[*const T; I],
        at: usize,
        count: usize,
        buffers: &mut [[T; BLOCK]; I],
        sources: &mut [*const T; I],
    ) {
        if walk.is_linear.contains(&false) {
            // SAFETY: by this function's contract.
            unsafe { self.gather(walk, inputs, count, buffers, sources) };
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
    }

    /// Puts the next elements of the inputs that lie otherwise than the result into buffers, unless they lie in a row.
    ///
    /// # Safety
    ///
    /// There are `count` more elements, at most [`BLOCK`], and the walk is that of the inputs.
    #[inline(always)]
    unsafe fn gather<T: Copy>(
        &mut self,
        walk: &Walk<I>,
        inputs: &[*const T; I],
        count: usize,
        buffers: &mut [[T; BLOCK]; I],
        sources: &mut [*const T; I],
    ) {
        let (length, steps) = walk.axes[0];
        let mut done = 0;
        while done < count {
            let run = (length - self.inner).min(count - done);
            let mut input = 0;
            while input < I {
                if !walk.is_linear[input] {
                    let step = steps[input];
                    // SAFETY: this is where the element at this place of the result comes from.
                    let source = unsafe { inputs[input].offset(self.offsets[input] + self.inner.cast_signed() * step) };
                    if step == 1 && run == BLOCK {
                        sources[input] = source;
                    } else {
                        if step == 0 && run == BLOCK {
                            // SAFETY: there is an element.
                            buffers[input] = [unsafe { *source }; BLOCK];
                        } else {
                            // SAFETY: the row goes on for `run` elements, and so does the block.
                            unsafe { copy(source, step, &mut buffers[input][done..done + run]) };
                        }
                        sources[input] = buffers[input].as_ptr();
                    }
                }
                input += 1;
            }
            (done, self.inner) = (done + run, self.inner + run);
            if self.inner == length {
                self.advance(walk);
            }
        }
    }
}

/// Copies elements that lie `step` apart.
///
/// # Safety
///
/// There are as many as `to` has.
#[inline(always)]
unsafe fn copy<T: Copy>(from: *const T, step: isize, to: &mut [T]) {
    match step {
        // SAFETY: by this function's contract.
        0 => to.fill(unsafe { *from }),
        // SAFETY: as above.
        1 => unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) },
        _ => {
            for (at, element) in to.iter_mut().enumerate() {
                // SAFETY: as above.
                *element = unsafe { *from.offset(at.cast_signed() * step) };
            }
        }
    }
}
