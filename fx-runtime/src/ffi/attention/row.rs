//! The softmax of a row that comes in pieces.

use crate::ffi::product::PANEL;
use crate::math::exp;

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
                *most = if score > *most { score } else { *most };
            }
        }
        let highest = most.into_iter().fold(self.highest, f32::max);
        // Nothing is less than nothing.
        let shift = if highest == f32::NEG_INFINITY { 0.0 } else { highest };
        let mut totals = [0.0; PANEL];
        for panel in panels {
            for (total, score) in totals.iter_mut().zip(panel) {
                *score = exp(*score - shift);
                *total += *score;
            }
        }
        let growth = exp(self.highest - shift);
        (self.highest, self.total) = (highest, self.total.mul_add(growth, sum(totals)));
        growth
    }

    /// What sums of values are multiplied with in the end; none where nothing has any weight.
    pub(super) fn factor(self) -> Option<f32> {
        (self.total != 0.0).then(|| 1.0 / self.total)
    }
}

/// In pairs.
#[inline(always)]
fn sum(mut of: [f32; PANEL]) -> f32 {
    let mut half = PANEL / 2;
    while half > 0 {
        for at in 0..half {
            of[at] += of[at + half];
        }
        half /= 2;
    }
    of[0]
}
