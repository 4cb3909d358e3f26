//! What a product of rows with a weight reads and writes, row by row.

use tch::{TchError, Tensor};

use super::order::contiguous;
use super::results;
use super::tensor::{Facts, refused};

/// Rows of f32 on the CPU, and their unwritten result.
pub(super) struct Operands {
    x: Tensor,
    other: Option<Tensor>,
    pub(super) y: Tensor,
    pub(super) rows: usize,
}

impl Operands {
    /// `x` is `[.., columns]` with at least one element, `sizes` is the result's shape `[.., out]`, and that of `other`.
    pub(super) fn new(
        x: &Tensor,
        sizes: &[i64],
        other: Option<&Tensor>,
        [columns, out]: [usize; 2],
    ) -> Result<Self, TchError> {
        let x = x.f_contiguous()?;
        let other = other.map(Tensor::f_contiguous).transpose()?;
        let dtype = Facts::of(&x).ok_or_else(|| refused("a product"))?.dtype;
        let rows = x.numel() / columns;
        let y = results::tensor(sizes, &contiguous(sizes), dtype, rows * out * size_of::<f32>())?;
        Ok(Self { x, other, y, rows })
    }

    pub(super) fn x(&self) -> *const f32 {
        self.x.data_ptr().cast_const().cast()
    }

    pub(super) fn y(&self) -> *mut f32 {
        self.y.data_ptr().cast()
    }

    pub(super) fn other(&self) -> Option<*const f32> {
        self.other.as_ref().map(|other| other.data_ptr().cast_const().cast())
    }
}
