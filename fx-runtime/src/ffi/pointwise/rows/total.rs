//! Sums and maxima of rows, block by block, in lanes that vectors add.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use super::super::{Aligned, BLOCK, Number};
use super::Reduction;

/// A lane of a sum takes so many terms.
pub(super) const CHAIN: usize = 16;

/// What has been found of the values of a row.
pub(super) struct Total<T> {
    reduction: Option<Reduction>,
    lanes: Aligned<[T; BLOCK]>,
    sum: f64,
}

impl<T: Number> Total<T> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { reduction: None, lanes: Aligned([T::ZERO; BLOCK]), sum: 0.0 }
    }

    /// Takes in the first `count` values of a block.
    #[inline(always)]
    pub(super) fn add(&mut self, reduction: Reduction, block: usize, values: &[T; BLOCK], count: usize) {
        let lanes = &mut self.lanes.0;
        if block == 0 {
            self.reduction = Some(reduction);
            if reduction == Reduction::Max {
                *lanes = [T::LOWEST; BLOCK];
            }
        } else if reduction != Reduction::Max && block.is_multiple_of(CHAIN) {
            self.sum += sum(lanes);
            *lanes = [T::ZERO; BLOCK];
        }
        match (reduction, count == BLOCK) {
            (Reduction::Max, true) => {
                for at in 0..BLOCK {
                    lanes[at] = larger(lanes[at], values[at]);
                }
            }
            (Reduction::Max, false) => {
                for at in 0..count {
                    lanes[at] = larger(lanes[at], values[at]);
                }
            }
            (_, true) => {
                for at in 0..BLOCK {
                    lanes[at] = lanes[at] + values[at];
                }
            }
            (_, false) => {
                for at in 0..count {
                    lanes[at] = lanes[at] + values[at];
                }
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::cast_precision_loss, reason = "no row has 2⁵³ elements")]
    pub(super) fn end(&self, length: usize) -> T {
        let total = self.sum + sum(&self.lanes.0);
        T::nearest(match self.reduction {
            None => return T::ZERO,
            Some(Reduction::Max) => return largest(&self.lanes.0),
            Some(Reduction::Sum) => total,
            Some(Reduction::Mean) => total / length as f64,
            Some(Reduction::LogSum) => total.ln(),
        })
    }
}

/// The sum of the lanes: halves onto each other, which vectors do.
#[inline(always)]
fn sum<T: Number>(lanes: &[T; BLOCK]) -> f64 {
    let mut wide = [0.0; BLOCK / 2];
    for at in 0..BLOCK / 2 {
        wide[at] = lanes[at].wide() + lanes[at + BLOCK / 2].wide();
    }
    let mut width = BLOCK / 4;
    while width > 0 {
        for at in 0..width {
            wide[at] += wide[at + width];
        }
        width /= 2;
    }
    wide[0]
}

#[inline(always)]
fn largest<T: Number>(lanes: &[T; BLOCK]) -> T {
    let mut lanes = *lanes;
    let mut width = BLOCK / 2;
    while width > 0 {
        for at in 0..width {
            lanes[at] = larger(lanes[at], lanes[at + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The larger of both; NaN where either is.
#[inline(always)]
fn larger<T: Number>(a: T, b: T) -> T {
    let is_nan = b.partial_cmp(&b).is_none();
    if b > a || is_nan { b } else { a }
}
