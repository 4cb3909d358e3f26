//! The product of rows with a weight as MKL packs it; bias, addition and activation in the same pass.

use tch::{TchError, Tensor};

use super::Act;
use super::select::Rows;
use super::tail::RowTail;
use crate::ffi::PackedGemm;

pub(super) struct PackedMatrix {
    gemm: PackedGemm,
    bias: Option<Box<[f32]>>,
    rows: Rows,
}

impl PackedMatrix {
    /// Packs a finite weight `[out, in]` of f32 for about so many rows; none where MKL is not there.
    pub(super) fn pack(weight: &Tensor, bias: Option<&Tensor>, rows: Rows) -> Result<Option<Self>, TchError> {
        let Some(gemm) = PackedGemm::pack(weight, rows.0).transpose()? else { return Ok(None) };
        let bias = bias.map(Vec::try_from).transpose()?.map(Vec::into_boxed_slice);
        Ok(Some(Self { gemm, bias, rows }))
    }

    /// How many rows it was packed for.
    pub(super) fn rows(&self) -> Rows {
        self.rows
    }

    /// How many results a row has.
    pub(super) fn out(&self) -> i64 {
        self.gemm.out()
    }

    /// Weight and bias as they were packed.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), TchError> {
        Ok((self.gemm.dense_weight()?, self.bias.as_deref().map(Tensor::from_slice)))
    }

    /// `act(x wᵀ + bias + other)`; `x` is f32 `[.., in]` with at least one element, `sizes` is the result's shape, which
    /// is that of `other` too.
    pub(super) fn run(&self, x: &Tensor, sizes: &[i64], other: Option<&Tensor>, act: Act) -> Result<Tensor, TchError> {
        self.gemm.run(x, sizes, other, &RowTail { bias: self.bias.as_deref(), act })
    }
}
