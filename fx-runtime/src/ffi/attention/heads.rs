//! Where the rows of operands begin.

use tch::Tensor;

use super::Mask;
use crate::ffi::product::{Matrix, PANEL};
use crate::ffi::tensor::{Facts, strides};

/// As `c10::ScalarType` counts.
pub(super) const F32: i32 = 6;
const BOOL: i32 = 11;

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Axes of the result.
    pub(super) rank: usize,
    pub(super) batches: usize,
    pub(super) heads: usize,
    pub(super) rows: usize,
    pub(super) keys: usize,
    pub(super) depth: usize,
    pub(super) width: usize,
}

impl Sizes {
    /// None for operands that do not fit, and where there is nothing of something.
    pub(super) fn of(operands: [&Tensor; 3]) -> Option<Self> {
        let facts =
            operands.map(|operand| Facts::of(operand).filter(|facts| facts.dtype == F32 && facts.device.0 == 0));
        let [query, key, value] = &facts;
        let sizes = [query.as_ref()?.sizes(), key.as_ref()?.sizes(), value.as_ref()?.sizes()];
        let rank = sizes.into_iter().map(<[i64]>::len).max()?;
        if sizes.into_iter().any(|sizes| sizes.len() < 2) {
            return None;
        }
        let [q, k, v] = sizes.map(|sizes| of_four_axes(sizes, rank, 1));
        let (q, k, v) = (q?, k?, v?);
        let longest = |axis: usize| [q, k, v].into_iter().map(|sizes| sizes[axis]).find(|&size| size != 1).unwrap_or(1);
        let [batches, heads] = [0, 1].map(longest);
        let sizes = Self { rank, batches, heads, rows: q[2], keys: k[2], depth: q[3], width: v[3] };
        let fits = [q, k, v].iter().all(|[batch, head, ..]| [1, batches].contains(batch) && [1, heads].contains(head));
        let something = [batches, heads, sizes.rows, sizes.keys, sizes.depth, sizes.width];
        (fits && k[3] == q[3] && v[2] == k[2] && !something.contains(&0)).then_some(sizes)
    }
}

/// Lengths or steps of the axes of a tensor, as if there were four; `rank` is that of the result, of whose three axes the
/// first is one of batches.
fn of_four_axes(numbers: &[i64], rank: usize, missing: usize) -> Option<[usize; 4]> {
    let places: &[usize] = if rank == 3 { &[0, 2, 3] } else { &[0, 1, 2, 3] };
    let places = &places[places.len().checked_sub(numbers.len())?..];
    let mut four = [missing; 4];
    for (&place, &number) in places.iter().zip(numbers) {
        four[place] = usize::try_from(number).ok()?;
    }
    Some(four)
}

/// Rows of each head, of which neighbours lie side by side.
pub(super) struct Heads {
    start: *const f32,
    /// From a batch to the next, a head, a row.
    steps: [usize; 3],
    _kept: Tensor,
}

impl Heads {
    pub(super) fn of(tensor: &Tensor, sizes: &Sizes) -> Option<Self> {
        let rows = Rows::of(tensor, F32, sizes)?;
        let [batch, head, row, _] = rows.steps([sizes.batches, sizes.heads, 0, 0])?;
        Some(Self { start: rows.kept.data_ptr().cast_const().cast(), steps: [batch, head, row], _kept: rows.kept })
    }

    /// The rows of a head from one on.
    #[inline(always)]
    pub(super) fn rows(&self, [batch, head]: [usize; 2], first: usize) -> Matrix<*const f32> {
        let [of_batch, of_head, step] = self.steps;
        Matrix { start: self.start.wrapping_add(batch * of_batch + head * of_head + first * step), step }
    }
}

/// What is done to rows of scores.
pub(super) enum MaskRows {
    Nothing,
    Causal,
    Added(Numbers<f32>),
    /// Where the boolean is this one the score becomes this number.
    Filled(Numbers<bool>, bool, f32),
}

impl MaskRows {
    pub(super) fn of(mask: Mask<'_>, sizes: &Sizes) -> Option<Self> {
        Some(match mask {
            Mask::Nothing => Self::Nothing,
            Mask::Causal => Self::Causal,
            Mask::Added(mask, _) => Self::Added(Numbers::of(mask, F32, sizes)?),
            Mask::Seen(mask) => Self::Filled(Numbers::of(mask, BOOL, sizes)?, false, f32::NEG_INFINITY),
            Mask::Filled(mask, fill) => Self::Filled(Numbers::of(mask, BOOL, sizes)?, true, fill),
        })
    }

