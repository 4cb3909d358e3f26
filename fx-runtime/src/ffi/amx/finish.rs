//! What becomes of a block of sums: bias, addition and activation, and the way to its place.

use std::ops::Range;

use super::super::lanes::{Kernel, Lanes, on_lanes};
use super::super::product::{Matrix, PANEL, multiply};
use super::super::tail::Tail;
use super::super::vector::{Body, vectorised};
use super::RUN;
use super::call::Call;
use super::split::fetch_line;

impl<T: Tail> Call<'_, T> {
    /// Brings a block's place into the cache, and what is added to it.
    pub(super) fn fetch(&self, rows: &Range<usize>, panel: usize) {
        for row in rows.clone() {
            let offset = row * self.matrix.out + panel * PANEL;
            for line in [offset, offset + PANEL / 2] {
                fetch_line(self.y.wrapping_add(line));
                if let Some(other) = self.other {
                    fetch_line(other.wrapping_add(line));
                }
            }
        }
    }

    /// The sums of a block, number by number: the parts of an infinity are none, though its product may be one.
    ///
    /// # Safety
    ///
    /// The block has room for so many rows of [`PANEL`] floats, and so has `spare`.
    pub(super) unsafe fn compute_plainly(&self, rows: &Range<usize>, panel: usize, block: *mut f32, spare: *mut f32) {
        let depth = self.matrix.depth;
        for start in (0..depth).step_by(RUN) {
            let left = Matrix { start: self.x.wrapping_add(rows.start * depth + start), step: depth };
            let right = self.matrix.panel(panel).wrapping_add(start * PANEL);
            let result = Matrix { start: if start == 0 { block } else { spare }, step: PANEL };
            on_lanes(Plain { rows: rows.len(), depth: RUN.min(depth - start), left, right, result });
            if start > 0 {
                // SAFETY: by this function's contract.
                unsafe { add(rows.len(), block, spare) };
            }
        }
    }

    /// Bias, addition and activation of a block, which then goes to its place.
    ///
    /// # Safety
    ///
    /// The block holds so many rows of [`PANEL`] floats, `spare` has room for as many, and nobody else writes these
    /// results.
    pub(super) unsafe fn finish(&self, rows: &Range<usize>, panel: usize, block: *mut f32, spare: *mut f32) {
        let (out, first) = (self.matrix.out, panel * PANEL);
        let offset = rows.start * out + first;
        vectorised(Finish {
            tail: self.tail,
            y: Matrix { start: self.y.wrapping_add(offset), step: out },
            other: self.other.map(|other| Matrix { start: other.wrapping_add(offset), step: out }),
            first,
            width: PANEL.min(out - first),
            rows: rows.len(),
            block,
            spare,
        });
    }
}

/// Whether all sums of a block are.
///
/// # Safety
///
/// The block holds so many rows of [`PANEL`] floats.
pub(super) unsafe fn is_finite(rows: usize, block: *const f32) -> bool {
    // SAFETY: by this function's contract.
    vectorised(AreFinite(unsafe { std::slice::from_raw_parts(block, rows * PANEL) }))
}

/// Adds a block to another.
///
/// # Safety
///
/// Both hold so many rows of [`PANEL`] floats.
pub(super) unsafe fn add(rows: usize, to: *mut f32, block: *const f32) {
    let length = rows * PANEL;
    // SAFETY: by this function's contract.
    let (to, from) = unsafe { (std::slice::from_raw_parts_mut(to, length), std::slice::from_raw_parts(block, length)) };
    vectorised(Add { to, from });
}

/// Rows with a panel.
struct Plain {
    rows: usize,
    depth: usize,
    left: Matrix<*const f32>,
    right: *const f32,
    result: Matrix<*mut f32>,
}

impl Kernel for Plain {
    #[allow(clippy::inline_always, reason = "what is not inlined has no vectors")]
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: the CPU has the registers by the contract of `run`; both matrices are there.
        unsafe { multiply::<V>(self.rows, self.depth, self.left, self.right, self.result, false) };
    }
}

struct Add<'a> {
    to: &'a mut [f32],
    from: &'a [f32],
}

impl Body for Add<'_> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn run(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to += from;
        }
    }
}

struct AreFinite<'a>(&'a [f32]);

impl Body for AreFinite<'_> {
    type Output = bool;

    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn run(self) -> bool {
        self.0.iter().fold(0, |most, x| most.max(x.abs().to_bits())) < f32::INFINITY.to_bits()
    }
}

struct Finish<'a, T> {
    tail: &'a T,
    y: Matrix<*mut f32>,
    other: Option<Matrix<*const f32>>,
    /// Columns of the whole.
    first: usize,
    width: usize,
    rows: usize,
    block: *mut f32,
    spare: *mut f32,
}

impl<T: Tail> Body for Finish<'_, T> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn run(self) {
        // Most panels are whole: all loops over a row have a known length then.
        if self.width == PANEL { self.with(PANEL) } else { self.with(self.width) }
    }
}

impl<T: Tail> Finish<'_, T> {
    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn with(&self, width: usize) {
        let Self { y, rows, block, spare, .. } = *self;
        // SAFETY: by the contract of `Call::finish`; rows move towards the start of the block, or stay.
        unsafe {
            if width < PANEL {
                for row in 1..rows {
                    block.add(row * width).copy_from(block.add(row * PANEL), width);
                }
            }
            let other = self.other.map(|other| {
                for row in 0..rows {
                    spare.add(row * width).copy_from_nonoverlapping(other.start.add(row * other.step), width);
                }
                std::slice::from_raw_parts(spare.cast_const(), rows * width)
            });
            if other.is_some() || !self.tail.is_nothing() {
                let block = std::slice::from_raw_parts_mut(block, rows * width);
                self.tail.finish(self.first, width, block, other);
            }
            for row in 0..rows {
                y.start.add(row * y.step).copy_from_nonoverlapping(block.add(row * width), width);
            }
        }
    }
}
