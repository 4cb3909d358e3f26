//! Keys and values in panels, as the products read them.

use crate::ffi::product::{Matrix, PANEL};

/// Keys in panels of [`PANEL`] of them: number by number of the depth, a panel's keys side by side. Those that are missing
/// in the last panel are zeros.
///
/// # Safety
///
/// There are `count` rows of `depth` floats, and room for `depth` floats of each of so many whole panels.
#[inline(always)]
pub(super) unsafe fn pack_keys(keys: Matrix<*const f32>, count: usize, depth: usize, to: *mut f32) {
    let mut first = 0;
    while first < count {
        let there = PANEL.min(count - first);
        // SAFETY: by this function's contract.
        unsafe {
            let keys = Matrix { start: keys.start.add(first * keys.step), ..keys };
            let to = to.add(first * depth);
            if there < PANEL {
                to.write_bytes(0, PANEL * depth);
            }
            let mut key = 0;
            while key < there {
                let rows = Matrix { start: keys.start.add(key * keys.step), ..keys };
                if key + 4 <= there {
                    four_rows(rows, depth, to.add(key));
                    key += 4;
                } else {
                    one_row(rows.start, 0..depth, to.add(key));
                    key += 1;
                }
            }
        }
        first += PANEL;
    }
}

/// Four rows become neighbours.
#[inline(always)]
unsafe fn four_rows(rows: Matrix<*const f32>, depth: usize, to: *mut f32) {
    let mut at = 0;
    // SAFETY: by the caller's contract; every CPU of the architecture has these registers.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
        while at + 4 <= depth {
            let mut four = [0, 1, 2, 3].map(|row| _mm_loadu_ps(rows.start.add(row * rows.step + at)));
            let [a, b, c, d] = &mut four;
            _MM_TRANSPOSE4_PS(a, b, c, d);
            for (row, numbers) in four.into_iter().enumerate() {
                _mm_storeu_ps(to.add((at + row) * PANEL), numbers);
            }
            at += 4;
        }
    }
    for row in 0..4 {
        // SAFETY: by the caller's contract.
        unsafe { one_row(rows.start.add(row * rows.step), at..depth, to.add(row)) };
    }
}

#[inline(always)]
unsafe fn one_row(row: *const f32, range: std::ops::Range<usize>, to: *mut f32) {
    for at in range {
        // SAFETY: by the caller's contract.
        unsafe { *to.add(at * PANEL) = *row.add(at) };
    }
}

/// Numbers that are copied at once, of known length, so that no function is called.
const CHUNK: usize = 8;

/// Values in panels of [`PANEL`] columns, with room for `most` rows each; columns that are missing in the last are zeros up
/// to the next pair of chunks, which is as far as [`multiply`](crate::ffi::product::multiply) reads.
///
/// # Safety
///
/// There are `count` rows of `width` floats, no more than `most`, and room for so many whole panels.
#[inline(always)]
pub(super) unsafe fn pack_values(values: Matrix<*const f32>, count: usize, width: usize, to: *mut f32, most: usize) {
    let mut column = 0;
    while column < width {
        let there = PANEL.min(width - column);
        for row in 0..count {
            // SAFETY: by this function's contract.
            unsafe {
                let from = values.start.add(row * values.step + column);
                let to = to.add(column * most + row * PANEL);
                if there == PANEL {
                    // Of known length, so that no function is called.
                    to.cast::<[f32; PANEL]>().write_unaligned(from.cast::<[f32; PANEL]>().read_unaligned());
                } else {
                    let whole = there / CHUNK * CHUNK;
                    for at in (0..whole).step_by(CHUNK) {
                        let chunk = from.add(at).cast::<[f32; CHUNK]>().read_unaligned();
                        to.add(at).cast::<[f32; CHUNK]>().write_unaligned(chunk);
                    }
                    for at in whole..there.next_multiple_of(2 * CHUNK) {
                        *to.add(at) = if at < there { *from.add(at) } else { 0.0 };
                    }
                }
            }
        }
        column += PANEL;
    }
}
