//! `softmax(query · keyᵀ · scale + mask) · value` in f32 on the CPU, some rows of a head at a time.
//!
//! Scores live in the second cache alone. Keys come in blocks, transposed into panels, and values as they are; a row's
//! maximum and total go along from block to block, and what is summed up by then is scaled when the maximum grows
//! (Milakov and Gimelshein 2018; Dao et al. 2022). Both products may round what they multiply to bf16, see [`words`].

#![allow(clippy::inline_always, reason = "what is not inlined has no vectors")]

mod heads;
mod pack;
mod room;
mod row;
mod words;

use std::marker::PhantomData;
use std::ops::Range;

use tch::{TchError, Tensor};

use super::buffer::with_scratch;
use super::lanes::{Kernel, Lanes, has_lanes, has_pairs, on_lanes, on_pairs};
use super::omp_threads::{share, threads, try_each_part};
use super::output_pool;
use super::product::{Floats, Matrix, PANEL, Pairs, multiply};
use heads::{Heads, MaskRows, Sizes};
use room::Room;
use row::Row;
use words::Words;

/// Keys whose panels and values lie in the second cache at once.
const KEYS: usize = 512;
/// Queries whose scores with these keys lie there as well; rows of two blocks of the product on the widest registers.
const QUERIES: usize = 28;
/// Queries that share what was packed.
const CHUNK: usize = 10 * QUERIES;
/// Shares of the work for each thread, so that whoever is free first does what is left.
const SHARES: usize = 4;
/// Multiplications that are worth a thread of their own.
const WORTH: usize = 1 << 16;
/// What is packed for fewer queries costs more than it saves.
const LEAST_QUERIES: usize = 2;

/// What becomes of the scores.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mask<'a> {
    Nothing,
    /// A key behind the query is not seen.
    Causal,
    /// Numbers of f32, added. Where that leaves no weight to any key, the result is this.
    Added(&'a Tensor, f32),
    /// Booleans: who is seen.
    Seen(&'a Tensor),
    /// Booleans; scores of those where it holds become this number.
    Filled(&'a Tensor, f32),
}

/// What queries, keys, weights and values are rounded to before they are multiplied; sums are f32 either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Factors {
    F32,
    /// Where the CPU multiplies pairs of bf16, which takes half the time.
    Bf16,
}

impl Mask<'_> {
    /// The result for a query that sees no key.
    fn of_nothing(self) -> f32 {
        match self {
            Self::Added(_, result) => result,
            Self::Filled(..) => f32::NAN,
            _ => 0.0,
        }
    }
}

/// Attention of f32 tensors of two to four axes on the CPU, which broadcast but for the last two. None for operands that
/// are not such, or too few, and where the machine has no registers for it.
///
/// A query that sees no key yields zeros, but NaN where scores were filled, since a softmax over nothing is.
///
/// The result of four axes lies as `[batch, row, head, column]`, so that heads can be joined without a copy.
pub(crate) fn attend(
    operands: [&Tensor; 3],
    mask: Mask<'_>,
    scale: f32,
    factors: Factors,
) -> Option<Result<Tensor, TchError>> {
    if !has_lanes() || !scale.is_finite() || scale <= 0.0 {
        return None;
    }
    let sizes = Sizes::of(operands)?;
    if sizes.rows < LEAST_QUERIES {
        return None;
    }
    let [query, key, value] = operands.map(|operand| Heads::of(operand, &sizes));
    let (of_nothing, mask) = (mask.of_nothing(), MaskRows::of(mask, &sizes)?);
    let y = std::ptr::null_mut();
    let in_pairs = factors == Factors::Bf16 && has_pairs() && words::come_in_pairs(&sizes);
    Some(run(Job { query: query?, key: key?, value: value?, mask, scale, of_nothing, y, sizes, in_pairs }))
}

