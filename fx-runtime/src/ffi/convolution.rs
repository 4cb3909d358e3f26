//! oneDNN's convolution with a weight in the kernel's own layout and fused activation and addition.

use tch::{TchError, Tensor};

use super::convolution_shim::ShimConv;
use super::onednn::DirectConv;
use super::{Param, PostOp};

/// Where a convolution's window goes; every list has one entry for each spatial axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) stride: Box<[i64]>,
    pub(crate) padding: Box<[i64]>,
    pub(crate) dilation: Box<[i64]>,
    /// Set for a transposed convolution alone.
    pub(crate) output_padding: Option<Box<[i64]>>,
    pub(crate) groups: i64,
}

impl Geometry {
    /// Windows of one pixel: each row of channels is multiplied with the weight.
    pub(crate) fn of_rows() -> Self {
        let (one, none): (Box<[i64]>, _) = (Box::from([1, 1]), Box::from([0, 0]));
        Self { stride: one.clone(), padding: none, dilation: one, output_padding: None, groups: 1 }
    }
}

/// A convolution whose weight lies in oneDNN's blocked layout.
#[derive(Debug)]
pub(crate) enum PackedConv {
    /// oneDNN is called directly.
    Direct(Box<DirectConv>),
    /// Through libtorch's entry points.
    Shim(ShimConv),
}

impl PackedConv {
    /// Packs a dense weight for the given geometry; none where this libtorch lacks an entry point that is needed.
    ///
    /// `weight` is `[out, in / groups, k..]` (transposed: `[in, out / groups, k..]`) with two or three spatial axes, f32,
    /// or bf16 or f16 where [`ops::onednn_has_bf16`](super::ops::onednn_has_bf16) or
    /// [`ops::onednn_has_f16`](super::ops::onednn_has_f16) say so.
    pub(crate) fn pack(weight: &Tensor, bias: Option<&Tensor>, geometry: Geometry) -> Option<Result<Self, TchError>> {
        match DirectConv::pack(weight, bias, &geometry) {
            Some(direct) => Some(direct.map(|direct| Self::Direct(Box::new(direct)))),
            None => Some(ShimConv::pack(weight, bias, geometry)?.map(Self::Shim)),
        }
    }

    /// Lays the weight out for images of usual size. Else, and for others, the first call does so, and needs memory for
    /// the weight twice meanwhile.
    pub(crate) fn lay_out(&self) -> Result<(), TchError> {
        match self {
            Self::Direct(direct) => direct.lay_out(),
            Self::Shim(_) => Ok(()),
        }
    }

    /// The weight as it was before it was packed.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.dense_weight(),
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

    /// `post(conv(x))`; `x` has rank 4 or 5, any strides, at least one element, the weight's dtype and its number of
    /// channels; the result is `channels_last`.
    pub(crate) fn run(&self, x: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.run(x, None, post),
            Self::Shim(shim) => shim.run(x, post),
        }
    }

    /// `post(conv(x) + other)` in one kernel, where `post` is nothing or `relu`; `other` has the result's shape and
    /// dtype. Not for a transposed convolution.
    pub(crate) fn run_add(&self, x: &Tensor, other: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(direct) => direct.run(x, Some(other), post),
            Self::Shim(shim) => shim.run_add(x, other, post),
        }
    }
}

#[cfg(test)]
mod tests;
