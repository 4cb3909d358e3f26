//! What is done to the rows of a product while they are in the cache.

/// What is done to rows of the product while they are in the cache: the rows, as one slice, and the same rows of the
/// tensor that is added, if one is.
pub(crate) trait Epilogue: Sync {
    /// Whether it changes nothing where nothing is added.
    fn is_nothing(&self) -> bool;

    /// Changes `rows` in place, which hold so many columns of the whole from the first on. To be `#[inline(always)]`, see
    /// [`Body`](super::vector::Body); where `width` is a constant the loop over a row is unrolled.
    fn apply(&self, first: usize, width: usize, rows: &mut [f32], other: Option<&[f32]>);
}

/// The product is the result.
pub(super) struct Nothing;

impl Epilogue for Nothing {
    fn is_nothing(&self) -> bool {
        true
    }

    fn apply(&self, _: usize, _: usize, _: &mut [f32], _: Option<&[f32]>) {}
}

/// What tests do to a product: a bias, what is added, and what is not below zero.
#[cfg(test)]
pub(super) struct BiasAndRelu<'a>(pub(super) &'a [f32]);

#[cfg(test)]
impl Epilogue for BiasAndRelu<'_> {
    fn is_nothing(&self) -> bool {
        false
    }

    #[allow(clippy::inline_always, reason = "as the epilogues that are not tests")]
    #[inline(always)]
    fn apply(&self, first: usize, width: usize, rows: &mut [f32], other: Option<&[f32]>) {
        for (row, values) in rows.chunks_exact_mut(width).enumerate() {
            for (column, y) in values.iter_mut().enumerate() {
                let added = other.map_or(0.0, |other| other[row * width + column]);
                *y = (*y + self.0[first + column] + added).max(0.0);
            }
        }
    }
}
