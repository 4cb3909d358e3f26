//! Numbers of f32 as sums of three of bf16, laid out as the tiles read them.
//!
//! A number is rounded to bf16, what is left of it again, and what is left then has at most eight bits: the sum of the
//! three is the number itself. Two numbers that lie sixteen apart share a word of a tile, in the left matrix as in the
//! right one, so that nothing has to be moved across a register.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_loadu_si512,
    _mm512_or_si512, _mm512_set1_epi32, _mm512_srli_epi32, _mm512_storeu_si512, _mm512_sub_ps,
};

use super::super::lanes::{FIRST_CACHE, fetch_line};
use super::super::product::PANEL;
use super::DEPTH;
use super::tile::{PARTS, STEP, TILE, TILE_BYTES};

/// Half of the last digit of a bf16 in the bits of an f32.
const HALF: i32 = 0x8000;
/// The bits of an f32 that a bf16 has.
const UPPER: i32 = -0x1_0000;
/// Bytes from a part of a step to the next.
const PART: usize = TILE_BYTES;

/// The three parts of sixteen numbers, each beside that of another sixteen.
#[target_feature(enable = "avx512f")]
#[inline]
fn parts(first: __m512i, second: __m512i) -> [__m512i; PARTS] {
    let rounded = |x: __m512i| _mm512_and_si512(_mm512_add_epi32(x, _mm512_set1_epi32(HALF)), _mm512_set1_epi32(UPPER));
    let rest = |x: __m512i, part: __m512i| {
        _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(part)))
    };
    let beside = |first: __m512i, second: __m512i| _mm512_or_si512(_mm512_srli_epi32::<16>(first), second);
    let high = [rounded(first), rounded(second)];
    let [first, second] = [rest(first, high[0]), rest(second, high[1])];
    let middle = [rounded(first), rounded(second)];
    let [first, second] = [rest(first, middle[0]), rest(second, middle[1])];
    let low = beside(first, _mm512_and_si512(second, _mm512_set1_epi32(UPPER)));
    [beside(high[0], high[1]), beside(middle[0], middle[1]), low]
}

/// Splits the rows of a tile of the left matrix: of each `steps` times [`DEPTH`] numbers. `to` is the tile's place in the
/// first step. What will be split then is fetched meanwhile, and may be nowhere.
///
/// # Safety
///
/// The CPU has AVX-512; the numbers are there, and the steps can be written.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn split_rows(rows: &[*const f32], next: &[*const f32; TILE], steps: usize, to: *mut u8) {
    for step in 0..steps {
        for ((line, from), next) in rows.iter().enumerate().zip(next) {
            let next = next.wrapping_add(step * DEPTH);
            fetch_line::<FIRST_CACHE>(next);
            fetch_line::<FIRST_CACHE>(next.wrapping_add(TILE));
            // SAFETY: by this function's contract.
            unsafe {
                let from = from.add(step * DEPTH);
                write(from, from.add(TILE), to.add(step * STEP + line * 64));
            }
        }
    }
}

/// Splits rows of a panel of the right matrix, `steps` times [`DEPTH`] of them: the first columns, then the second.
///
/// # Safety
///
/// As [`split_rows`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn split_panel(from: *const f32, steps: usize, to: *mut u8) {
    for step in 0..steps {
        for row in 0..TILE {
            for side in 0..PANEL / TILE {
                // SAFETY: by this function's contract.
                unsafe {
                    let from = from.add((step * DEPTH + row) * PANEL + side * TILE);
                    write(from, from.add(TILE * PANEL), to.add((side * steps + step) * STEP + row * 64));
                }
            }
        }
    }
}

/// Writes the parts of two registers, each to its tile.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn write(first: *const f32, second: *const f32, to: *mut u8) {
    // SAFETY: by the caller's contract.
    unsafe {
        let parts = parts(_mm512_loadu_si512(first.cast()), _mm512_loadu_si512(second.cast()));
        for (part, words) in parts.into_iter().enumerate() {
            _mm512_storeu_si512(to.add(part * PART).cast(), words);
        }
    }
}
