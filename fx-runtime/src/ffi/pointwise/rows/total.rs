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

/// So many lanes are joined side by side: a register of f32, two of f64.
const SIDE: usize = 16;

/// The sum of the lanes.
#[inline(always)]
fn sum<T: Number>(lanes: &[T; BLOCK]) -> f64 {
    let mut wide = [0.0; SIDE];
    for lanes in lanes.as_chunks::<SIDE>().0 {
        for (wide, lane) in wide.iter_mut().zip(lanes) {
            *wide += lane.wide();
        }
    }
    in_pairs(wide, |a, b| a + b)
}

#[inline(always)]
fn largest<T: Number>(lanes: &[T; BLOCK]) -> T {
    let mut most = [T::LOWEST; SIDE];
    for lanes in lanes.as_chunks::<SIDE>().0 {
        for (most, lane) in most.iter_mut().zip(lanes) {
            *most = larger(*most, *lane);
        }
    }
    in_pairs(most, larger)
}

/// All joined, each half with the other, so that few wait for each other.
#[inline(always)]
fn in_pairs<T: Copy>(mut of: [T; SIDE], join: impl Fn(T, T) -> T) -> T {
    let mut half = SIDE / 2;
    while half > 0 {
        for at in 0..half {
            of[at] = join(of[at], of[at + half]);
        }
        half /= 2;
    }
    of[0]
}

/// The larger of both; NaN where either is.
#[inline(always)]
fn larger<T: Number>(a: T, b: T) -> T {
    let is_nan = b.partial_cmp(&b).is_none();
    if b > a || is_nan { b } else { a }
}
