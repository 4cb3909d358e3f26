//! The work on one block of tiles: transform, multiply, transform back, finish.

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::super::epilogue::Epilogue;
use super::super::lanes::{Kernel, Lanes};
use super::super::product::{Floats, Matrix, PANEL, multiply};
use super::transform::{self, POINTS, TAPS};
use super::{Call, DEPTH, apart, points_step};

/// As many tiles as the cache holds.
pub(super) struct Block<'a, T> {
    pub(super) call: &'a Call<'a, T>,
    pub(super) tiles: Range<usize>,
    pub(super) panels: Range<usize>,
    /// A row for each point: `[tiles][in]`, with a gap.
    pub(super) inputs: Matrix<*mut f32>,
    /// A row for each point: `[tiles][PANEL]`.
    pub(super) products: Matrix<*mut f32>,
    /// The transformed weight, `[POINTS][DEPTH][PANEL]`, with gaps, of one panel at a time or of all of them, one after the other.
    pub(super) points: *mut f32,
    /// There is room for all.
    pub(super) keeps: bool,
    /// The first block of its thread.
    pub(super) is_first: bool,
}

impl<T: Epilogue> Kernel for Block<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let channels = self.call.weight.channels;
        let step = points_step(channels);
        // SAFETY: the CPU has the registers by the contract of `run`; all addresses are in the call's buffers.
        unsafe {
            self.transform_input::<V>();
            for (index, panel) in self.panels.clone().enumerate() {
                for piece in 0..channels.div_ceil(DEPTH) {
                    let first = piece * DEPTH;
                    let depth = DEPTH.min(channels - first);
                    let kept = if self.keeps { index * channels.div_ceil(DEPTH) + piece } else { 0 };
                    let points = self.points.add(kept * POINTS * step);
                    if self.is_first || !self.keeps {
                        self.transform_weight::<V>(panel, first..first + depth, points);
                    }
                    for point in 0..POINTS {
                        let a = Matrix {
                            start: self.inputs.start.add(point * self.inputs.step + first).cast_const(),
                            step: apart(channels),
                        };
                        let b = points.add(point * step).cast_const();
                        let c = Matrix { start: self.products.start.add(point * self.products.step), step: PANEL };
                        multiply::<V, Floats>((self.tiles.len(), PANEL), depth, a, b, c, first > 0);
                    }
                }
                self.transform_back::<V>(panel);
            }
            self.finish();
        }
    }
}

