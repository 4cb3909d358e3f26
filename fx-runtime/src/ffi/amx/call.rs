//! One product: who does what.

use std::ops::Range;

use tch::TchError;

use super::super::buffer::with_scratch;
use super::super::epilogue::Epilogue;
use super::super::omp_threads::{share, threads, try_each_part};
use super::super::panel::{MEMORY, Place, SHARES};
use super::SplitMatrix;
use super::chunk::{Chunk, Size};
use super::tile::{TILE, Tiles};

/// With fewer rows a weight is split for too few of them.
const FEW_ROWS: usize = 48;

/// A product as its threads see it; `x` lies row by row.
pub(super) struct Call<'a, T> {
    pub(super) matrix: &'a SplitMatrix,
    pub(super) x: *const f32,
    pub(super) place: Place<'a, T>,
}

// SAFETY: operands are read alone, and threads write disjoint results.
unsafe impl<T: Sync> Sync for Call<'_, T> {}

impl<T: Epilogue> Call<'_, T> {
    /// Computes all results.
    pub(super) fn run(&self) -> Result<(), TchError> {
        if self.place.rows < FEW_ROWS {
            let compute = |rows: Range<usize>, panel, sums, spare| {
                // SAFETY: both blocks have room for these rows.
                unsafe { self.compute_plainly(&rows, panel, sums, spare) };
            };
            // SAFETY: nobody else has the result yet; all sums of a block are computed.
            return unsafe { self.place.by_panels(self.matrix.depth, FEW_ROWS, compute) };
        }
        let (tiles, panels) = (self.place.rows.div_ceil(TILE), self.place.panels());
        let (row_parts, panel_parts) = shares(tiles, panels);
        try_each_part(row_parts * panel_parts, MEMORY, &|part| {
            let tiles = share(tiles, part / panel_parts, row_parts);
            let rows = tiles.start * TILE..self.place.rows.min(tiles.end * TILE);
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
