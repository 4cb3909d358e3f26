//! A convolution with windows of one pixel on the CPU: the product of its pixels with a matrix.

use tch::{TchError, Tensor};

use crate::Error;
use crate::frozen::matrix::PackedMatrix;
use crate::frozen::select::Rows;
use crate::frozen::{Activation, ConvParams};

pub(super) struct MatrixConv {
    matrix: PackedMatrix,
    stride: Box<[i64]>,
}

impl MatrixConv {
    /// Packs a finite weight `[out, in, 1..]` of f32; none where MKL is not there.
    pub(super) fn pack(weight: &Tensor, bias: Option<&Tensor>, params: &ConvParams) -> Result<Option<Self>, TchError> {
        let matrix = PackedMatrix::for_mkl(&weight.f_reshape(&weight.size()[..2])?, bias, Rows::USUAL)?;
        Ok(matrix.map(|matrix| Self { matrix, stride: params.stride.as_slice().into() }))
    }

    /// Weight and bias as they were packed, the weight as `[out, in]`.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), Error> {
        self.matrix.dense()
    }

    /// `act(conv(x) + other)`; `x` is batched, of any strides, with at least one element, `other` has the result's shape
    /// and dtype.
    pub(super) fn run(&self, x: &Tensor, other: Option<&Tensor>, act: Activation) -> Result<Tensor, TchError> {
        let mut pixels = channels_behind(x)?;
        for (axis, &step) in self.stride.iter().enumerate() {
            if step > 1 {
                pixels = pixels.f_slice(i64::try_from(axis).unwrap_or(0) + 1, None, None, step)?;
            }
        }
        let mut sizes = pixels.size();
        if let Some(channels) = sizes.last_mut() {
            *channels = self.matrix.out();
        }
        let other = other.map(channels_behind).transpose()?;
        let y = self.matrix.run(&pixels, &sizes, other.as_ref(), act)?;
        y.f_permute(&[0, -1, 1, 2, 3][..sizes.len()])
    }
}

/// A view with the channels as last axis.
fn channels_behind(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_permute(if x.dim() == 5 { &[0, 2, 3, 4, 1][..] } else { &[0, 2, 3, 1] })
}
