//! One product: who does what.

use std::ops::Range;

use tch::TchError;

use super::super::buffer::with_scratch;
use super::super::pool::{share, threads, try_each_part};
use super::super::product::PANEL;
use super::super::tail::Tail;
use super::SplitMatrix;
use super::chunk::{Chunk, Size};
use super::tile::{TILE, Tiles};

/// What a product may lack.
const MEMORY: &str = "memory for a product";
/// Shares of the work for each thread: a core whose other hardware thread is busy has a third of the speed, and whoever is
/// free does what is left.
const SHARES: usize = 2;
/// With fewer rows a weight is split for too few of them.
const FEW_ROWS: usize = 48;
/// Multiplications that are worth a thread of their own.
const WORTH: usize = 1 << 14;

/// A product as its threads see it; `x`, `y` and `other` lie row by row.
pub(super) struct Call<'a, T> {
    pub(super) matrix: &'a SplitMatrix,
    pub(super) x: *const f32,
    pub(super) rows: usize,
    pub(super) y: *mut f32,
    pub(super) other: Option<*const f32>,
    pub(super) tail: &'a T,
}

// SAFETY: operands are read alone, and threads write disjoint results.
unsafe impl<T: Sync> Sync for Call<'_, T> {}

impl<T: Tail> Call<'_, T> {
    /// Computes all results.
    pub(super) fn run(&self) -> Result<(), TchError> {
        if self.rows < FEW_ROWS {
            return self.run_few();
        }
        let (tiles, panels) = (self.rows.div_ceil(TILE), self.matrix.panels());
        let (row_parts, panel_parts) = shares(tiles, panels);
        try_each_part(row_parts * panel_parts, MEMORY, &|part| {
            let tiles = share(tiles, part / panel_parts, row_parts);
            let rows = tiles.start * TILE..self.rows.min(tiles.end * TILE);
            self.part(&rows, &share(panels, part % panel_parts, panel_parts))
        })
    }

    /// Some rows with some panels.
    fn part(&self, rows: &Range<usize>, panels: &Range<usize>) -> Result<(), TchError> {
        let size = Size::of(self.matrix, rows.len(), panels.len());
        with_scratch(size.bytes(), |scratch| {
            // SAFETY: a matrix is packed where tiles are permitted alone.
            let mut tiles = unsafe { Tiles::take() };
            for first in rows.clone().step_by(size.rows()) {
                let rows = first..rows.end.min(first + size.rows());
                for first in panels.clone().step_by(size.panels) {
                    let chunk = Chunk::new(self, rows.clone(), &size, scratch.cast());
                    chunk.run(&(first..panels.end.min(first + size.panels)), &mut tiles);
                }
            }
            Ok(())
        })
    }

    /// A few rows, number by number.
    fn run_few(&self) -> Result<(), TchError> {
        let panels = self.matrix.panels();
        let parts = (panels * PANEL * self.matrix.depth / WORTH).clamp(1, (2 * SHARES * threads()).min(panels));
        let block = self.rows * PANEL;
        try_each_part(parts, MEMORY, &|part| {
            with_scratch(2 * block * size_of::<f32>(), |scratch| {
                let result = scratch.cast::<f32>();
                for panel in share(panels, part, parts) {
                    // SAFETY: there is room for two blocks, and the results of this panel are this thread's.
                    unsafe {
                        self.compute_plainly(&(0..self.rows), panel, result, result.add(block));
                        self.finish(&(0..self.rows), panel, result, result.add(block));
                    }
                }
                Ok(())
            })
        })
    }
}

/// Into how many shares tiles of rows and panels are cut: about [`SHARES`] for each thread, and so that they take the
/// least time.
fn shares(tiles: usize, panels: usize) -> (usize, usize) {
    let threads = threads();
    let most = if threads > 1 { SHARES * threads } else { 1 };
    let cut = |row_parts: usize| (row_parts, (most / row_parts).min(panels));
    // The product, what it takes to split a tile of rows, and what it takes to split a panel, in ticks of a tile.
    let time = |&(row_parts, panel_parts): &(usize, usize)| {
        let (tiles, panels) = (tiles.div_ceil(row_parts), panels.div_ceil(panel_parts));
        (row_parts * panel_parts).div_ceil(threads) * (12 * tiles * panels + 30 * tiles + 18 * panels)
    };
    (1..=most.min(tiles)).map(cut).min_by_key(time).unwrap_or((1, 1))
}
