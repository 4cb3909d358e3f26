//! Products with a weight that stays as it lies: each result is the sum along a row of the one and a row of the other.
//!
//! Nothing is packed, so that whoever else reads the weight shares it: the table of words that is a language model's last
//! layer as well. A register holds neighbours of the depth; sums lie apart in its lanes until the depth is done, which is
//! what makes it slower than a product with a packed weight, by a tenth.

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

use std::ops::Range;

use tch::TchError;

use super::epilogue::Epilogue;
use super::lanes::{FIRST_CACHE, Kernel, Lanes, SECOND_CACHE, fetch_line, has_lanes, on_lanes};
use super::operands::{Operands, WeightMatrix};
use super::panel::Place;
use super::product::{Matrix, PANEL};
use super::shared::Param;

/// Depths are multiples of the widest register.
const STEP: usize = 16;
/// Floats that are fetched at once.
const LINE: usize = 16;
/// Numbers of the depth that are summed up at a time: so much of the weight's rows stays in the first cache.
const RUN: usize = 768;
/// Rows of the left matrix whose sums are in registers at a time.
const ROWS: usize = 3;
/// Floats of the left matrix that stay in the second cache.
const KEPT: usize = 1 << 18;
/// But not fewer rows, however long they are.
const LEAST_ROWS: usize = 24;
/// With more rows it pays to pack the weight in the call, as ATen does.
///
/// Measured on two cores (Sapphire Rapids) with 768 to 2048 numbers a row: with 128 rows this is 1.1 to 1.4 times as fast,
/// with 512 1.0, with 2048 0.85; with 8 rows twice as fast, with one 0.95.
const MOST_ROWS: usize = 384;
/// How far ahead of its use a weight is fetched that is read once.
const AHEAD: usize = 1024;

/// A weight `[out, in]` of f32, row by row.
#[derive(Debug)]
pub(crate) struct UnpackedWeight {
    weight: Param,
    out: usize,
    depth: usize,
}

impl UnpackedWeight {
    /// Whether rows of a weight `[out, in]` fill vector registers.
    pub(crate) fn takes([_, depth]: [i64; 2]) -> bool {
        depth > 0 && usize::try_from(depth).is_ok_and(|depth| depth.is_multiple_of(STEP))
    }

    /// None where this machine has no registers for it, or the weight does not lie row by row, or its rows do not fill them.
    pub(crate) fn new(weight: Param) -> Option<Self> {
        let shape = <[i64; 2]>::try_from(weight.size()).ok().filter(|&shape| Self::takes(shape))?;
        let [out, depth] = shape.map(|size| usize::try_from(size).unwrap_or(0));
        (has_lanes() && out > 0 && weight.is_contiguous()).then_some(Self { weight, out, depth })
    }

    /// The weight.
    pub(crate) fn weight(&self) -> &Param {
        &self.weight
    }
}

impl WeightMatrix for UnpackedWeight {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        if operands.rows > MOST_ROWS {
            let [x, y] = operands.matrices()?;
            let _ = x.f_mm_out(&y, &self.weight.f_tr()?)?;
            operands.finish(epilogue);
            return Ok(());
        }
        let product =
            Product { x: operands.x(), weight: self.weight.data_ptr().cast_const().cast(), depth: self.depth };
        let most = (KEPT / self.depth).max(LEAST_ROWS);
        let compute = |rows: Range<usize>, panel: usize, sums, _| {
            let columns = panel * PANEL..self.out.min((panel + 1) * PANEL);
            on_lanes(Block { product: &product, rows, columns, sums });
        };
        // SAFETY: nobody else has the result yet, and all sums of a block are computed.
        unsafe { Place::new(operands, epilogue).by_panels(self.depth, most, compute) }
    }
}

/// Both matrices, row by row.
struct Product {
    x: *const f32,
    weight: *const f32,
    depth: usize,
}

// SAFETY: both are read alone.
unsafe impl Sync for Product {}

/// Some rows with at most a panel of the weight's.
struct Block<'a> {
    product: &'a Product,
    rows: Range<usize>,
    columns: Range<usize>,
    /// `[rows][PANEL]`
    sums: *mut f32,
}

