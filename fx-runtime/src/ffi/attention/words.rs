//! What the products of attention multiply: floats as they are, or two numbers of bf16 in each word of 32 bits, of which
//! the CPU multiplies a register in the time of one of floats.
//!
//! Numbers are rounded to the nearest of bf16, ties to even. Of each pair the first lies in the lower half: of a query and
//! a key neighbours of the depth, of weights and values those of neighbouring keys.

use super::heads::Sizes;
use super::pack::{pack_keys, pack_values};
use crate::ffi::product::{Floats, Matrix, PANEL, Pairs, Term};

/// How operands lie in words.
pub(super) trait Words: Term {
    /// So many in a word.
    const NUMBERS: usize;

    /// Keys in panels, see [`pack_keys`].
    ///
    /// # Safety
    ///
    /// As there; at `room` half as many words can be written as there are numbers.
    unsafe fn pack_keys(keys: Matrix<*const f32>, count: usize, depth: usize, to: *mut f32, room: *mut f32);

    /// Values in panels, see [`pack_values`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn pack_values(values: Matrix<*const f32>, count: usize, width: usize, to: *mut f32, most: usize);

    /// Queries, where they lie, or rounded into `room`.
    ///
    /// # Safety
    ///
    /// There are `count` rows of `depth` floats, and room for half as many words.
    unsafe fn queries(queries: Matrix<*const f32>, count: usize, depth: usize, room: *mut f32) -> Matrix<*const f32>;

    /// Weights, whole panels of them, become words, the first of which lie where the first weights were.
    fn round(weights: &mut [f32]);
}

impl Words for Floats {
    const NUMBERS: usize = 1;

    #[inline(always)]
    unsafe fn pack_keys(keys: Matrix<*const f32>, count: usize, depth: usize, to: *mut f32, _: *mut f32) {
        // SAFETY: by the trait's contract, here and below.
        unsafe { pack_keys(keys, count, depth, to) };
    }

    #[inline(always)]
    unsafe fn pack_values(values: Matrix<*const f32>, count: usize, width: usize, to: *mut f32, most: usize) {
        // SAFETY: as above.
        unsafe { pack_values(values, count, width, to, most) };
    }

    #[inline(always)]
    unsafe fn queries(queries: Matrix<*const f32>, _: usize, _: usize, _: *mut f32) -> Matrix<*const f32> {
        queries
    }

    #[inline(always)]
    fn round(_: &mut [f32]) {}
}

/// Whether the numbers of a row of the depth come in pairs, and there is room to round them.
pub(super) fn come_in_pairs(sizes: &Sizes) -> bool {
    sizes.depth.is_multiple_of(Pairs::NUMBERS) && sizes.depth / Pairs::NUMBERS <= sizes.width.next_multiple_of(PANEL)
}

impl Words for Pairs {
    const NUMBERS: usize = 2;

    #[inline(always)]
    unsafe fn pack_keys(keys: Matrix<*const f32>, count: usize, depth: usize, to: *mut f32, room: *mut f32) {
        // SAFETY: by the trait's contract, here and below.
        unsafe { pack_keys(rounded_rows(keys, count, depth, room), count, depth / Self::NUMBERS, to) };
    }

    #[inline(always)]
    unsafe fn pack_values(values: Matrix<*const f32>, count: usize, width: usize, to: *mut f32, most: usize) {
        let mut column = 0;
        while column < width {
            let there = PANEL.min(width - column);
            for word in 0..count.div_ceil(Self::NUMBERS) {
                // SAFETY: as above.
                unsafe {
                    let row = Self::NUMBERS * word;
                    let first = values.start.add(row * values.step + column);
                    // Whose weight is zero, where there is none.
                    let second = (row + 1 < count).then(|| first.add(values.step));
                    let to = to.add(column * most / Self::NUMBERS + word * PANEL).cast::<[u32; PANEL]>();
                    to.write_unaligned(pairs_of(first, second, there));
                }
            }
            column += PANEL;
        }
    }

    #[inline(always)]
    unsafe fn queries(queries: Matrix<*const f32>, count: usize, depth: usize, room: *mut f32) -> Matrix<*const f32> {
        // SAFETY: as above.
        unsafe { rounded_rows(queries, count, depth, room) }
    }

    #[inline(always)]
    fn round(weights: &mut [f32]) {
        let (panels, to) = (weights.len() / PANEL, weights.as_mut_ptr());
        for panel in 0..panels {
            // SAFETY: what is written lies before what is still to be read.
            unsafe {
                let numbers = to.add(panel * PANEL).cast::<[f32; PANEL]>().read_unaligned();
                let halves = to.add(panel * PANEL / Self::NUMBERS).cast::<[u16; PANEL]>();
                halves.write_unaligned(rounded(&numbers));
            }
        }
    }
}

/// A panel of numbers, each rounded; a loop, since `array::map` is a call.
#[inline(always)]
fn rounded(numbers: &[f32; PANEL]) -> [u16; PANEL] {
    let mut halves = [0; PANEL];
    for (to, &number) in halves.iter_mut().zip(numbers) {
        *to = half(number);
    }
    halves
}

/// Rows of an even length, each number rounded.
#[inline(always)]
unsafe fn rounded_rows(rows: Matrix<*const f32>, count: usize, length: usize, to: *mut f32) -> Matrix<*const f32> {
    let step = length / Pairs::NUMBERS;
    for row in 0..count {
        // SAFETY: by the caller's contract.
        let (from, to) = unsafe {
            let to = to.add(row * step).cast::<u16>();
            let from = std::slice::from_raw_parts(rows.start.add(row * rows.step), length);
            (from, std::slice::from_raw_parts_mut(to, length))
        };
        for (to, &number) in to.iter_mut().zip(from) {
            *to = half(number);
        }
    }
    Matrix { start: to.cast_const(), step }
}

/// A panel of pairs of two rows, of which the second may be missing, and columns behind the first ones.
#[inline(always)]
unsafe fn pairs_of(first: *const f32, second: Option<*const f32>, there: usize) -> [u32; PANEL] {
    let mut rows = [[0.0; PANEL]; Pairs::NUMBERS];
    for (numbers, row) in rows.iter_mut().zip([Some(first), second]) {
        let Some(row) = row else { continue };
        // SAFETY: by the caller's contract.
        unsafe {
            if there == PANEL {
                // Of known length, so that no function is called.
                *numbers = row.cast::<[f32; PANEL]>().read_unaligned();
            } else {
                numbers.iter_mut().take(there).enumerate().for_each(|(column, number)| *number = *row.add(column));
            }
        }
    }
    let mut pairs = [0; PANEL];
    for (column, pair) in pairs.iter_mut().enumerate() {
        *pair = u32::from(half(rows[0][column])) | u32::from(half(rows[1][column])) << 16;
    }
    pairs
}

/// The nearest number of bf16, of two the even one.
#[inline(always)]
fn half(number: f32) -> u16 {
    let bits = number.to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    // Rounding could carry a NaN over to a number.
    let rounded = if number.is_nan() { bits | 0x0040_0000 } else { nearest };
    (rounded >> 16) as u16
}
