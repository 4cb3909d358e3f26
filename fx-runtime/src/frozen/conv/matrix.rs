//! A convolution with windows of one pixel on the CPU: the product of its pixels with a matrix, as MKL packs it.

use tch::{TchError, Tensor};

use crate::ffi::{Geometry, PackedGemm, Param};
use crate::frozen::Act;
use crate::frozen::select::Rows;
use crate::frozen::tail::RowTail;

pub(super) struct MatrixConv {
    gemm: PackedGemm,
    bias: Option<Param>,
    /// The bias again, as the tail reads it.
    row: Option<Box<[f32]>>,
    stride: Box<[i64]>,
}

impl MatrixConv {
    /// Packs a finite weight `[out, in, 1..]` of f32; none where MKL is not there.
    pub(super) fn pack(weight: &Tensor, bias: Option<&Tensor>, geometry: &Geometry) -> Option<Result<Self, TchError>> {
        let sizes = weight.size();
        let matrix = match weight.f_reshape(&sizes[..2]) {
            Ok(matrix) => matrix,
            Err(error) => return Some(Err(error)),
        };
        let pack = |gemm| {
            let row = bias.map(Vec::try_from).transpose()?.map(Vec::into_boxed_slice);
            let bias = bias.map(Param::copied).transpose()?;
            Ok(Self { gemm, bias, row, stride: geometry.stride.clone() })
        };
        Some(PackedGemm::pack(&matrix, Rows::USUAL.0)?.and_then(pack))
    }

    /// The weight as it was before it was packed, `[out, in]`.
    pub(super) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.gemm.dense_weight()
    }

    pub(super) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// `act(conv(x) + other)`; `x` is batched, of any strides, with at least one element, `other` has the result's shape
    /// and dtype.
    pub(super) fn run(&self, x: &Tensor, other: Option<&Tensor>, act: Act) -> Result<Tensor, TchError> {
        let mut pixels = channels_behind(x)?;
        for (axis, &step) in self.stride.iter().enumerate() {
            if step > 1 {
                pixels = pixels.f_slice(i64::try_from(axis).unwrap_or(0) + 1, None, None, step)?;
            }
        }
        let mut sizes = pixels.size();
        if let Some(channels) = sizes.last_mut() {
            *channels = self.gemm.out();
        }
        let other = other.map(channels_behind).transpose()?;
        let tail = RowTail { bias: self.row.as_deref(), act };
        let y = self.gemm.run(&pixels, &sizes, other.as_ref(), &tail)?;
        y.f_permute(&[0, -1, 1, 2, 3][..sizes.len()])
    }
}

/// A view with the channels as last axis.
fn channels_behind(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_permute(if x.dim() == 5 { &[0, 2, 3, 4, 1][..] } else { &[0, 2, 3, 1] })
}
