//! A small transposed convolution as libtorch computes it itself, by one product and a sum of windows: oneDNN's costs more to
//! begin than the whole of it.

use tch::{Kind, TchError, Tensor};

use crate::ffi::{Geometry, Param};

/// The most multiplications of an input for which that is faster: measured with 4 to 128 channels and kernels of 2 and 3.
const MULTIPLICATIONS: i64 = 600_000;
/// The most elements of the windows before they are summed, likewise.
const WINDOWS: i64 = 33_000;
/// The most elements of a weight that is kept beside the packed one.
const WEIGHT: usize = 1 << 16;
/// The longest side of a kernel for which libtorch computes the convolution itself.
const KERNEL: i64 = 3;

pub(super) struct Native {
    /// `[in, out, height, width]`.
    weight: Param,
    bias: Option<Param>,
    geometry: Geometry,
}

impl Native {
    /// The convolution beside a packed one; none where it never pays.
    pub(super) fn beside(
        weight: &Tensor,
        bias: Option<&Tensor>,
        geometry: &Geometry,
    ) -> Result<Option<Self>, TchError> {
        let size = weight.size();
        let is_small = size.len() == 4 && weight.numel() <= WEIGHT && size[2..].iter().all(|&side| side <= KERNEL);
        if geometry.output_padding.is_none() || geometry.groups != 1 || !is_small || weight.kind() != Kind::Float {
            return Ok(None);
        }
        let (weight, bias) = (Param::copied(weight)?, bias.map(Param::copied).transpose()?);
        Ok(Some(Self { weight, bias, geometry: geometry.clone() }))
    }

    /// Whether it is faster for an input `[batch, in, height, width]`.
    pub(super) fn pays(&self, x: &Tensor) -> bool {
        let (Ok([1, _, height, width]), Ok([inputs, outputs, rows, columns])) =
            (<[i64; 4]>::try_from(x.size()), <[i64; 4]>::try_from(self.weight.size()))
        else {
            return false;
        };
        let windows = outputs.saturating_mul(rows * columns).saturating_mul(height).saturating_mul(width);
        windows <= WINDOWS && windows.saturating_mul(inputs) <= MULTIPLICATIONS
    }

    pub(super) fn run(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let Geometry { stride, padding, dilation, output_padding, groups } = &self.geometry;
        let output_padding = output_padding.as_deref().unwrap_or_default();
        let bias = self.bias.as_deref();
        x.f_convolution(&self.weight, bias, &**stride, &**padding, &**dilation, true, output_padding, *groups)
    }
}
