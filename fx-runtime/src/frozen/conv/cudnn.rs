//! A convolution with cuDNN's fused relu, as long as it has a kernel for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tch::{TchError, Tensor};

use super::kernel::Plain;
use super::{Activation, ConvParams};
use crate::Error;

/// What cuDNN fuses. Which dtypes, shapes and GPUs it has kernels for, only it knows.
pub(super) struct Fused {
    pub(super) plain: Plain,
    /// Set for good once it had none; `ATen` computes the layer from then on.
    is_refused: AtomicBool,
}

impl Fused {
    pub(super) fn new(plain: Plain) -> Self {
        Self { plain, is_refused: AtomicBool::new(false) }
    }

    /// `act(conv(x) + bias + other)`, `other` of the result's shape: by cuDNN if it computes that, and may.
    pub(super) fn run(
        &self,
        x: &Tensor,
        params: &ConvParams,
        other: Option<&Tensor>,
        act: Activation,
        may_fuse: bool,
    ) -> Result<Tensor, Error> {
        if may_fuse && act == Activation::Relu && !self.is_refused.load(Ordering::Relaxed) {
            match self.relu(x, params, other) {
                Ok(y) => return Ok(y),
                // Whatever is wrong, `ATen` says it when it computes the layer instead.
                Err(_) => self.is_refused.store(true, Ordering::Relaxed),
            }
        }
        self.plain.in_one_pass(x, params, other, act)
    }

    fn relu(&self, x: &Tensor, p: &ConvParams, other: Option<&Tensor>) -> Result<Tensor, TchError> {
        let (x, Plain { weight, bias, .. }) = (self.plain.input(x)?, &self.plain);
        let (bias, stride, padding, dilation) = (bias.as_deref(), &p.stride, &p.padding, &p.dilation);
        match other {
            None => x.f_cudnn_convolution_relu(weight, bias, stride, padding, dilation, p.groups),
            Some(other) => {
                x.f_cudnn_convolution_add_relu(weight, other, 1.0, bias, stride, padding, dilation, p.groups)
            }
        }
    }
}
