//! Padding with something other than zeros.

use tch::{TchError, Tensor};

use crate::frozen::ConvParams;
use crate::nn::PaddingMode;

/// Padding with something other than zeros, done before the convolution.
#[derive(Clone)]
pub(in crate::frozen) struct Border {
    pub(super) mode: PaddingMode,
    /// Before and after, last axis first, as `pad` wants it.
    pub(super) widths: Vec<i64>,
}

impl Border {
    /// Takes padding that is not zeros out of the convolution.
    pub(in crate::frozen) fn split(params: ConvParams) -> (ConvParams, Option<Self>) {
        if params.padding_mode == PaddingMode::Zeros || params.padding.iter().all(|&width| width == 0) {
            return (params, None);
        }
        let widths = params.padding.iter().rev().flat_map(|&width| [width, width]).collect();
        let border = Self { mode: params.padding_mode, widths };
        (ConvParams { padding: vec![0; params.padding.len()], ..params }, Some(border))
    }

    pub(in crate::frozen) fn pad(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.mode.f_pad(x, &self.widths)
    }
}