fn run(mut job: Job) -> Result<Tensor, TchError> {
    let y = result(&job.sizes)?;
    job.y = y.data_ptr().cast();
    let Sizes { batches, heads, rows, keys, depth, width, .. } = job.sizes;
    let wanted = rows.div_ceil(CHUNK).max((SHARES * threads()).div_ceil(batches * heads));
    let chunk = rows.div_ceil(wanted).next_multiple_of(QUERIES);
    let chunks = rows.div_ceil(chunk);
    let pieces = batches * heads * chunks;
    let work = (batches * heads * rows).saturating_mul(keys).saturating_mul(depth + width);
    let parts = (work / WORTH).clamp(1, pieces);
    let room = Room::of(&job.sizes, chunk);
    try_each_part(parts, "memory for attention", &|part| {
        with_scratch(room.bytes(), |scratch| {
            for piece in share(pieces, part, parts) {
                let (head, first) = (piece / chunks, piece % chunks * chunk);
                let (place, rows) = ([head / heads, head % heads], first..rows.min(first + chunk));
                let scratch = scratch.cast();
                if job.in_pairs {
                    on_pairs(Piece { job: &job, place, rows, room, scratch, words: PhantomData::<Pairs> });
                } else {
                    on_lanes(Piece { job: &job, place, rows, room, scratch, words: PhantomData::<Floats> });
                }
            }
            Ok(())
        })
    })?;
    Ok(y)
}

/// Where the results go.
fn result(sizes: &Sizes) -> Result<Tensor, TchError> {
    let &Sizes { rank, batches, heads, rows, width, .. } = sizes;
    let long = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let lengths = [batches, heads, rows, width].map(long);
    let steps = [rows * heads * width, width, heads * width, 1].map(long);
    let bytes = batches * heads * rows * width * size_of::<f32>();
    match rank {
        3 => output_pool::tensor(
            &[lengths[0], lengths[2], lengths[3]],
            &[steps[0], steps[2], steps[3]],
            heads::F32,
            bytes,
        ),
        rank => output_pool::tensor(&lengths[4 - rank..], &steps[4 - rank..], heads::F32, bytes),
    }
}

/// One attention.
struct Job {
    query: Heads,
    key: Heads,
    value: Heads,
    mask: MaskRows,
    scale: f32,
    /// The result for a row without any weight.
    of_nothing: f32,
    /// `[batches, rows, heads, width]`
    y: *mut f32,
    sizes: Sizes,
    /// Whether factors are rounded to bf16.
    in_pairs: bool,
}

// SAFETY: operands are only read, and each piece writes rows of its own.
unsafe impl Sync for Job {}

/// Some rows of a head.
struct Piece<'a, W> {
    job: &'a Job,
    /// Batch and head.
    place: [usize; 2],
    rows: Range<usize>,
    room: Room,
    scratch: *mut f32,
    words: PhantomData<W>,
}

impl<W: Words> Kernel for Piece<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Lanes>(self) {
        let keys = if self.is_causal() { self.rows.end.min(self.job.sizes.keys) } else { self.job.sizes.keys };
        // SAFETY: by the contract of `run`; there is room for all of it, and nobody else has these rows of the result.
        unsafe {
            let so_far = std::slice::from_raw_parts_mut(self.scratch.add(self.room.rows()).cast(), self.rows.len());
            so_far.fill(Row::NOTHING);
            let mut first = 0;
            while first < keys {
                let block = first..keys.min(first + self.room.keys);
                self.with_keys::<V>(&block, so_far);
                first = block.end;
            }
            self.finish(so_far);
        }
    }
}

