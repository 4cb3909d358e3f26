//! oneDNN's matrix product with a weight in the kernel's own layout and fused activation and addition.

use tch::{TchError, Tensor};

use super::linear_shim::ShimLinear;
use super::onednn::DirectConv;
use super::{Param, PostOp};

/// Rows for which a weight is laid out beforehand. Small weights have another layout for few rows.
const USUAL_ROWS: i64 = 128;

/// A linear layer whose weight lies in oneDNN's blocked layout.
#[derive(Debug)]
pub(crate) enum PackedLinear {
    /// oneDNN is called directly, for a convolution of one pixel.
    Direct(Box<DirectConv>),
    /// Through libtorch's entry points.
    Shim(ShimLinear),
}

impl PackedLinear {
    /// Packs a dense weight `[out, in]` of f32, or of bf16 or f16 where the CPU has them; none where this libtorch lacks
    /// an entry point that is needed.
    pub(crate) fn pack(weight: &Tensor, bias: Option<&Tensor>) -> Option<Result<Self, TchError>> {
        let Some(direct) = DirectConv::pack_rows(weight, bias) else {
            return Some(ShimLinear::pack(weight, bias)?.map(Self::Shim));
        };
        Some(direct.and_then(|direct| {
            direct.lay_out_for_rows(USUAL_ROWS)?;
            Ok(Self::Direct(Box::new(direct)))
        }))
    }

    /// The weight as it was before it was packed, `[out, in]`.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.dense_weight()?.f_flatten(1, -1),
            Self::Shim(shim) => shim.dense_weight(),
        }
    }

    /// The bias, `[out]`.
    pub(crate) fn bias(&self) -> Option<&Param> {
        match self {
            Self::Direct(direct) => direct.bias(),
            Self::Shim(shim) => shim.bias(),
        }
    }

    /// `post(x wᵀ + b)`; `x` is `[.., in]` with at least one element, in the weight's dtype, and `sizes` is the result's
    /// shape.
    pub(crate) fn run(&self, x: &Tensor, sizes: &[i64], post: &PostOp) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.run_rows(x, sizes, None, post),
            Self::Shim(shim) if sizes.len() == 1 => shim.run(&x.f_unsqueeze(0)?, post)?.f_squeeze_dim(0),
            Self::Shim(shim) => shim.run(x, post),
        }
    }

    /// Whether [`Self::run_add`] applies anything to the sum.
    pub(crate) fn applies_to_sums(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// `post(x wᵀ + b + other)` in one kernel, where `post` is nothing unless [`Self::applies_to_sums`]; `other` has the
    /// result's shape and dtype.
    pub(crate) fn run_add(&self, x: &Tensor, sizes: &[i64], other: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.run_rows(x, sizes, Some(other), post),
            Self::Shim(shim) if sizes.len() == 1 => {
                shim.run_add(&x.f_unsqueeze(0)?, &other.f_unsqueeze(0)?)?.f_squeeze_dim(0)
            }
            Self::Shim(shim) => shim.run_add(x, other),
        }
    }
}

#[cfg(test)]
mod tests;
