//! `c = a · b` of small matrices, `b` in panels of [`PANEL`] columns.

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

use super::lanes::Lanes;

/// Columns of a panel.
pub(super) const PANEL: usize = 32;
/// Registers that a block of the result is wide.
const WIDE: usize = 2;

/// Where the rows of a matrix begin.
#[derive(Clone, Copy)]
pub(super) struct Matrix<T> {
    pub(super) start: T,
    /// Elements from a row to the next.
    pub(super) step: usize,
}

/// What a product sums up.
pub(super) trait Term {
    /// `sum + x · y`.
    ///
    /// # Safety
    ///
    /// The CPU has the registers.
    unsafe fn add<V: Lanes>(sum: V, x: V, y: V) -> V;
}

/// Products of floats.
pub(super) struct Floats;

impl Term for Floats {
    #[inline(always)]
    unsafe fn add<V: Lanes>(sum: V, x: V, y: V) -> V {
        // SAFETY: by the trait's contract.
        unsafe { sum.plus_product(x, y) }
    }
}

/// Products of pairs of bf16: a word of `a` and of `b` is such a pair, and `c` is of floats.
pub(super) struct Pairs;

impl Term for Pairs {
    #[inline(always)]
    unsafe fn add<V: Lanes>(sum: V, x: V, y: V) -> V {
        // SAFETY: by the trait's contract.
        unsafe { sum.plus_pairs(x, y) }
    }
}

/// `c = a · b`, or `c += a · b`, for `rows` rows of `a`, each of length `depth`, and a panel of `b`: `depth` rows of
/// [`PANEL`] words, of which the first `columns` count.
///
/// # Safety
///
/// The CPU has the registers; `a` and `b` can be read and [`PANEL`] floats of each row of `c` written.
#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes, T: Term>(
    (rows, columns): (usize, usize),
    depth: usize,
    a: Matrix<*const f32>,
    b: *const f32,
    c: Matrix<*mut f32>,
    adds: bool,
) {
    let blocks = rows.div_ceil(V::ROWS);
    let mut first = 0;
    for block in 0..blocks {
        let last = rows * (block + 1) / blocks;
        let mut column = 0;
        while column < columns.min(PANEL) {
            // SAFETY: by this function's contract.
            unsafe {
                let a = Matrix { start: a.start.add(first * a.step), ..a };
                let c = Matrix { start: c.start.add(first * c.step + column), ..c };
                if columns - column > V::COUNT {
                    block_of_rows::<V, T, WIDE>(last - first, depth, a, b.add(column), c, adds);
                } else {
                    block_of_rows::<V, T, 1>(last - first, depth, a, b.add(column), c, adds);
                }
            }
            column += WIDE * V::COUNT;
        }
        first = last;
    }
}

macro_rules! by_rows {
    ($rows:expr, $($count:literal)*, |$n:ident| $call:expr) => {
        match $rows {
            $($count => { const $n: usize = $count; $call })*
            _ => {}
        }
    };
}

/// At most [`Lanes::ROWS`] rows.
#[inline(always)]
unsafe fn block_of_rows<V: Lanes, T: Term, const WIDE: usize>(
    rows: usize,
    depth: usize,
    a: Matrix<*const f32>,
    b: *const f32,
    c: Matrix<*mut f32>,
    adds: bool,
) {
    // SAFETY: by the caller's contract.
    by_rows!(rows, 1 2 3 4 5 6 7 8 9 10 11 12 13 14, |ROWS| unsafe { in_registers::<V, T, ROWS, WIDE>(depth, a, b, c, adds) });
}

/// The block stays in registers over the whole depth.
#[inline(always)]
unsafe fn in_registers<V: Lanes, T: Term, const ROWS: usize, const WIDE: usize>(
    depth: usize,
    a: Matrix<*const f32>,
    b: *const f32,
    c: Matrix<*mut f32>,
    adds: bool,
) {
    // SAFETY: by the caller's contract.
    unsafe {
        let zero = V::splat(0.0);
        let mut sums = [[zero; WIDE]; ROWS];
        if adds {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (wide, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(c.start.add(row * c.step + wide * V::COUNT));
                }
            }
        }
        for k in 0..depth {
            let mut right = [zero; WIDE];
            for (wide, right) in right.iter_mut().enumerate() {
                *right = V::load(b.add(k * PANEL + wide * V::COUNT));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let left = V::splat(*a.start.add(row * a.step + k));
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = T::add(*sum, left, right);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (wide, sum) in sums.iter().enumerate() {
                sum.store(c.start.add(row * c.step + wide * V::COUNT));
            }
        }
    }
}