    /// Scales the scores of a row with some keys, whole panels of them, masks them, and hides those behind the first
    /// `seen`.
    #[inline(always)]
    pub(super) fn apply(&self, scores: &mut [f32], seen: usize, scale: f32, place: [usize; 3], key: usize) {
        if let Self::Nothing | Self::Causal = self {
            // Panels are of known length, and what is hidden may be scaled first.
            scores.as_chunks_mut::<PANEL>().0.iter_mut().flatten().for_each(|score| *score *= scale);
        }
        let (scores, behind) = scores.split_at_mut(seen);
        behind.fill(f32::NEG_INFINITY);
        match self {
            Self::Nothing | Self::Causal => {}
            Self::Added(numbers) => match numbers.of_row(place, key, seen) {
                Line::Same(number) => scores.iter_mut().for_each(|score| *score = score.mul_add(scale, number)),
                Line::Each(numbers) => {
                    scores.iter_mut().zip(numbers).for_each(|(score, number)| *score = score.mul_add(scale, *number));
                }
            },
            &Self::Filled(ref mask, hides, fill) => match mask.of_row(place, key, seen) {
                Line::Same(mask) if mask == hides => scores.fill(fill),
                Line::Same(_) => scores.iter_mut().for_each(|score| *score *= scale),
                Line::Each(mask) => scores.iter_mut().zip(mask).for_each(|(score, mask)| {
                    *score = if *mask == hides { fill } else { *score * scale };
                }),
            },
        }
    }
}

/// A tensor that broadcasts to the scores.
pub(super) struct Numbers<T> {
    start: *const T,
    /// From a batch to the next, a head, a row, a key.
    steps: [usize; 4],
    _kept: Tensor,
}

/// The part of a row.
enum Line<'a, T> {
    Same(T),
    Each(&'a [T]),
}

impl<T: Copy> Numbers<T> {
    fn of(tensor: &Tensor, dtype: i32, sizes: &Sizes) -> Option<Self> {
        let rows = Rows::of(tensor, dtype, sizes)?;
        let steps = rows.steps([sizes.batches, sizes.heads, sizes.rows, sizes.keys])?;
        Some(Self { start: rows.kept.data_ptr().cast_const().cast(), steps, _kept: rows.kept })
    }

    #[inline(always)]
    fn of_row(&self, [batch, head, row]: [usize; 3], key: usize, count: usize) -> Line<'_, T> {
        let [of_batch, of_head, of_row, of_key] = self.steps;
        let start = self.start.wrapping_add(batch * of_batch + head * of_head + row * of_row + key * of_key);
        // SAFETY: places are within the sizes that the tensor broadcasts to, and its keys lie side by side.
        unsafe { if of_key == 0 { Line::Same(*start) } else { Line::Each(std::slice::from_raw_parts(start, count)) } }
    }
}

/// A tensor of which neighbours along the last axis lie side by side.
struct Rows {
    kept: Tensor,
    /// As if there were four axes.
    lengths: [usize; 4],
    rank: usize,
    /// Axes of the result.
    of: usize,
}

impl Rows {
    /// None for a tensor of another type, or on another device.
    fn of(tensor: &Tensor, dtype: i32, sizes: &Sizes) -> Option<Self> {
        let facts = Facts::of(tensor).filter(|facts| facts.dtype == dtype && facts.device.0 == 0)?;
        let rank = facts.sizes().len();
        let lengths = of_four_axes(facts.sizes(), sizes.rank, 1)?;
        let is_row = lengths[3] == 1 || strides(tensor, rank)?[rank - 1] == 1;
        let kept = if is_row { tensor.shallow_clone() } else { tensor.f_contiguous().ok()? };
        Some(Self { kept, lengths, rank, of: sizes.rank })
    }

    /// Elements from one to the next along each axis, of the length that is wanted (or any, for zero), or of one element;
    /// none where it has another.
    fn steps(&self, wanted: [usize; 4]) -> Option<[usize; 4]> {
        let mut steps = of_four_axes(&strides(&self.kept, self.rank)?[..self.rank], self.of, 0)?;
        for ((step, length), wanted) in steps.iter_mut().zip(self.lengths).zip(wanted) {
            match length {
                1 => *step = 0,
                length if length == wanted || wanted == 0 => {}
                _ => return None,
            }
        }
        Some(steps)
    }
}
