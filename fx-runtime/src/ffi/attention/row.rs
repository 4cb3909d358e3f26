//! The softmax of a row that comes in pieces.

use crate::ffi::product::PANEL;
use crate::math::exp_of_nonpositive;

/// What is known of a row so far.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Row {
    highest: f32,
    /// Of `exp(score - highest)`.
    total: f32,
}

impl Row {
    pub(super) const NOTHING: Self = Self { highest: f32::NEG_INFINITY, total: 0.0 };

    /// Turns more scores into weights, and says by what weights that were made before are to be multiplied. There are
    /// whole panels of them; minus infinity weighs nothing.
    #[inline(always)]
    pub(super) fn weigh(&mut self, scores: &mut [f32]) -> f32 {
        let (panels, _) = scores.as_chunks_mut::<PANEL>();
        let mut most = [f32::NEG_INFINITY; PANEL];
        for panel in &*panels {
            for (most, &score) in most.iter_mut().zip(panel) {
                // Not NaN, which shows in the weights.
                *most = larger(score, *most);
            }
        }
        let highest = larger(in_pairs(most, larger), self.highest);
        // Nothing is less than nothing.
        let shift = if highest == f32::NEG_INFINITY { 0.0 } else { highest };
        let mut totals = [0.0; PANEL];
        for panel in panels {
            for (total, score) in totals.iter_mut().zip(panel) {
                *score = exp_of_nonpositive(*score - shift);
                *total += *score;
            }
        }
        // As a rule a row comes in one piece, and the first has nothing before it.
        let growth = if self.highest == f32::NEG_INFINITY { 0.0 } else { exp_of_nonpositive(self.highest - shift) };
        (self.highest, self.total) = (highest, self.total.mul_add(growth, in_pairs(totals, |a, b| a + b)));
        growth
    }

    /// What sums of values are multiplied with in the end; none where nothing has any weight.
    pub(super) fn factor(self) -> Option<f32> {
        (self.total != 0.0).then(|| 1.0 / self.total)
    }
}

/// The larger of two numbers, the second one if the first is NaN.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// All numbers of a panel joined: halves side by side, then in pairs, so that few wait for each other.
#[inline(always)]
fn in_pairs(of: [f32; PANEL], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut rest: [f32; PANEL / 2] = std::array::from_fn(|at| join(of[at], of[at + PANEL / 2]));
    let mut half = PANEL / 4;
    while half > 0 {
        for at in 0..half {
            rest[at] = join(rest[at], rest[at + half]);
        }
        half /= 2;
    }
    rest[0]
}
