//! Convolutions with windows of 3×3 by Winograd's algorithm: 16 multiplications for four results instead of 36.
//!
//! A tile of 4×4 of the input and a window of 3×3 are transformed, multiplied point by point (summed over the channels:
//! 16 matrix products) and transformed back to 2×2 results. The transforms add and subtract alone, and halve the window's
//! sums once; a result depends on the numbers in its own window alone. So rounding errors stay of the size that the
//! direct sum has, relative to the largest of these numbers. Larger tiles save more multiplications and lose digits,
//! which is why there are none here.
//!
//! The weight is kept as it is and transformed in every call, some channels of a panel at a time, in the cache: that
//! takes a twentieth of the time that the products take, and the transformed weight would take 16 / 9 of the memory.
//!
//! What the algorithm cannot do is infinities: where they should meet a number, their difference is NaN.
//! [`Winograd::run`] gives nothing back if a result is not finite, and the caller takes the direct convolution.
//!
//! On two cores of a Sapphire Rapids, one image, against oneDNN: 64 channels of 56×56 1.6 times as fast, 128 of 28×28
//! 1.5, 256 of 14×14 1.35, 512 of 14×14 1.2, 320 of 32×32 1.4; 512 of 7×7 as fast, where tiles hang over the edge.

mod block;
mod grid;
mod transform;

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use tch::{Device, Kind, TchError, Tensor};

use self::block::Block;
use self::grid::{Grid, padding};
use self::transform::{POINTS, TAPS};
use super::buffer::{Buffer, with_scratch};
use super::convolution::Geometry;
use super::epilogue::Epilogue;
use super::lanes::{has_lanes, on_lanes};
use super::memory_format::channels_last;
use super::omp_threads::{for_each_part, share, threads, try_each_part};
use super::output_pool::{self, PoolUser};
use super::product::{Matrix, PANEL};
use super::tensor::{Facts, refused};

/// Channels come in multiples of the widest register.
const CHANNELS: i64 = 16;
/// Bytes of transformed weight that a thread keeps for all of its blocks.
const KEPT: usize = 1 << 20;
/// Bytes of transformed input that are worked on at once where the weight is kept: both stay in the second cache.
const BLOCK: usize = 256 << 10;
/// The same where the weight is transformed again for every block, which larger blocks are worth.
const LARGE_BLOCK: usize = 1 << 20;
/// Channels of a panel that are transformed and multiplied at once.
const DEPTH: usize = 128;
/// Tiles that make a matrix product worth its while.
const TILES: usize = 48;
/// With fewer tiles the direct sum is faster: the weight is transformed for too few of them.
const FEW_TILES: usize = 24;
/// Floats of a cache line: rows whose length is a power of two fall into the same few places of a cache.
const GAP: usize = 16;

/// A weight `[out, in, 3, 3]`.
#[derive(Debug)]
pub(crate) struct Winograd {
    /// `[out / PANEL][in][TAPS][PANEL]`
    taps: Buffer,
    channels: usize,
    out: usize,
    padding: [usize; 2],
    /// A pixel outside of the image.
    zeros: Vec<f32>,
    _pool_user: PoolUser,
}

impl Winograd {
    /// Whether a convolution with a weight of these sizes can be done so.
    pub(crate) fn fits(sizes: &[i64], geometry: &Geometry) -> bool {
        let whole = |channels: i64| channels > 0 && channels % CHANNELS == 0;
        has_lanes()
            && matches!(*sizes, [out, channels, 3, 3] if whole(out) && whole(channels))
            && geometry.groups == 1
            && geometry.output_padding.is_none()
            && geometry.stride.iter().chain(&geometry.dilation).all(|&step| step == 1)
            && geometry.padding.iter().all(|padding| (0..=2).contains(padding))
    }

    /// Packs a weight of f32 on the CPU that [`Self::fits`].
    pub(crate) fn pack(weight: &Tensor, geometry: &Geometry) -> Result<Self, TchError> {
        let weight = weight.f_contiguous()?;
        let sizes = weight.size();
        let length = |axis: usize| usize::try_from(sizes[axis]).unwrap_or(0);
        let (out, channels) = (length(0), length(1));
        let panels = out.div_ceil(PANEL);
        let taps = Buffer::lasting(panels * TAPS * channels * PANEL * size_of::<f32>())?;
        let zeros = vec![0.0; channels];
        let packed = Self { taps, channels, out, padding: padding(geometry), zeros, _pool_user: PoolUser::new() };
        // SAFETY: `out × channels` windows.
        let windows =
            unsafe { std::slice::from_raw_parts(weight.data_ptr().cast_const().cast::<[f32; TAPS]>(), out * channels) };
        for_each_part(panels, &|panel| {
            let first = packed.panel(panel).cast_mut();
            for (column, out) in (panel * PANEL..(panel + 1) * PANEL).enumerate() {
                for channel in 0..channels {
                    let window = windows.get(out * channels + channel).unwrap_or(&[0.0; TAPS]);
                    for (tap, value) in window.iter().enumerate() {
                        // SAFETY: inside of the panel, which is written by one part.
                        unsafe { first.add((channel * TAPS + tap) * PANEL + column).write(*value) };
                    }
                }
            }
        });
        Ok(packed)
    }

