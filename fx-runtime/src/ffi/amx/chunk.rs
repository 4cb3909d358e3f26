//! What a thread has in its caches at a time: some rows of the left matrix, and their products with some panels.
//!
//! It goes over the depth piece by piece: of the rows it splits that piece, then of one panel after the other, which it
//! multiplies with all rows while the next panel's piece is fetched.

use std::ops::Range;

use super::super::epilogue::Epilogue;
use super::super::lanes::FIRST_CACHE;
use super::super::product::PANEL;
use super::call::Call;
use super::split::{split_panel, split_rows};
use super::sums::{add, is_finite};
use super::tile::{AHEAD, Product, STEP, TILE, Tiles, multiply};
use super::{DEPTH, RUN, SplitMatrix};

/// Floats of a block of the result.
const BLOCK: usize = TILE * PANEL;
/// Steps of a piece of the depth: of either matrix a tile of so many fits into the first cache.
const PIECE: usize = 4;
/// Bytes of split rows, and of results: both stay in the second cache.
const ROWS: usize = 512 << 10;
const RESULTS: usize = 1 << 20;
/// Steps that are summed up in tiles.
const RUN_STEPS: usize = RUN / DEPTH;

/// How much a chunk may hold.
pub(super) struct Size {
    blocks: usize,
    pub(super) panels: usize,
    /// Steps of a piece.
    piece: usize,
    /// Whether there is more than one run.
    is_deep: bool,
}

impl Size {
    /// For so many rows and panels, neither none.
    pub(super) fn of(matrix: &SplitMatrix, rows: usize, panels: usize) -> Self {
        let piece = matrix.steps.min(PIECE);
        let (blocks, most) = (rows.div_ceil(TILE), ROWS / (piece * STEP));
        let blocks = blocks.div_ceil(blocks.div_ceil(most));
        let is_deep = matrix.steps > RUN_STEPS;
        let block = if is_deep { 2 } else { 1 } * BLOCK * size_of::<f32>();
        Self { blocks, panels: (RESULTS / (blocks * block)).clamp(1, panels), piece, is_deep }
    }

    pub(super) fn rows(&self) -> usize {
        self.blocks * TILE
    }

    pub(super) fn bytes(&self) -> usize {
        self.places().iter().sum()
    }

    /// Bytes of a spare panel of results, of a split piece of a panel, of the same piece of all rows, of sums, and of sums
    /// of sums.
    fn places(&self) -> [usize; 5] {
        let block = BLOCK * size_of::<f32>();
        let sums = self.panels * self.blocks * block;
        let totals = if self.is_deep { sums } else { 0 };
        [self.blocks * block, PANEL / TILE * self.piece * STEP, self.blocks * self.piece * STEP, sums, totals]
    }
}

pub(super) struct Chunk<'a, T> {
    call: &'a Call<'a, T>,
    rows: Range<usize>,
    spare: *mut f32,
    right: *mut u8,
    left: *mut u8,
    sums: *mut f32,
    totals: *mut f32,
}

impl<'a, T: Epilogue> Chunk<'a, T> {
    /// `scratch` has room for a chunk of this size.
    pub(super) fn new(call: &'a Call<'a, T>, rows: Range<usize>, size: &Size, scratch: *mut u8) -> Self {
        let mut at = scratch;
        let [spare, right, left, sums, totals] = size.places().map(|bytes| {
            let place = at;
            at = at.wrapping_add(bytes);
            place
        });
        Self { call, rows, spare: spare.cast(), right, left, sums: sums.cast(), totals: totals.cast() }
    }

    /// The finished products with these panels.
    pub(super) fn run(&self, panels: &Range<usize>, tiles: &mut Tiles) {
        let steps = self.call.matrix.steps;
        let piece_of = |panel: usize, step: usize| self.call.matrix.panel(panel).wrapping_add(step * DEPTH * PANEL);
        for start in (0..steps).step_by(PIECE) {
            let depth = start..steps.min(start + PIECE);
            self.split_rows(&depth);
            for panel in panels.clone() {
                let next = if panel + 1 < panels.end {
                    Some(piece_of(panel + 1, depth.start))
                } else {
                    (depth.end < steps).then(|| piece_of(panels.start, depth.end))
                };
                // SAFETY: a panel has `steps` steps, and there is room for a piece; where AMX is AVX-512 is.
                unsafe { split_panel(piece_of(panel, depth.start), depth.len(), self.right) };
                self.multiply(panel, panel - panels.start, &depth, next, tiles);
            }
        }
    }

    fn blocks(&self) -> usize {
        self.rows.len().div_ceil(TILE)
    }

