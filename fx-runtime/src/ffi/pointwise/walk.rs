//! The way through the inputs of a pass, in the order of its results' memory.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use fx_ir::ops::group::MOST_INPUTS;

use super::{BLOCK, MAX_RANK, Operand, Source};
use crate::ffi::memory_format::is_dense_in;

/// How the inputs lie, as seen along the results' memory.
#[derive(Debug)]
pub(super) struct Walk {
    /// How many inputs there are; what is said of others means nothing.
    pub(super) inputs: usize,
    /// Elements of a result.
    pub(super) count: usize,
    /// Whether the input lies as the results do.
    pub(super) is_linear: [bool; MOST_INPUTS],
    /// Axes, innermost first: lengths, and steps of the inputs. Neighbours that every input passes in one step are one.
    pub(super) axes: [(usize, [isize; MOST_INPUTS]); MAX_RANK],
    pub(super) rank: usize,
}

impl Walk {
    /// None where the result has gaps, an input does not broadcast to it, or there are more inputs than a pass reads.
    pub(super) fn new(inputs: &[Operand<'_>], sizes: &[i64], strides: &[i64]) -> Option<Self> {
        let lies_alike = |input: &Operand<'_>| input.facts.sizes() == sizes && input.strides[..sizes.len()] == *strides;
        if is_dense_in(sizes, strides, (0..sizes.len()).rev()) && inputs.iter().all(lies_alike) {
            return Self::in_a_row(inputs.len(), sizes);
        }
        let mut order: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let order = order.get_mut(..sizes.len())?;
        order.sort_by_key(|&axis| strides[axis]);
        let mut walk = Self::of_nothing(inputs.len())?;
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
    pub(super) fn of_rows(inputs: &[Operand<'_>], sizes: &[i64]) -> Option<Self> {
        let mut walk = Self::of_nothing(inputs.len())?;
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
        let is_plain = steps[..inputs.len()].iter().all(|step| matches!(step, 0 | 1));
        let broadcasts = inputs.iter().all(|input| input.facts.sizes().len() <= sizes.len());
        (is_plain && broadcasts).then_some(walk)
    }

    /// For inputs that lie as the results do, without gaps.
    fn in_a_row(inputs: usize, sizes: &[i64]) -> Option<Self> {
        let count: i64 = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
        let mut walk = Self::of_nothing(inputs)?;
        walk.count = usize::try_from(count).ok().filter(|&count| count > 0)?;
        walk.axes[0] = (walk.count, [1; MOST_INPUTS]);
        Some(walk)
    }

    /// One element, without axes.
    fn of_nothing(inputs: usize) -> Option<Self> {
        let axes = [(1, [0; MOST_INPUTS]); MAX_RANK];
        (inputs <= MOST_INPUTS).then_some(Self { inputs, count: 1, is_linear: [true; MOST_INPUTS], axes, rank: 1 })
    }

    /// Of each input, whether it lies as the results do.
    pub(super) fn is_linear(&self) -> &[bool] {
        &self.is_linear[..self.inputs]
    }

    /// Of each axis, innermost first, its length and the steps of the inputs.
    pub(super) fn axes(&self) -> impl Iterator<Item = (usize, &[isize])> {
        self.axes[..self.rank].iter().map(|(length, steps)| (*length, &steps[..self.inputs]))
    }

    /// From one element to the next along an axis, in which the results take so large a step.
    fn steps(
        &mut self,
        inputs: &[Operand<'_>],
        axis: usize,
        sizes: &[i64],
        step: usize,
    ) -> Option<[isize; MOST_INPUTS]> {
        let mut steps = [0; MOST_INPUTS];
        for (input, (own, is_linear)) in inputs.iter().zip(steps.iter_mut().zip(&mut self.is_linear)) {
            *own = input.step(axis, sizes)?;
            *is_linear &= usize::try_from(*own) == Ok(step);
        }
        Some(steps)
    }

    /// Whether the inputs that lie otherwise than the results pass rows in single steps or not at all.
    fn is_in_rows(&self) -> bool {
        let mut all = self.is_linear.iter().zip(&self.axes[0].1).take(self.inputs);
        all.all(|(is_linear, step)| *is_linear || matches!(step, 0 | 1))
    }

    fn push(&mut self, length: usize, steps: [isize; MOST_INPUTS]) {
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
pub(super) struct Place {
    /// Position along the innermost axis.
    inner: usize,
    /// Positions along the others.
    outer: [usize; MAX_RANK],
    /// Of each input, where the innermost axis begins.
    pub(super) offsets: [isize; MOST_INPUTS],
}

impl Place {
    pub(super) fn new(walk: &Walk, element: usize) -> Self {
        let (length, _) = walk.axes[0];
        let mut place = Self { inner: element % length, outer: [0; MAX_RANK], offsets: [0; MOST_INPUTS] };
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
    pub(super) fn advance(&mut self, walk: &Walk) {
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

    /// Where the next elements of the inputs are, those from element `at` of the result on: in the inputs, as many blocks as
    /// lie there in rows, of which it returns the number; else one block in buffers. Where there are no whole blocks left,
    /// the last one is in buffers.
    ///
    /// # Safety
    ///
    /// There are `left` more elements, and the walk is that of the inputs.
    #[inline(always)]
    pub(super) unsafe fn blocks<T: Copy>(
        &mut self,
        walk: &Walk,
        inputs: &[*const T; MOST_INPUTS],
        (at, left): (usize, usize),
        buffers: &mut [[T; BLOCK]; MOST_INPUTS],
        sources: &mut [Source<T>; MOST_INPUTS],
    ) -> usize {
        let count = left.min(BLOCK);
        let mut blocks = (left / BLOCK).max(1);
        if walk.is_linear().contains(&false) {
            let (length, _) = walk.axes[0];
            let row = (length - self.inner) / BLOCK;
            if row > 0 && count == BLOCK && walk.is_in_rows() {
                blocks = blocks.min(row);
                // SAFETY: by this function's contract.
                unsafe { self.row(walk, inputs, blocks, buffers, sources) };
            } else {
                blocks = 1;
                // SAFETY: as above.
                unsafe { self.gather(walk, inputs, count, buffers, sources) };
            }
        }
        for input in 0..walk.inputs {
            if walk.is_linear[input] {
                // SAFETY: the input lies as the result does, which has `at + left` elements.
                let from = unsafe { inputs[input].add(at) };
                sources[input] = Source { from, step: BLOCK };
                if count < BLOCK {
                    // SAFETY: as above, and a buffer has room for a block.
                    unsafe { std::ptr::copy_nonoverlapping(from, buffers[input].as_mut_ptr(), count) };
                    sources[input] = Source { from: buffers[input].as_ptr(), step: 0 };
                }
            }
        }
        blocks
    }

    /// So many blocks of the inputs that lie otherwise than the result, all in one row.
    ///
    /// # Safety
    ///
    /// The row has so many more blocks, and the walk is that of the inputs, which pass rows in single steps or not at all.
    #[inline(always)]
    unsafe fn row<T: Copy>(
        &mut self,
        walk: &Walk,
        inputs: &[*const T; MOST_INPUTS],
        blocks: usize,
        buffers: &mut [[T; BLOCK]; MOST_INPUTS],
        sources: &mut [Source<T>; MOST_INPUTS],
    ) {
        let (length, steps) = walk.axes[0];
        for input in (0..walk.inputs).filter(|&input| !walk.is_linear[input]) {
            // SAFETY: this is where the element at this place of the result comes from.
            let from = unsafe { inputs[input].offset(self.offsets[input] + self.inner.cast_signed() * steps[input]) };
            sources[input] = if steps[input] == 0 {
                // SAFETY: there is an element.
                buffers[input] = [unsafe { *from }; BLOCK];
                Source { from: buffers[input].as_ptr(), step: 0 }
            } else {
                Source { from, step: BLOCK }
            };
        }
        self.inner += blocks * BLOCK;
        if self.inner == length {
            self.advance(walk);
        }
    }

    /// Puts the next block of the inputs that lie otherwise than the result into buffers.
    ///
    /// # Safety
    ///
    /// There are `count` more elements, at most [`BLOCK`], and the walk is that of the inputs.
    #[inline(always)]
    unsafe fn gather<T: Copy>(
        &mut self,
        walk: &Walk,
        inputs: &[*const T; MOST_INPUTS],
        count: usize,
        buffers: &mut [[T; BLOCK]; MOST_INPUTS],
        sources: &mut [Source<T>; MOST_INPUTS],
    ) {
        let (length, steps) = walk.axes[0];
        let mut done = 0;
        while done < count {
            let run = (length - self.inner).min(count - done);
            for input in (0..walk.inputs).filter(|&input| !walk.is_linear[input]) {
                let step = steps[input];
                // SAFETY: this is where the element at this place of the result comes from; the row goes on for `run`
                // elements, and so does the block.
                unsafe {
                    let from = inputs[input].offset(self.offsets[input] + self.inner.cast_signed() * step);
                    copy(from, step, &mut buffers[input][done..done + run]);
                }
                sources[input] = Source { from: buffers[input].as_ptr(), step: 0 };
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
