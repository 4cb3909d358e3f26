//! How an image falls into tiles.

use super::super::convolution::Geometry;

pub(super) fn padding(geometry: &Geometry) -> [usize; 2] {
    [0, 1].map(|axis| usize::try_from(geometry.padding[axis]).unwrap_or(0))
}

/// How an input falls into tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) batch: usize,
    pub(super) input: [usize; 2],
    pub(super) result: [usize; 2],
    /// Along either axis.
    pub(super) tiles: [usize; 2],
}

impl Grid {
    /// Tiles of an input `[batch, in, height, width]`.
    pub(super) fn of(sizes: &[i64], padding: [usize; 2]) -> Option<Self> {
        let &[batch, _, height, width] = sizes else { return None };
        let length = |value: i64| usize::try_from(value).ok();
        let input = [length(height)?, length(width)?];
        let result = [(input[0] + 2 * padding[0]).checked_sub(2)?, (input[1] + 2 * padding[1]).checked_sub(2)?];
        Some(Self { batch: length(batch)?, input, result, tiles: result.map(|size| size.div_ceil(2)) })
    }

    pub(super) fn count(&self) -> usize {
        self.batch * self.tiles[0] * self.tiles[1]
    }

    /// Do few tiles hang over the edge of the result? The others are what is computed for nothing: nearly a quarter for
    /// images of 7×7.
    pub(super) fn is_filled(&self) -> bool {
        let results = self.result[0] * self.result[1];
        5 * results >= 4 * (4 * self.tiles[0] * self.tiles[1])
    }

    /// The image of a tile and the tile's place in it.
    #[allow(clippy::inline_always, reason = "part of the inner loops")]
    #[inline(always)]
    pub(super) fn place(&self, tile: usize) -> (usize, usize, usize) {
        let row = tile / self.tiles[1];
        (row / self.tiles[0], row % self.tiles[0], tile % self.tiles[1])
    }
}