impl<W: Words> Piece<'_, W> {
    #[inline(always)]
    fn is_causal(&self) -> bool {
        matches!(self.job.mask, MaskRows::Causal)
    }

    /// All rows with a block of keys.
    #[inline(always)]
    unsafe fn with_keys<V: Lanes>(&self, keys: &Range<usize>, so_far: &mut [Row]) {
        let Job { key, value, sizes, .. } = self.job;
        let room = &self.room;
        // SAFETY: by the caller's contract.
        unsafe {
            let values = self.scratch.add(room.values());
            W::pack_keys(key.rows(self.place, keys.start), keys.len(), sizes.depth, self.scratch, values);
            W::pack_values(value.rows(self.place, keys.start), keys.len(), sizes.width, values, room.keys);
            let mut first = self.rows.start;
            while first < self.rows.end {
                let rows = first..self.rows.end.min(first + QUERIES);
                let seen = if self.is_causal() { keys.end.min(rows.end) } else { keys.end };
                let keys = keys.start..seen.max(keys.start);
                self.scores::<V>(&rows, &keys);
                let so_far = &mut so_far[rows.start - self.rows.start..rows.end - self.rows.start];
                self.weights(&rows, &keys, so_far);
                self.sums::<V>(&rows, &keys);
                first = rows.end;
            }
        }
    }

    /// Products of some rows with some keys.
    #[inline(always)]
    unsafe fn scores<V: Lanes>(&self, rows: &Range<usize>, keys: &Range<usize>) {
        let (room, depth) = (&self.room, self.job.sizes.depth);
        let from = self.job.query.rows(self.place, rows.start);
        // SAFETY: by the caller's contract.
        let from = unsafe { W::queries(from, rows.len(), depth, self.scratch.add(room.queries())) };
        let depth = depth / W::NUMBERS;
        let mut key = 0;
        while key < keys.len() {
            // SAFETY: by the caller's contract.
            unsafe {
                let to = Matrix { start: self.scratch.add(room.scores() + key), step: room.keys };
                multiply::<V, W>((rows.len(), PANEL), depth, from, self.scratch.add(key * depth), to, false);
            }
            key += PANEL;
        }
    }

    /// Turns scores into weights, and scales what was summed up with those of keys before.
    #[inline(always)]
    unsafe fn weights(&self, rows: &Range<usize>, keys: &Range<usize>, so_far: &mut [Row]) {
        let room = &self.room;
        for (offset, (row, so_far)) in rows.clone().zip(so_far).enumerate() {
            let seen = if self.is_causal() { keys.end.min(row + 1) } else { keys.end };
            // SAFETY: by the caller's contract.
            unsafe {
                let scores = self.scratch.add(room.scores() + offset * room.keys);
                let scores = std::slice::from_raw_parts_mut(scores, keys.len().next_multiple_of(PANEL));
                let place = [self.place[0], self.place[1], row];
                self.job.mask.apply(scores, seen.saturating_sub(keys.start), self.job.scale, place, keys.start);
                let growth = so_far.weigh(scores);
                W::round(scores);
                if keys.start > 0 {
                    for sum in std::slice::from_raw_parts_mut(self.sums_of(row), self.job.sizes.width) {
                        *sum *= growth;
                    }
                }
            }
        }
    }

    /// Adds the values of some keys, by weight.
    #[inline(always)]
    unsafe fn sums<V: Lanes>(&self, rows: &Range<usize>, keys: &Range<usize>) {
        let (room, sizes) = (&self.room, &self.job.sizes);
        let count = keys.len().div_ceil(W::NUMBERS);
        let mut column = 0;
        while column < sizes.width && !keys.is_empty() {
            // SAFETY: by the caller's contract.
            unsafe {
                let from = Matrix { start: self.scratch.add(room.scores()).cast_const(), step: room.keys };
                let values = self.scratch.add(room.values() + column * room.keys / W::NUMBERS);
                let to = Matrix { start: self.sums_of(rows.start).add(column), step: room.columns };
                multiply::<V, W>((rows.len(), sizes.width - column), count, from, values, to, keys.start > 0);
            }
            column += PANEL;
        }
    }

    #[inline(always)]
    fn sums_of(&self, row: usize) -> *mut f32 {
        self.scratch.wrapping_add(self.room.sums() + (row - self.rows.start) * self.room.columns)
    }

    /// Sums become results.
    #[inline(always)]
    unsafe fn finish(&self, so_far: &[Row]) {
        let &Job { y, of_nothing, sizes: Sizes { heads, rows, width, .. }, .. } = self.job;
        let [batch, head] = self.place;
        for (row, so_far) in self.rows.clone().zip(so_far) {
            // SAFETY: by the caller's contract.
            let (to, from) = unsafe {
                let to = y.add(((batch * rows + row) * heads + head) * width);
                (std::slice::from_raw_parts_mut(to, width), std::slice::from_raw_parts(self.sums_of(row), width))
            };
            match so_far.factor() {
                Some(factor) => to.iter_mut().zip(from).for_each(|(to, from)| *to = from * factor),
                None => to.fill(of_nothing),
            }
        }
    }
}

#[cfg(test)]
mod tests;
