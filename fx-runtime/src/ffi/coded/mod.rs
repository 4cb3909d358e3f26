//! Products with a weight that is integers of eight or four bits, each of which stands for a number of its group, or floats of
//! 16 bits.
//!
//! Few rows are multiplied in no more time than it takes to read the weight, so that what counts is how many bytes it has.
//! They become floats in registers on their way into the sum; the scale of a group is applied to the group's sum.
//! More rows share that work, up to [`MOST_ROWS`].

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

mod bytes;
mod device;
mod halves;
mod shorts;

pub(crate) use bytes::ByteWeight;
pub(crate) use device::DeviceCodes;
pub(crate) use halves::HalfByteWeight;
pub(crate) use shorts::ShortWeight;

use std::ops::Range;

use tch::{TchError, Tensor};

use super::buffer::Buffer;
use super::epilogue::Epilogue;
use super::lanes::{FIRST_CACHE, Kernel, Lanes, fetch_line, on_lanes};
use super::operands::Operands;
use super::panel::Place;
use super::product::PANEL;
use super::vector::{VectorWidth, vector_width};

/// With more rows the weight is brought into floats for the call.
const MOST_ROWS: usize = 384;
/// Floats of the left matrix that stay in the second cache.
const KEPT: usize = 1 << 18;
/// But not fewer rows, however long they are.
const LEAST_ROWS: usize = 24;
/// Numbers of a row that fill the widest register.
const STEP: usize = 16;
/// Bytes of a line of the caches.
const LINE: usize = 64;

/// Whether this machine has registers for it.
fn has_registers() -> bool {
    vector_width() > VectorWidth::Baseline
}

/// A weight whose integers are multiplied by tiles.
trait Codes: Sync {
    /// `[out, in]`.
    fn shape(&self) -> [usize; 2];

    /// Computes the sums of `R` rows of `x`, from `row` on, with `C` rows of the weight, from `column` on.
    ///
    /// # Safety
    ///
    /// The CPU has the registers; all these rows exist; `x` has rows of the weight's length.
    unsafe fn tile<V: Lanes, const R: usize, const C: usize>(&self, x: *const f32, column: usize) -> [[f32; C]; R];
}

/// The numbers of a weight, as they are stored.
trait Stored: Copy {
    /// A register of numbers as floats.
    ///
    /// # Safety
    ///
    /// The CPU has the registers and, of f16, converts it; a register of numbers lies there.
    unsafe fn load<V: Lanes>(from: *const Self) -> V;
}

/// Computes the sums of `R` rows of `x` with `C` rows of numbers, each of `depth`, as [`Codes::tile`] does without scales.
///
/// # Safety
///
/// That of [`Codes::tile`] and of [`Stored::load`].
#[inline(always)]
unsafe fn sums_of<T: Stored, V: Lanes, const R: usize, const C: usize>(
    x: *const f32,
    numbers: *const T,
    depth: usize,
) -> [[f32; C]; R] {
    // SAFETY: by the caller's contract; rows are multiples of the register.
    unsafe {
        let mut sums = [[V::splat(0.0); C]; R];
        let mut k = 0;
        while k < depth {
            let mut left = [V::splat(0.0); R];
            for (row, left) in left.iter_mut().enumerate() {
                *left = V::load(x.add(row * depth + k));
            }
            for at in 0..C {
                if k.is_multiple_of(LINE / size_of::<T>()) {
                    // What the next tile reads.
                    fetch_line::<FIRST_CACHE>(numbers.wrapping_add((at + C) * depth + k).cast());
                }
                let right = T::load(numbers.add(at * depth + k));
                for (sums, left) in sums.iter_mut().zip(left) {
                    sums[at] = sums[at].plus_product(left, right);
                }
            }
            k += V::COUNT;
        }
        sums.map(|sums| totals(sums))
    }
}