impl Kernel for Block<'_> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        // SAFETY: by the contract of `run`.
        unsafe {
            if self.rows.len() <= ROWS {
                // Memory is slower than the sums: the weight is read from its start to its end.
                self.in_columns_of::<V, 1>();
            } else if V::COUNT == 16 {
                self.in_columns_of::<V, 8>();
            } else {
                self.in_columns_of::<V, 4>();
            }
        }
    }
}

impl Block<'_> {
    /// `COLUMNS` columns at a time, then those that are left.
    #[inline(always)]
    unsafe fn in_columns_of<V: Lanes, const COLUMNS: usize>(&self) {
        let mut column = self.columns.start;
        while column < self.columns.end {
            // SAFETY: by the caller's contract.
            unsafe {
                if column + COLUMNS <= self.columns.end {
                    self.with_columns::<V, COLUMNS>(column);
                    column += COLUMNS;
                } else {
                    self.with_columns::<V, 1>(column);
                    column += 1;
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn with_columns<V: Lanes, const COLUMNS: usize>(&self, column: usize) {
        let &Product { x, weight, depth } = self.product;
        let weight = weight.wrapping_add(column * depth);
        // Runs as equal as steps allow.
        let run = (depth / STEP).div_ceil(depth.div_ceil(RUN)) * STEP;
        let mut start = 0;
        while start < depth {
            let length = run.min(depth - start);
            let next = weight.wrapping_add(if start + length < depth { start + length } else { COLUMNS * depth });
            let (mut row, mut fetched) = (self.rows.start, 0);
            while row < self.rows.end {
                // The rows of the weight that are needed then, a share of them with each step.
                let wanted = (row + ROWS - self.rows.start) * COLUMNS * length / self.rows.len();
                while COLUMNS > 1 && fetched < wanted {
                    fetch_line::<SECOND_CACHE>(next.wrapping_add(fetched / length * depth + fetched % length));
                    fetched += LINE;
                }
                // SAFETY: by the caller's contract; rows and columns exist, and the block has room for their sums.
                unsafe {
                    let sums = Sums {
                        x: Matrix { start: x.add(row * depth + start), step: depth },
                        weight: Matrix { start: weight.add(start), step: depth },
                        depth: length,
                        to: self.sums.add((row - self.rows.start) * PANEL + column - self.columns.start),
                        adds: start > 0,
                    };
                    match self.rows.end - row {
                        1 => sums.compute::<V, 1, COLUMNS>(),
                        2 => sums.compute::<V, 2, COLUMNS>(),
                        _ => sums.compute::<V, ROWS, COLUMNS>(),
                    }
                }
                row += ROWS;
            }
            start += length;
        }
    }
}

/// Sums of some rows with some rows.
struct Sums {
    x: Matrix<*const f32>,
    weight: Matrix<*const f32>,
    /// A multiple of [`STEP`].
    depth: usize,
    /// Rows of [`PANEL`] floats.
    to: *mut f32,
    /// To what is there.
    adds: bool,
}

impl Sums {
    #[inline(always)]
    unsafe fn compute<V: Lanes, const R: usize, const COLUMNS: usize>(&self) {
        let Self { x, weight, depth, to, adds } = *self;
        // SAFETY: by the caller's contract.
        unsafe {
            let zero = V::splat(0.0);
            let mut sums = [[zero; COLUMNS]; R];
            let mut k = 0;
            while k < depth {
                let mut left = [zero; R];
                for (row, left) in left.iter_mut().enumerate() {
                    *left = V::load(x.start.add(row * x.step + k));
                    fetch_line::<FIRST_CACHE>(x.start.wrapping_add((row + R) * x.step + k));
                }
                for column in 0..COLUMNS {
                    let right = weight.start.wrapping_add(column * weight.step + k);
                    if COLUMNS == 1 {
                        fetch_line::<FIRST_CACHE>(right.wrapping_add(AHEAD));
                    }
                    let right = V::load(right);
                    for (sums, left) in sums.iter_mut().zip(left) {
                        sums[column] = sums[column].plus_product(left, right);
                    }
                }
                k += V::COUNT;
            }
            for (row, sums) in sums.iter().enumerate() {
                for (index, four) in sums.chunks(4).enumerate() {
                    let mut padded = [zero; 4];
                    padded[..four.len()].copy_from_slice(four);
                    let totals = V::totals(padded);
                    for (offset, total) in totals.into_iter().enumerate().take(four.len()) {
                        let to = to.add(row * PANEL + 4 * index + offset);
                        *to = if adds { *to + total } else { total };
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