impl<T: Epilogue> Block<'_, T> {
    #[inline(always)]
    unsafe fn transform_input<V: Lanes>(&self) {
        let (call, grid) = (self.call, &self.call.grid);
        let channels = call.weight.channels;
        for (index, tile) in self.tiles.clone().enumerate() {
            let pixels = call.pixels(grid.place(tile));
            // SAFETY: pixels and rows are `channels` long.
            unsafe {
                let to = self.inputs.start.add(index * apart(channels));
                let mut channel = 0;
                while channel < channels {
                    let mut d = [V::splat(0.0); POINTS];
                    for (value, pixel) in d.iter_mut().zip(pixels) {
                        *value = V::load(pixel.add(channel));
                    }
                    for (point, value) in transform::input(d).into_iter().enumerate() {
                        value.store(to.add(point * self.inputs.step + channel));
                    }
                    channel += V::COUNT;
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn transform_weight<V: Lanes>(&self, panel: usize, channels: Range<usize>, to: *mut f32) {
        let from = self.call.weight.panel(panel);
        let step = points_step(self.call.weight.channels);
        for (row, channel) in channels.enumerate() {
            let mut column = 0;
            while column < PANEL {
                // SAFETY: a panel has `TAPS` rows for each channel, and there is room for `POINTS` for each of these.
                unsafe {
                    let mut g = [V::splat(0.0); TAPS];
                    for (tap, value) in g.iter_mut().enumerate() {
                        *value = V::load(from.add((channel * TAPS + tap) * PANEL + column));
                    }
                    for (point, value) in transform::window(g).into_iter().enumerate() {
                        value.store(to.add(point * step + row * PANEL + column));
                    }
                }
                column += V::COUNT;
            }
        }
    }

    #[inline(always)]
    unsafe fn transform_back<V: Lanes>(&self, panel: usize) {
        let (call, grid) = (self.call, &self.call.grid);
        let out = call.weight.out;
        let columns = panel * PANEL..out.min((panel + 1) * PANEL);
        // SAFETY: the products of this panel are there, and the results of these tiles and columns are this thread's.
        unsafe {
            let mut finite = V::splat(0.0);
            let zero = finite;
            for (index, tile) in self.tiles.clone().enumerate() {
                let (image, row, column) = grid.place(tile);
                let from = self.products.start.add(index * PANEL);
                let rows = (grid.result[0] - 2 * row).min(2);
                let width = (grid.result[1] - 2 * column).min(2);
                let first = ((image * grid.result[0] + 2 * row) * grid.result[1] + 2 * column) * out + columns.start;
                let mut offset = 0;
                while offset < columns.len() {
                    let mut m = [zero; POINTS];
                    for (point, value) in m.iter_mut().enumerate() {
                        *value = V::load(from.add(point * self.products.step + offset));
                    }
                    let results = transform::result(m);
                    for i in 0..rows {
                        for j in 0..width {
                            let value = results[2 * i + j];
                            finite = finite.plus_product(value, zero);
                            value.store(call.y.add(first + (i * grid.result[1] + j) * out + offset));
                        }
                    }
                    offset += V::COUNT;
                }
            }
            let mut sums = [0.0_f32; 16];
            finite.store(sums.as_mut_ptr());
            if sums.iter().any(|sum| *sum != 0.0) {
                call.all_finite.store(false, Ordering::Relaxed);
            }
        }
    }
}

impl<T: Epilogue> Block<'_, T> {
    /// Bias, addition and activation, while the results are in the cache.
    #[inline(always)]
    unsafe fn finish(&self) {
        let (call, grid) = (self.call, &self.call.grid);
        if call.epilogue.is_nothing() && call.other.is_none() {
            return;
        }
        let out = call.weight.out;
        let columns = self.panels.start * PANEL..out.min(self.panels.end * PANEL);
        let mut tile = self.tiles.start;
        while tile < self.tiles.end {
            let (image, row, column) = grid.place(tile);
            let last = grid.tiles[1].min(column + self.tiles.end - tile);
            let width = grid.result[1].min(2 * last) - 2 * column;
            // Whole pixels lie one after the other.
            let (length, pieces) = if columns.len() == out { (width * out, 1) } else { (columns.len(), width) };
            for line in 2 * row..grid.result[0].min(2 * row + 2) {
                let first = ((image * grid.result[0] + line) * grid.result[1] + 2 * column) * out + columns.start;
                for piece in 0..pieces {
                    let at = first + piece * out;
                    // SAFETY: results of this thread's tiles and columns, which are written.
                    let (rows, other) = unsafe {
                        let rows = std::slice::from_raw_parts_mut(call.y.add(at), length);
                        (rows, call.other.map(|other| std::slice::from_raw_parts(other.add(at), length)))
                    };
                    call.epilogue.apply(columns.start, columns.len(), rows, other);
                }
            }
            tile += last - column;
        }
    }
}

impl<T> Call<'_, T> {
    /// The sixteen pixels of a tile.
    #[inline(always)]
    fn pixels(&self, (image, row, column): (usize, usize, usize)) -> [*const f32; POINTS] {
        let [height, width] = self.grid.input;
        let channels = self.weight.channels;
        let at = |y: usize, x: usize| self.x.wrapping_add(((image * height + y) * width + x) * channels);
        let mut pixels = [self.weight.zeros.as_ptr(); POINTS];
        let (top, left) =
            ((2 * row).wrapping_sub(self.weight.padding[0]), (2 * column).wrapping_sub(self.weight.padding[1]));
        if top.saturating_add(3) < height && left.saturating_add(3) < width {
            let corner = at(top, left);
            for (index, pixel) in pixels.iter_mut().enumerate() {
                *pixel = corner.wrapping_add((index / 4 * width + index % 4) * channels);
            }
            return pixels;
        }
        for i in 0..4 {
            for j in 0..4 {
                // Above and to the left of the image the difference wraps around to something too large.
                let (y, x) = (top.wrapping_add(i), left.wrapping_add(j));
                if y < height && x < width {
                    pixels[4 * i + j] = at(y, x);
                }
            }
        }
        pixels
    }
}