    /// The weight as it was packed.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        let sizes = [self.out, self.channels, 3, 3].map(|size| i64::try_from(size).unwrap_or(0));
        let weight = Tensor::f_empty(sizes, (Kind::Float, Device::Cpu))?;
        let windows = weight.data_ptr().cast::<[f32; TAPS]>();
        for out in 0..self.out {
            let first = self.panel(out / PANEL).wrapping_add(out % PANEL);
            for channel in 0..self.channels {
                // SAFETY: inside of the panel; `out × channels` windows.
                unsafe {
                    let tap = |tap| *first.add((channel * TAPS + tap) * PANEL);
                    windows.add(out * self.channels + channel).write(std::array::from_fn(tap));
                }
            }
        }
        Ok(weight)
    }

    fn panel(&self, panel: usize) -> *const f32 {
        self.taps.address().cast_const().cast::<f32>().wrapping_add(panel * TAPS * self.channels * PANEL)
    }

    /// Whether this is the faster way for an input `[batch, in, height, width]`.
    pub(crate) fn pays(sizes: &[i64], geometry: &Geometry) -> bool {
        Grid::of(sizes, padding(geometry)).is_some_and(|grid| grid.count() >= FEW_TILES && grid.is_filled())
    }

    /// `epilogue(conv(x), other)`, or none if some result of the convolution is not finite.
    ///
    /// `x`, with these facts, is f32 `[batch, in, height, width]` on the CPU, of any strides and with at least one result; `other` has the
    /// result's shape and dtype. The result lies in `channels_last` order.
    pub(crate) fn run(
        &self,
        x: &Tensor,
        facts: &Facts,
        other: Option<&Tensor>,
        epilogue: &impl Epilogue,
    ) -> Result<Option<Tensor>, TchError> {
        let grid = Grid::of(facts.sizes(), self.padding).ok_or_else(|| refused("a convolution"))?;
        let sizes = [grid.batch, self.out, grid.result[0], grid.result[1]].map(|size| i64::try_from(size).unwrap_or(0));
        let strides = [sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]];
        let bytes = grid.batch * self.out * grid.result[0] * grid.result[1] * size_of::<f32>();
        let x_copy = channels_last(x, facts.sizes())?;
        let other_copy = other.map(|other| channels_last(other, &sizes)).transpose()?.flatten();
        let (x, other) = (x_copy.as_ref().unwrap_or(x), other_copy.as_ref().or(other));
        let y = output_pool::tensor(&sizes, &strides, facts.dtype, bytes)?;
        let all_finite = AtomicBool::new(true);
        let call = Call {
            weight: self,
            grid,
            x: x.data_ptr().cast_const().cast(),
            y: y.data_ptr().cast(),
            other: other.map(|other| other.data_ptr().cast_const().cast()),
            epilogue,
            all_finite: &all_finite,
        };
        call.run()?;
        Ok(all_finite.into_inner().then_some(y))
    }
}

/// One call, shared by its threads.
struct Call<'a, T> {
    weight: &'a Winograd,
    grid: Grid,
    x: *const f32,
    y: *mut f32,
    other: Option<*const f32>,
    epilogue: &'a T,
    all_finite: &'a AtomicBool,
}

// SAFETY: `x` and `other` are read alone, and parts write disjoint results.
unsafe impl<T: Sync> Sync for Call<'_, T> {}

impl<T: Epilogue> Call<'_, T> {
    /// Shares the tiles out among the threads; where there are few, the panels of the weight.
    fn run(&self) -> Result<(), TchError> {
        let (tiles, panels, threads) = (self.grid.count(), self.weight.out.div_ceil(PANEL), threads());
        let tile_parts = (tiles / TILES).clamp(1, threads);
        let panel_parts = threads.div_ceil(tile_parts).min(panels);
        try_each_part(tile_parts * panel_parts, "memory for a convolution", &|part| {
            let tiles = share(tiles, part / panel_parts, tile_parts);
            self.part(tiles, share(panels, part % panel_parts, panel_parts))
        })
    }

    /// Some tiles, through some panels of the weight.
    fn part(&self, tiles: Range<usize>, panels: Range<usize>) -> Result<(), TchError> {
        let step = apart(self.weight.channels);
        let piece = POINTS * points_step(self.weight.channels);
        let whole = panels.len() * self.weight.channels.div_ceil(DEPTH) * piece;
        let keeps = whole * size_of::<f32>() <= KEPT;
        let block = if keeps { BLOCK } else { LARGE_BLOCK };
        let most = (block / (POINTS * step * size_of::<f32>())).max(16);
        let blocks = tiles.len().div_ceil(most);
        let longest = tiles.len().div_ceil(blocks);
        let (inputs, products) = (apart(longest * step), apart(longest * PANEL));
        let points = if keeps { whole } else { piece };
        let bytes = (POINTS * (inputs + products) + points) * size_of::<f32>();
        with_scratch(bytes, |scratch| {
            let scratch = scratch.cast::<f32>();
            for block in 0..blocks {
                let place = |block: usize| tiles.start + tiles.len() * block / blocks;
                on_lanes(Block {
                    call: self,
                    tiles: place(block)..place(block + 1),
                    panels: panels.clone(),
                    inputs: Matrix { start: scratch, step: inputs },
                    products: Matrix { start: scratch.wrapping_add(POINTS * inputs), step: products },
                    points: scratch.wrapping_add(POINTS * (inputs + products)),
                    keeps,
                    is_first: block == 0,
                });
            }
            Ok(())
        })
    }
}

/// Elements from a row of so many to the next, so that they lie in different places of the caches.
fn apart(row: usize) -> usize {
    GAP * (row.div_ceil(GAP) | 1)
}

/// Elements from a point of a transformed weight to the next.
fn points_step(channels: usize) -> usize {
    apart(DEPTH.min(channels) * PANEL)
}

#[cfg(test)]
mod tests;