/// Writes `epilogue(x wᵀ, other)`; `dense` is the weight in floats, for many rows.
fn multiply<W: Codes>(
    weight: &W,
    operands: &Operands,
    epilogue: &impl Epilogue,
    dense: impl FnOnce() -> Result<Tensor, TchError>,
) -> Result<(), TchError> {
    if operands.rows > MOST_ROWS {
        let [x, y] = operands.matrices()?;
        let _ = x.f_mm_out(&y, &dense()?.f_tr()?)?;
        operands.finish(epilogue);
        return Ok(());
    }
    let [out, depth] = weight.shape();
    let x = Left(operands.x());
    let compute = |rows: Range<usize>, panel: usize, sums, _| {
        let columns = panel * PANEL..out.min((panel + 1) * PANEL);
        on_lanes(Block { weight, x: &x, rows, columns, sums });
    };
    // SAFETY: nobody else has the result yet, and all sums of a block are computed.
    unsafe { Place::new(operands, epilogue).by_panels(depth, (KEPT / depth).max(LEAST_ROWS), compute) }
}

/// Rows of floats.
struct Left(*const f32);

// SAFETY: they are read alone.
unsafe impl Sync for Left {}

/// Some rows with at most a panel of the weight's.
struct Block<'a, W> {
    weight: &'a W,
    x: &'a Left,
    rows: Range<usize>,
    columns: Range<usize>,
    /// `[rows][PANEL]`
    sums: *mut f32,
}

impl<W: Codes> Kernel for Block<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let mut column = self.columns.start;
        while column < self.columns.end {
            // SAFETY: by the contract of `run`.
            unsafe {
                match self.columns.end - column {
                    1..4 => self.rows_with::<V, 1>(column),
                    _ => self.rows_with::<V, 4>(column),
                }
            }
            column += if self.columns.end - column < 4 { 1 } else { 4 };
        }
    }
}

impl<W: Codes> Block<'_, W> {
    /// All rows with `C` columns, which stay in the first cache.
    #[inline(always)]
    unsafe fn rows_with<V: Lanes, const C: usize>(&self, column: usize) {
        let mut row = self.rows.start;
        while row < self.rows.end {
            // SAFETY: by the caller's contract.
            unsafe {
                match self.rows.end - row {
                    1 => self.tile::<V, 1, C>(row, column),
                    _ => self.tile::<V, 2, C>(row, column),
                }
            }
            row += 2;
        }
    }

    #[inline(always)]
    unsafe fn tile<V: Lanes, const R: usize, const C: usize>(&self, row: usize, column: usize) {
        let [_, depth] = self.weight.shape();
        // SAFETY: by the caller's contract; the block has room for these sums.
        unsafe {
            let sums = self.weight.tile::<V, R, C>(self.x.0.add(row * depth), column);
            for (at, sums) in sums.iter().enumerate() {
                let to = self.sums.add((row - self.rows.start + at) * PANEL + column - self.columns.start);
                to.copy_from_nonoverlapping(sums.as_ptr(), C);
            }
        }
    }
}

/// The totals of registers.
#[inline(always)]
unsafe fn totals<V: Lanes, const C: usize>(of: [V; C]) -> [f32; C] {
    let mut all = [0.0; C];
    // SAFETY: the caller's CPU has the registers.
    unsafe {
        for (registers, totals) in of.chunks(4).zip(all.chunks_mut(4)) {
            let mut padded = [V::splat(0.0); 4];
            padded[..registers.len()].copy_from_slice(registers);
            totals.copy_from_slice(&V::totals(padded)[..totals.len()]);
        }
    }
    all
}

/// The bytes of a tensor, one behind the other.
fn copied(tensor: &Tensor) -> Result<Buffer, TchError> {
    let tensor = tensor.f_contiguous()?;
    let bytes = tensor.numel() * tensor.kind().elt_size_in_bytes();
    let buffer = Buffer::lasting(bytes)?;
    // SAFETY: the tensor lies without gaps on the CPU, and the buffer is new and as large.
    unsafe { buffer.address().cast::<u8>().copy_from_nonoverlapping(tensor.data_ptr().cast_const().cast(), bytes) };
    Ok(buffer)
}

/// A list of floats out of a tensor.
fn floats(tensor: &Tensor) -> Result<Box<[f32]>, TchError> {
    Ok(Vec::<f32>::try_from(tensor.f_contiguous()?.f_view(-1)?)?.into())
}

#[cfg(test)]
mod tests;
