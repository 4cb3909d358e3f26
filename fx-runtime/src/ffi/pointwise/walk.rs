//! The way through the inputs of a pass, in the order of its results' memory.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use super::{BLOCK, MAX_RANK, Number, Operand};

/// How the inputs lie, as seen along the results' memory.
#[derive(Debug)]
pub(super) struct Walk<const I: usize> {
    /// Elements of a result.
    pub(super) count: usize,
    /// Does the input lie as the results do?
    pub(super) is_linear: [bool; I],
    /// Axes, innermost first: lengths, and steps of the inputs. Neighbours that every input passes in one step are one.
    pub(super) axes: [(usize, [isize; I]); MAX_RANK],
    pub(super) rank: usize,
}

impl<const I: usize> Walk<I> {
    /// None where the result has gaps or an input does not broadcast to it.
    pub(super) fn new(inputs: &[Operand<'_>; I], sizes: &[i64], strides: &[i64]) -> Option<Self> {
        let mut order: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let order = order.get_mut(..sizes.len())?;
        order.sort_by_key(|&axis| strides[axis]);
        let mut walk = Self { count: 1, is_linear: [true; I], axes: [(1, [0; I]); MAX_RANK], rank: 1 };
        for &axis in order.iter().filter(|&&axis| sizes[axis] != 1) {
            let length = usize::try_from(sizes[axis]).ok().filter(|&length| length > 0)?;
            let step = usize::try_from(strides[axis]).ok().filter(|&step| step == walk.count)?;
            let mut steps = [0; I];
            for (input, (own, is_linear)) in inputs.iter().zip(steps.iter_mut().zip(&mut walk.is_linear)) {
                *own = input.step(axis, sizes)?;
                *is_linear &= usize::try_from(*own) == Ok(step);
            }
            walk.count = walk.count.checked_mul(length)?;
            walk.push(length, steps);
        }
        inputs.iter().all(|input| input.facts.sizes().len() <= sizes.len()).then_some(walk)
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
    offsets: [isize; I],
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
    fn advance(&mut self, walk: &Walk<I>) {
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

    /// Puts the next elements of the inputs that lie otherwise than the result into buffers, unless they lie in a row.
    ///
    /// # Safety
    ///
    /// There are `count` more elements, at most [`BLOCK`], and the walk is that of the inputs.
    #[inline(always)]
    pub(super) unsafe fn gather<T: Number>(
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
unsafe fn copy<T: Number>(from: *const T, step: isize, to: &mut [T]) {
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
