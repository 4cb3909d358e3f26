//! Normalization over groups of channels.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::leaf::{computes, leaf};
use super::{Init, Layer, Path};
use crate::saved::State;

/// Configuration of a group normalization.
#[derive(Debug, Clone, Copy, State)]
pub struct GroupNormConfig {
    /// Whether cuDNN may be used.
    pub cudnn_enabled: bool,
    /// Added to the variance.
    pub eps: f64,
    /// Whether a weight and a bias are learned.
    pub affine: bool,
    /// How the weight starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
}

impl Default for GroupNormConfig {
    fn default() -> Self {
        Self { cudnn_enabled: true, eps: 1e-5, affine: true, ws_init: Init::Const(1.), bs_init: Init::Const(0.) }
    }
}

/// A group normalization of `[N, C, ..]`, over each group of `num_channels / num_groups` channels.
#[derive(Debug, State)]
pub struct GroupNorm {
    /// Numerical settings.
    pub config: GroupNormConfig,
    /// `weight`, of shape `[num_channels]`.
    pub ws: Option<Tensor>,
    /// `bias`, of shape `[num_channels]`.
    pub bs: Option<Tensor>,
    /// Number of groups.
    pub num_groups: i64,
    /// Number of channels, a multiple of the number of groups.
    pub num_channels: i64,
}

impl Layer for GroupNorm {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_group_norm(self.num_groups, self.ws.as_ref(), self.bs.as_ref(), self.config.eps, self.config.cudnn_enabled)
    }
}

leaf!(
    GroupNorm, "GroupNorm",
    parameters { weight: ws, bias: bs }
    buffers {}
    plain { config, num_groups, num_channels }
);
computes! {
    /// Normalizes.
    GroupNorm
}

/// A group normalization of `num_channels` channels in `num_groups` groups.
pub fn group_norm<'a, T: Borrow<Path<'a>>>(
    vs: T,
    num_groups: i64,
    num_channels: i64,
    config: GroupNormConfig,
) -> GroupNorm {
    let vs = vs.borrow();
    let ws = config.affine.then(|| vs.var("weight", &[num_channels], config.ws_init));
    let bs = config.affine.then(|| vs.var("bias", &[num_channels], config.bs_init));
    GroupNorm { config, ws, bs, num_groups, num_channels }
}
