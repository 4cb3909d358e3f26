//! Which shape and strides the results of a group have: those that `ATen`'s operators would give them one by one.
//!
//! The rules are those of libtorch's `TensorIterator`: operands of one shape that lie alike give a result that lies as
//! they do; else the axes are sorted by the operands' strides, the first operand that tells two axes apart decides, and
//! the result is dense in that order. An op on rows is followed here for contiguous tensors alone.

mod costly;
mod rows;
mod shaped;
mod sources;

pub(super) use sources::Sources;

use crate::ffi::pointwise::Operand;
use crate::ffi::{MAX_RANK, is_dense_in};

/// Shape and strides of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    rank: usize,
    sizes: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
    /// False where the shapes do not go together; then all else means nothing.
    is_known: bool,
    /// Of the tensors that a costly function was applied to, how many elements the smallest has.
    costly: Option<i64>,
    /// As `c10::ScalarType` counts.
    dtype: i32,
    /// Of the tensors that an op on rows was applied to, how many elements they have, and how many a row.
    rows: Option<(i64, i64)>,
}

/// A number, of which no layout depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnyNumber;

impl From<f64> for AnyNumber {
    fn from(_: f64) -> Self {
        Self
    }
}

impl From<i64> for AnyNumber {
    fn from(_: i64) -> Self {
        Self
    }
}

impl Layout {
    /// The layout of a tensor.
    pub(super) fn of(operand: &Operand<'_>) -> Self {
        let facts = operand.facts();
        let (given, mut sizes) = (facts.sizes(), [0; MAX_RANK]);
        sizes[..given.len()].copy_from_slice(given);
        let (strides, dtype) = (*operand.strides(), facts.dtype);
        Self { rank: given.len(), sizes, strides, is_known: true, costly: None, dtype, rows: None }
    }

