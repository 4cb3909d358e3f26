//! The fully connected layer.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::leaf::{computes, leaf};
use super::{Init, Layer, Path, init};
use crate::saved::State;

/// Configuration of a linear layer.
#[derive(Debug, Clone, Copy)]
pub struct LinearConfig {
    /// How the weight starts.
    pub ws_init: Init,
    /// How the bias starts; uniform within `1 / sqrt(in)` of zero if none.
    pub bs_init: Option<Init>,
    /// Whether a bias is added.
    pub bias: bool,
}

impl Default for LinearConfig {
    fn default() -> Self {
        Self { ws_init: init::DEFAULT_KAIMING_UNIFORM, bs_init: None, bias: true }
    }
}

/// A linear layer: `xs · weightᵀ + bias` over the last axis, `[.., in]` to `[.., out]`.
#[derive(Debug, State)]
pub struct Linear {
    /// `weight`, of shape `[out, in]`.
    pub ws: Tensor,
    /// `bias`, of shape `[out]`.
    pub bs: Option<Tensor>,
}

impl Layer for Linear {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_linear(&self.ws, self.bs.as_ref())
    }
}

leaf!(Linear, "Linear", parameters { weight: ws, bias: bs } buffers {} plain {});
computes! {
    /// Applies the layer.
    Linear
}

/// A linear layer from `in_dim` to `out_dim` features.
pub fn linear<'a, T: Borrow<Path<'a>>>(vs: T, in_dim: i64, out_dim: i64, c: LinearConfig) -> Linear {
    let vs = vs.borrow();
    let bs = c.bias.then(|| {
        // A layer's width is far below 2^53, where f64 stops being exact.
        #[allow(clippy::cast_precision_loss)]
        let bound = 1.0 / (in_dim as f64).sqrt();
        vs.var("bias", &[out_dim], c.bs_init.unwrap_or(Init::Uniform { lo: -bound, up: bound }))
    });
    Linear { ws: vs.var("weight", &[out_dim, in_dim], c.ws_init), bs }
}
