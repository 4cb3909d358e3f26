//! A convolution with cuDNN's fused relu, as long as it has a kernel for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tch::{TchError, Tensor};

use super::ConvParams;
use super::kernel::Plain;

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

    /// `relu(conv(x) + bias)`; none where cuDNN does not compute it.
    pub(super) fn relu(&self, x: &Tensor, p: &ConvParams) -> Option<Tensor> {
        self.run(|plain| {
            let bias = plain.bias.as_deref();
            plain.input(x)?.f_cudnn_convolution_relu(&plain.weight, bias, &p.stride, &p.padding, &p.dilation, p.groups)
        })
    }

    /// `relu(conv(x) + bias + other)`, with something added of the result's shape; none where cuDNN does not compute it.
    pub(super) fn add_relu(&self, x: &Tensor, other: &Tensor, p: &ConvParams) -> Option<Tensor> {
        self.run(|plain| {
            let bias = plain.bias.as_deref();
            let (stride, padding, dilation) = (&p.stride, &p.padding, &p.dilation);
            let x = plain.input(x)?;
            x.f_cudnn_convolution_add_relu(&plain.weight, other, 1.0, bias, stride, padding, dilation, p.groups)
        })
    }

    /// Whatever is wrong, `ATen` says it when it computes the layer instead.
    fn run(&self, compute: impl FnOnce(&Plain) -> Result<Tensor, TchError>) -> Option<Tensor> {
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        compute(&self.plain).inspect_err(|_| self.is_refused.store(true, Ordering::Relaxed)).ok()
    }
}
