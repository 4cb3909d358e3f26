//! Blocks of sums: those that the tiles cannot compute, and sums of sums.

use std::ops::Range;

use super::super::lanes::{Kernel, Lanes, on_lanes};
use super::super::product::{Floats, Matrix, PANEL, multiply};
use super::super::vector::{Body, vectorised};
use super::RUN;
use super::call::Call;

impl<T> Call<'_, T> {
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
        unsafe { multiply::<V, Floats>((self.rows, PANEL), self.depth, self.left, self.right, self.result, false) };
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
