//! Products that are computed a panel of columns at a time: who does what, and what becomes of a block of sums.

use std::marker::PhantomData;
use std::ops::Range;

use tch::TchError;

use super::buffer::with_scratch;
use super::epilogue::Epilogue;
use super::lanes::{SECOND_CACHE, fetch_line};
use super::omp_threads::{share, threads, try_each_part};
use super::operands::Operands;
use super::product::{Matrix, PANEL};
use super::vector::{Body, vectorised};

/// What a product may lack.
pub(super) const MEMORY: &str = "memory for a product";
/// Shares of the work for each thread: a core whose other hardware thread is busy is slower, and whoever is free does
/// what is left.
pub(super) const SHARES: usize = 2;
/// Multiplications that are worth a thread of their own.
const WORTH: usize = 1 << 14;

/// Where the blocks of a product go, row by row.
pub(super) struct Place<'a, T> {
    y: *mut f32,
    other: Option<*const f32>,
    pub(super) rows: usize,
    out: usize,
    epilogue: &'a T,
    operands: PhantomData<&'a Operands>,
}

// SAFETY: what is added is read alone, and threads write disjoint results.
unsafe impl<T: Sync> Sync for Place<'_, T> {}

impl<'a, T: Epilogue> Place<'a, T> {
    pub(super) fn new(operands: &'a Operands, epilogue: &'a T) -> Self {
        let &Operands { rows, out, .. } = operands;
        Self { y: operands.y(), other: operands.other(), rows, out, epilogue, operands: PhantomData }
    }

    pub(super) fn panels(&self) -> usize {
        self.out.div_ceil(PANEL)
    }

    /// Computes all results over a depth, panel by panel, at most `most` rows at a time: `compute` leaves the sums of some
    /// rows with a panel in a block of [`PANEL`] columns, and may use another one of the same size.
    ///
    /// # Errors
    ///
    /// Too little memory for two blocks.
    ///
    /// # Safety
    ///
    /// Nobody else has the result; `compute` writes all sums of its block.
    pub(super) unsafe fn by_panels<F>(&self, depth: usize, most: usize, compute: F) -> Result<(), TchError>
    where
        F: Fn(Range<usize>, usize, *mut f32, *mut f32) + Sync,
    {
        let rows = self.rows;
        let panels = self.panels();
        let worth = rows.saturating_mul(depth).saturating_mul(panels * PANEL) / WORTH;
        let parts = worth.clamp(1, (2 * SHARES * threads()).min(panels));
        let pieces = rows.div_ceil(most);
        let block = rows.div_ceil(pieces) * PANEL;
        try_each_part(parts, MEMORY, &|part| {
            with_scratch(2 * block * size_of::<f32>(), |scratch| {
                let sums = scratch.cast::<f32>();
                for piece in 0..pieces {
                    let rows = share(rows, piece, pieces);
                    for panel in share(panels, part, parts) {
                        // SAFETY: there is room for two blocks, and the results of this panel are this part's.
                        unsafe {
                            let spare = sums.add(block);
                            self.fetch::<SECOND_CACHE>(&rows, panel);
                            compute(rows.clone(), panel, sums, spare);
                            self.finish(&rows, panel, sums, spare);
                        }
                    }
                }
                Ok(())
            })
        })
    }

    /// Brings a block's place into a cache, and what is added to it.
    pub(super) fn fetch<const CACHE: i32>(&self, rows: &Range<usize>, panel: usize) {
        let ends = [0, PANEL / 2, PANEL - 1];
        // Where rows begin within a line a panel lies in three.
        let ends = if self.out.is_multiple_of(PANEL / 2) { &ends[..2] } else { &ends };
        for row in rows.clone() {
            for end in ends {
                let offset = row * self.out + panel * PANEL + end;
                fetch_line::<CACHE>(self.y.wrapping_add(offset));
                if let Some(other) = self.other {
                    fetch_line::<CACHE>(other.wrapping_add(offset));
                }
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
        let (out, first) = (self.out, panel * PANEL);
        let offset = rows.start * out + first;
        vectorised(ApplyEpilogue {
            epilogue: self.epilogue,
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

struct ApplyEpilogue<'a, T> {
    epilogue: &'a T,
    y: Matrix<*mut f32>,
    other: Option<Matrix<*const f32>>,
    /// Columns of the whole.
    first: usize,
    width: usize,
    rows: usize,
    block: *mut f32,
    spare: *mut f32,
}

impl<T: Epilogue> Body for ApplyEpilogue<'_, T> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn run(self) {
        // Most panels are whole: all loops over a row have a known length then.
        if self.width == PANEL { self.with(PANEL) } else { self.with(self.width) }
    }
}

impl<T: Epilogue> ApplyEpilogue<'_, T> {
    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn with(&self, width: usize) {
        let Self { y, rows, block, spare, .. } = *self;
        // SAFETY: by the contract of `Place::finish`; rows move towards the start of the block, or stay.
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
            if other.is_some() || !self.epilogue.is_nothing() {
                let block = std::slice::from_raw_parts_mut(block, rows * width);
                self.epilogue.apply(self.first, width, block, other);
            }
            for row in 0..rows {
                y.start.add(row * y.step).copy_from_nonoverlapping(block.add(row * width), width);
            }
        }
    }
}
