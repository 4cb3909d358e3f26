//! Normalization over the last axes.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::leaf::{computes, leaf};
use super::{Init, Layer, Path};
use crate::saved::State;

/// Configuration of a layer normalization.
#[derive(Debug, Clone, Copy, State)]
pub struct LayerNormConfig {
    /// Whether cuDNN may be used.
    pub cudnn_enabled: bool,
    /// Added to the variance.
    pub eps: f64,
    /// Whether a weight and a bias are learned.
    pub elementwise_affine: bool,
    /// How the weight starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
}

impl Default for LayerNormConfig {
    fn default() -> Self {
        Self {
            cudnn_enabled: true,
            eps: 1e-5,
            elementwise_affine: true,
            ws_init: Init::Const(1.),
            bs_init: Init::Const(0.),
        }
    }
}

/// A layer normalization over the axes of `normalized_shape`, the last ones of the input.
#[derive(Debug, State)]
pub struct LayerNorm {
    /// Numerical settings.
    pub config: LayerNormConfig,
    /// `weight`, of the normalized shape.
    pub ws: Option<Tensor>,
    /// `bias`, of the normalized shape.
    pub bs: Option<Tensor>,
    /// The sizes of the last axes of the input.
    pub normalized_shape: Vec<i64>,
}

impl Layer for LayerNorm {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_layer_norm(
            &self.normalized_shape,
            self.ws.as_ref(),
            self.bs.as_ref(),
            self.config.eps,
            self.config.cudnn_enabled,
        )
    }
}

leaf!(LayerNorm, "LayerNorm", parameters { weight: ws, bias: bs } buffers {} plain { config, normalized_shape });
computes! {
    /// Normalizes.
    LayerNorm
}

/// A layer normalization over the last axes, whose sizes are `normalized_shape`.
pub fn layer_norm<'a, T: Borrow<Path<'a>>>(vs: T, normalized_shape: Vec<i64>, config: LayerNormConfig) -> LayerNorm {
    let vs = vs.borrow();
    let affine = config.elementwise_affine;
    let ws = affine.then(|| vs.var("weight", &normalized_shape, config.ws_init));
    let bs = affine.then(|| vs.var("bias", &normalized_shape, config.bs_init));
    LayerNorm { config, ws, bs, normalized_shape }
}