    /// What ops on contiguous tensors yield where no op is wasteful: the common shape, contiguous too, since no operand
    /// tells another order of the axes. None where a result may be made of some of them alone, unless all are of one shape.
    pub(super) fn of_contiguous(operands: &[Operand<'_>], results: &[Sources]) -> Option<Self> {
        let mut shape = Self::of(operands.first()?);
        for operand in operands {
            let sizes = operand.facts().sizes();
            if !is_packed(sizes, operand.strides()) || !shape.widen(sizes) {
                return None;
            }
        }
        let has_all = |operand: &Operand<'_>| operand.facts().sizes() == shape.sizes();
        let is_plain =
            |result: &Sources| result.is_all(operands.len()) && !result.is_wasteful(operands.iter().map(has_all));
        (operands.iter().all(has_all) || results.iter().all(is_plain)).then(|| shape.packed((0..shape.rank).rev()))
    }

    /// Makes it the common shape with another one; false where there is none.
    fn widen(&mut self, other: &[i64]) -> bool {
        if other.len() > self.rank {
            self.sizes.copy_within(..self.rank, other.len() - self.rank);
            self.sizes[..other.len() - self.rank].fill(1);
            self.rank = other.len();
        }
        let offset = self.rank - other.len();
        self.sizes[offset..self.rank].iter_mut().zip(other).all(|(own, &other)| {
            let is_common = *own == other || *own == 1 || other == 1;
            *own = if *own == 1 { other } else { *own };
            is_common
        })
    }

    pub(super) fn sizes(&self) -> &[i64] {
        &self.sizes[..self.rank]
    }

    pub(super) fn strides(&self) -> &[i64] {
        &self.strides[..self.rank]
    }

    pub(super) fn elements(&self) -> i64 {
        self.sizes().iter().product()
    }

    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Elements of the tensors that ops on rows were applied to, and of their rows; none if there was no such op.
    pub(super) fn rows(&self) -> Option<(i64, i64)> {
        self.rows
    }

    /// Whether a costly function is applied to every element.
    pub(super) fn is_costly(&self) -> bool {
        self.costly.is_some()
    }

    /// Whether one pass over the result would apply a costly function to an element of a smaller tensor again and
    /// again.
    pub(super) fn is_wasteful(&self) -> bool {
        self.costly.is_some_and(|least| least < self.elements())
    }

    pub(super) fn is_row_major(&self) -> bool {
        self.is_dense_in((0..self.rank).rev())
    }

    /// The format of images, which libtorch knows for four axes.
    fn is_channels_last(&self) -> bool {
        self.rank == 4 && self.is_dense_in([1, 3, 2, 0].into_iter())
    }

    /// Whether the elements lie without gaps, the first of these axes innermost. Axes of one element may have any
    /// stride.
    fn is_dense_in(&self, axes: impl Iterator<Item = usize>) -> bool {
        is_dense_in(self.sizes(), self.strides(), axes)
    }

    /// Whether the elements lie without gaps in any order.
    fn is_dense(&self) -> bool {
        let mut axes: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        axes[..self.rank].sort_by_key(|&axis| self.strides[axis]);
        self.is_dense_in(axes.into_iter().take(self.rank))
    }

    /// The same shape, dense, with the first of these axes innermost.
    fn packed(mut self, axes: impl Iterator<Item = usize>) -> Self {
        let mut step = 1;
        for axis in axes {
            self.strides[axis] = step;
            step *= self.sizes[axis].max(1);
        }
        self
    }

    /// What a function of one tensor yields.
    fn unary(self) -> Self {
        if self.is_row_major() {
            self.packed((0..self.rank).rev())
        } else if self.is_channels_last() {
            self.packed([1, 3, 2, 0].into_iter())
        } else if self.is_dense() {
            self
        } else {
            self.iterated(&[self])
        }
    }

    /// The same for a costly one.
    fn costly(self) -> Self {
        let elements = self.elements();
        let least = self.costly.map_or(elements, |least| least.min(elements));
        Self { costly: Some(least), ..self.unary() }
    }

    /// What an operation with a number yields: to libtorch it is a tensor of another shape.
    fn scaled(self) -> Self {
        self.iterated(&[self])
    }

    fn binary(self, other: Self) -> Self {
        let costly = self.costly.into_iter().chain(other.costly).min();
        let Some(shape) = self.broadcast(&other) else { return Self { is_known: false, ..self } };
        let operands = [self, other];
        let is_same = self.sizes() == other.sizes();
        let result = if is_same && operands.iter().all(Self::is_row_major) {
            shape.packed((0..shape.rank).rev())
        } else if is_same && operands.iter().all(Self::is_channels_last) {
            shape.packed([1, 3, 2, 0].into_iter())
        } else if is_same && self.strides() == other.strides() && self.is_dense() {
            Self { is_known: shape.is_known, rows: shape.rows, ..self }
        } else {
            shape.iterated(&operands)
        };
        Self { costly, ..result }
    }

    /// The common shape, without strides.
    pub(super) fn broadcast(&self, other: &Self) -> Option<Self> {
        let is_alike = self.rows.zip(other.rows).is_none_or(|(one, other)| one == other);
        let is_known = self.is_known && other.is_known && is_alike;
        let mut out = Self { is_known, rows: self.rows.or(other.rows), ..*self };
        out.widen(other.sizes()).then_some(out)
    }

    /// This shape, dense, with its axes in the order in which the operands lie.
    fn iterated(self, operands: &[Self]) -> Self {
        let rank = self.rank;
        // No operand tells another order, and there is no axis of one element that could lie anywhere.
        if self.sizes().iter().all(|&size| size > 1) && operands.iter().all(Self::is_row_major) {
            return self.packed((0..rank).rev());
        }
        let mut axes: [usize; MAX_RANK] = [0; MAX_RANK];
        for (place, axis) in (0..rank).rev().enumerate() {
            axes[place] = axis;
        }
        let stride = |of: &Self, axis: usize| {
            let own = (axis + of.rank).checked_sub(rank);
            own.filter(|&own| of.sizes[own] != 1 || self.sizes[axis] == 1).map_or(0, |own| of.strides[own])
        };
        // Positive if `a` has to lie outside of `b`, negative if inside, zero if no operand tells.
        let outside = |a: usize, b: usize| {
            for operand in operands {
                let (of_a, of_b) = (stride(operand, a), stride(operand, b));
                if of_a == 0 || of_b == 0 {
                    continue;
                }
                if of_a != of_b {
                    return if of_a < of_b { -1 } else { 1 };
                }
                if self.sizes[a] > self.sizes[b] {
                    return 1;
                }
            }
            0
        };
        for place in 1..rank {
            let mut here = place;
            for inner in (0..place).rev() {
                match outside(axes[inner], axes[here]) {
                    0 => {}
                    order if order > 0 => {
                        axes.swap(inner, here);
                        here = inner;
                    }
                    _ => break,
                }
            }
        }
        self.packed(axes.into_iter().take(rank))
    }
}

/// Whether these are the very strides of a contiguous tensor, of axes of one element too.
fn is_packed(sizes: &[i64], strides: &[i64]) -> bool {
    let mut step = 1;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let is_next = stride == step;
        step *= size.max(1);
        is_next
    })
}