    fn split_rows(&self, depth: &Range<usize>) {
        let mut copies = [[[0.0; PIECE * DEPTH]; TILE]; 2];
        let mut next = self.pieces(0, depth, &mut copies[0]);
        for block in 0..self.blocks() {
            let pieces = next;
            next = self.pieces(block + 1, depth, &mut copies[(block + 1) % 2]);
            let rows = (self.rows.len() - block * TILE).min(TILE);
            let to = self.left.wrapping_add(block * depth.len() * STEP);
            // SAFETY: the block's place; where AMX is AVX-512 is.
            unsafe { split_rows(&pieces[..rows], &next, depth.len(), to) };
        }
    }

    /// Where pieces of a block's rows are; what ends within a step is copied, with zeros behind it.
    fn pieces(
        &self,
        block: usize,
        depth: &Range<usize>,
        copies: &mut [[f32; PIECE * DEPTH]; TILE],
    ) -> [*const f32; TILE] {
        let (length, first) = (self.call.matrix.depth, self.rows.start + block * TILE);
        let (start, end) = (depth.start * DEPTH, length.min(depth.end * DEPTH));
        let mut pieces = [std::ptr::null(); TILE];
        for ((row, piece), copy) in (first..self.rows.end).zip(&mut pieces).zip(copies) {
            *piece = self.call.x.wrapping_add(row * length + start);
            if end < depth.end * DEPTH {
                // SAFETY: the row has so many numbers.
                copy[..end - start].copy_from_slice(unsafe { std::slice::from_raw_parts(*piece, end - start) });
                *piece = copy.as_ptr();
            }
        }
        pieces
    }

    /// The products of all blocks with a piece of a panel, the `index`th of the chunk; they are finished if it is the last.
    /// `next` is the piece that will be needed then.
    fn multiply(&self, panel: usize, index: usize, depth: &Range<usize>, next: Option<*const f32>, tiles: &mut Tiles) {
        let (steps, is_last) = (depth.len(), depth.end == self.call.matrix.steps);
        let bytes = steps * DEPTH * PANEL * size_of::<f32>();
        let (sums, mut fetched) = (self.place(self.sums, index), 0);
        for block in 0..self.blocks() {
            let rows = self.rows_of(block);
            tiles.shape(rows.len());
            if is_last {
                self.call.place.fetch::<FIRST_CACHE>(&rows, panel);
            }
            for side in 0..PANEL / TILE {
                let ahead = next.filter(|_| fetched < bytes).map(|next| next.cast::<u8>().wrapping_add(fetched));
                fetched += AHEAD * steps;
                let product = Product {
                    left: self.left.wrapping_add(block * steps * STEP),
                    right: self.right.wrapping_add(side * steps * STEP),
                    steps,
                    result: sums.wrapping_add(block * BLOCK + side * TILE),
                    adds: !depth.start.is_multiple_of(RUN_STEPS),
                    ahead,
                };
                // SAFETY: the block is split, and so is the piece; the tiles have the block's shape.
                unsafe { multiply(product) };
            }
        }
        self.settle(panel, index, depth);
    }

    /// Where the blocks of a panel are, one after the other.
    fn place(&self, all: *mut f32, index: usize) -> *mut f32 {
        all.wrapping_add(index * self.blocks() * BLOCK)
    }

    fn rows_of(&self, block: usize) -> Range<usize> {
        let first = self.rows.start + block * TILE;
        first..self.rows.end.min(first + TILE)
    }

    /// What follows the last piece of a run, and of all.
    fn settle(&self, panel: usize, index: usize, depth: &Range<usize>) {
        let is_last = depth.end == self.call.matrix.steps;
        if !is_last && !depth.end.is_multiple_of(RUN_STEPS) {
            return;
        }
        let (rows, sums, totals) = (&self.rows, self.place(self.sums, index), self.place(self.totals, index));
        let is_first = depth.start < RUN_STEPS;
        // SAFETY: the sums are there, and this thread's alone; there are totals if there is more than one run.
        unsafe {
            match (is_first, is_last) {
                (true, true) => self.finish(panel, sums),
                (true, false) => totals.copy_from_nonoverlapping(sums, rows.len() * PANEL),
                (false, false) => add(rows.len(), totals, sums),
                (false, true) => {
                    add(rows.len(), sums, totals);
                    self.finish(panel, sums);
                }
            }
        }
    }

    /// # Safety
    ///
    /// The sums are there, and this thread's alone.
    unsafe fn finish(&self, panel: usize, sums: *mut f32) {
        // SAFETY: by this function's contract; there is room for as many.
        unsafe {
            if !is_finite(self.rows.len(), sums) {
                self.call.compute_plainly(&self.rows, panel, sums, self.spare);
            }
            self.call.place.finish(&self.rows, panel, sums, self.spare);
        }
    }
}
