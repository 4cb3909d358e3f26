//! Winograd's transforms for windows of 3×3 and results of 2×2: `Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A`.
//!
//! Source: A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015, section 4.1.

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

use super::super::lanes::Lanes;

/// Numbers of a transformed tile.
pub(super) const POINTS: usize = 16;

/// Numbers of a window.
pub(super) const TAPS: usize = 9;

/// `G g Gᵀ` of one window for as many results as a register holds.
///
/// # Safety
///
/// The CPU has the registers.
#[inline(always)]
pub(super) unsafe fn window<V: Lanes>(g: [V; TAPS]) -> [V; POINTS] {
    // SAFETY: by this function's contract.
    unsafe {
        let mut points = [g[0]; POINTS];
        let mut columns = [[g[0]; 4]; 3];
        for (j, column) in columns.iter_mut().enumerate() {
            *column = line_of_window([g[j], g[3 + j], g[6 + j]]);
        }
        for i in 0..4 {
            let row = line_of_window([columns[0][i], columns[1][i], columns[2][i]]);
            points[4 * i..4 * i + 4].copy_from_slice(&row);
        }
        points
    }
}

/// `G g`.
#[inline(always)]
unsafe fn line_of_window<V: Lanes>([first, middle, last]: [V; 3]) -> [V; 4] {
    // SAFETY: by the caller's contract.
    unsafe {
        let (zero, half) = (V::splat(0.0), V::splat(0.5));
        let sides = first.plus(last);
        let halved = |sum: V| zero.plus_product(sum, half);
        [first, halved(sides.plus(middle)), halved(sides.minus(middle)), last]
    }
}

/// `Bᵀ d B` of one tile for as many channels as a register holds.
///
/// # Safety
///
/// The CPU has the registers.
#[inline(always)]
pub(super) unsafe fn input<V: Lanes>(d: [V; POINTS]) -> [V; POINTS] {
    let mut columns = d;
    let mut points = d;
    // SAFETY: by this function's contract.
    unsafe {
        for j in 0..4 {
            let line = line([d[j], d[4 + j], d[8 + j], d[12 + j]]);
            for (i, value) in line.into_iter().enumerate() {
                columns[4 * i + j] = value;
            }
        }
        for i in 0..4 {
            let line = line([columns[4 * i], columns[4 * i + 1], columns[4 * i + 2], columns[4 * i + 3]]);
            points[4 * i..4 * i + 4].copy_from_slice(&line);
        }
    }
    points
}

/// `Bᵀ d`.
#[inline(always)]
unsafe fn line<V: Lanes>(d: [V; 4]) -> [V; 4] {
    // SAFETY: by the caller's contract.
    unsafe { [d[0].minus(d[2]), d[1].plus(d[2]), d[2].minus(d[1]), d[1].minus(d[3])] }
}

/// `Aᵀ m`.
#[inline(always)]
unsafe fn line_back<V: Lanes>(m: [V; 4]) -> [V; 2] {
    // SAFETY: by the caller's contract.
    unsafe { [m[0].plus(m[1]).plus(m[2]), m[1].minus(m[2]).minus(m[3])] }
}

/// `Aᵀ m A`: the four results of a tile, row by row.
///
/// # Safety
///
/// The CPU has the registers.
#[inline(always)]
pub(super) unsafe fn result<V: Lanes>(m: [V; POINTS]) -> [V; 4] {
    // SAFETY: by this function's contract.
    unsafe {
        let mut rows = [[m[0]; 4]; 2];
        for j in 0..4 {
            let [top, bottom] = line_back([m[j], m[4 + j], m[8 + j], m[12 + j]]);
            (rows[0][j], rows[1][j]) = (top, bottom);
        }
        let [top, bottom] = [line_back(rows[0]), line_back(rows[1])];
        [top[0], top[1], bottom[0], bottom[1]]
    }
}
