//! Normalization of each channel: over a batch, in one, two and three spatial dimensions, and over each image of a batch.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::leaf::{leaf, unwrap};
use super::mode::Mode;
use super::{Init, Layer, Path};
use crate::saved::State;

/// Configuration of a batch normalization.
#[derive(Debug, Clone, Copy, State)]
pub struct BatchNormConfig {
    /// Whether cuDNN may be used.
    pub cudnn_enabled: bool,
    /// Added to the variance.
    pub eps: f64,
    /// Share of the batch in the running statistics.
    pub momentum: f64,
    /// Whether a weight and a bias are learned.
    pub affine: bool,
    /// How the weight starts; uniform in `0..1` by default, as in tch (PyTorch starts with ones).
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
}

impl Default for BatchNormConfig {
    fn default() -> Self {
        Self {
            cudnn_enabled: true,
            eps: 1e-5,
            momentum: 0.1,
            affine: true,
            ws_init: Init::Uniform { lo: 0., up: 1. },
            bs_init: Init::Const(0.),
        }
    }
}

/// A batch normalization: `(xs - mean) / sqrt(var + eps) * weight + bias` per channel, axis 1.
#[derive(Debug, State)]
pub struct BatchNorm {
    /// Numerical settings.
    pub config: BatchNormConfig,
    /// `running_mean`, of shape `[channels]`.
    pub running_mean: Tensor,
    /// `running_var`, of shape `[channels]`.
    pub running_var: Tensor,
    /// `weight`, of shape `[channels]`.
    pub ws: Option<Tensor>,
    /// `bias`, of shape `[channels]`.
    pub bs: Option<Tensor>,
    /// Number of spatial dimensions; 0 for any number.
    pub nd: usize,
    #[state(default = Mode::default())]
    mode: Mode,
}

impl BatchNorm {
    /// Normalizes with the batch's statistics in training mode and with the running ones in inference mode.
    ///
    /// Inference is the mode at the start; see [`crate::nn`].
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.forward_t(xs, self.mode.training())
    }

    /// Normalizes with the batch's statistics if `train`, which also moves the running ones, else with the running
    /// ones.
    ///
    /// # Panics
    ///
    /// If `xs` has another number of dimensions than `nd + 2` (2 or 3 for `nd` = 1).
    #[track_caller]
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        unwrap(self.f_forward_t(xs, train))
    }

    /// What `Tensor::batch_norm` computes with these tensors, for folding; of any number of dimensions.
    #[doc(hidden)]
    #[must_use]
    pub fn of_tensors(
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        running_mean: &Tensor,
        running_var: &Tensor,
        eps: f64,
    ) -> Self {
        Self {
            config: BatchNormConfig { eps, affine: weight.is_some(), ..BatchNormConfig::default() },
            running_mean: running_mean.shallow_clone(),
            running_var: running_var.shallow_clone(),
            ws: weight.map(Tensor::shallow_clone),
            bs: bias.map(Tensor::shallow_clone),
            nd: 0,
            mode: Mode::default(),
        }
    }

    fn check(&self, xs: &Tensor) -> Result<(), TchError> {
        let dim = xs.dim();
        if self.nd == 0 || dim == self.nd + 2 || (self.nd == 1 && dim == 2) {
            return Ok(());
        }
        let takes = if self.nd == 1 { "2 or 3".to_owned() } else { (self.nd + 2).to_string() };
        let shape = xs.size();
        Err(TchError::Shape(format!(
            "batch_norm{}d takes {takes} dimensions, got an input of shape {shape:?}",
            self.nd
        )))
    }
}

impl Layer for BatchNorm {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.f_forward_t(xs, false)
    }

    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        self.check(xs)?;
        xs.f_batch_norm(
            self.ws.as_ref(),
            self.bs.as_ref(),
            Some(&self.running_mean),
            Some(&self.running_var),
            train,
            self.config.momentum,
            self.config.eps,
            self.config.cudnn_enabled,
        )
    }
}

impl super::ModuleT for BatchNorm {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.forward_t(xs, train)
    }
}

leaf!(
    BatchNorm, "BatchNorm",
    parameters { weight: ws, bias: bs }
    buffers { running_mean, running_var }
    plain { config, nd }
    mode { mode }
);

fn batch_norm<'a, T: Borrow<Path<'a>>>(vs: T, nd: usize, out_dim: i64, config: BatchNormConfig) -> BatchNorm {
    let vs = vs.borrow();
    let ws = config.affine.then(|| vs.var("weight", &[out_dim], config.ws_init));
    let bs = config.affine.then(|| vs.var("bias", &[out_dim], config.bs_init));
    BatchNorm {
        config,
        running_mean: vs.zeros_no_train("running_mean", &[out_dim]),
        running_var: vs.ones_no_train("running_var", &[out_dim]),
        ws,
        bs,
        nd,
        mode: Mode::default(),
    }
}

/// A batch normalization of `[N, C]` or `[N, C, L]`.
pub fn batch_norm1d<'a, T: Borrow<Path<'a>>>(vs: T, out_dim: i64, config: BatchNormConfig) -> BatchNorm {
    batch_norm(vs, 1, out_dim, config)
}

/// A batch normalization of `[N, C, H, W]`.
pub fn batch_norm2d<'a, T: Borrow<Path<'a>>>(vs: T, out_dim: i64, config: BatchNormConfig) -> BatchNorm {
    batch_norm(vs, 2, out_dim, config)
}

/// A batch normalization of `[N, C, D, H, W]`.
pub fn batch_norm3d<'a, T: Borrow<Path<'a>>>(vs: T, out_dim: i64, config: BatchNormConfig) -> BatchNorm {
    batch_norm(vs, 3, out_dim, config)
}

/// Configuration of an instance normalization; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, State)]
pub struct InstanceNormConfig {
    /// Whether cuDNN may be used.
    pub cudnn_enabled: bool,
    /// Added to the variance.
    pub eps: f64,
    /// Share of the batch in the running statistics.
    pub momentum: f64,
    /// Whether a weight and a bias are learned.
    pub affine: bool,
    /// Whether there are running statistics, with which inference normalizes.
    pub track_running_stats: bool,
    /// How the weight starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
}

impl Default for InstanceNormConfig {
    fn default() -> Self {
        Self {
            cudnn_enabled: true,
            eps: 1e-5,
            momentum: 0.1,
            affine: false,
            track_running_stats: false,
            ws_init: Init::Const(1.),
            bs_init: Init::Const(0.),
        }
    }
}

/// An instance normalization: `(xs - mean) / sqrt(var + eps) * weight + bias` per image and channel.
#[derive(Debug, State)]
pub struct InstanceNorm {
    /// Numerical settings.
    pub config: InstanceNormConfig,
    /// `weight`, of shape `[num_features]`.
    pub ws: Option<Tensor>,
    /// `bias`, of shape `[num_features]`.
    pub bs: Option<Tensor>,
    /// `running_mean`, of shape `[num_features]`.
    pub running_mean: Option<Tensor>,
    /// `running_var`, of shape `[num_features]`.
    pub running_var: Option<Tensor>,
    /// Number of channels.
    pub num_features: i64,
    #[state(default = Mode::default())]
    mode: Mode,
}

impl InstanceNorm {
    /// Normalizes; as [`InstanceNorm::forward_t`] in the layer's mode, which is inference at the start.
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.forward_t(xs, self.mode.training())
    }

    /// Normalizes with each image's own statistics; if the layer tracks running ones, inference normalizes with these, and
    /// `train` moves them.
    ///
    /// # Panics
    ///
    /// If `xs` is not `[N, C, H, W]` or `[C, H, W]` with as many channels as the layer has, or if an image of one pixel is
    /// to be normalized with its own statistics.
    #[track_caller]
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        unwrap(self.f_forward_t(xs, train))
    }

    /// The sizes of a batch of images.
    fn check(&self, shape: &[i64], by_image: bool) -> Result<(), TchError> {
        match *shape {
            [_, channels, height, width] if channels == self.num_features && !(by_image && height * width == 1) => {
                Ok(())
            }
            _ => Err(TchError::Shape(format!(
                "instance_norm2d takes [N, {0}, H, W] or [{0}, H, W] of more than one pixel, got a batch of shape {shape:?}",
                self.num_features
            ))),
        }
    }
}

impl Layer for InstanceNorm {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.f_forward_t(xs, false)
    }

    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        if xs.dim() == 3 {
            return self.f_forward_t(&xs.f_unsqueeze(0)?, train)?.f_squeeze_dim(0);
        }
        let by_image = train || self.running_mean.is_none();
        self.check(&xs.size(), by_image)?;
        xs.f_instance_norm(
            self.ws.as_ref(),
            self.bs.as_ref(),
            self.running_mean.as_ref(),
            self.running_var.as_ref(),
            by_image,
            self.config.momentum,
            self.config.eps,
            self.config.cudnn_enabled,
        )
    }
}

impl super::ModuleT for InstanceNorm {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.forward_t(xs, train)
    }
}

leaf!(
    InstanceNorm, "InstanceNorm",
    parameters { weight: ws, bias: bs }
    buffers { running_mean, running_var }
    plain { config, num_features }
    mode { mode }
);

/// An instance normalization of `[N, C, H, W]` or `[C, H, W]`, where `C` is `num_features`.
///
/// ```
/// use fx_runtime::nn;
/// # let vs = nn::VarStore::new(tch::Device::Cpu);
///
/// let norm = nn::instance_norm2d(vs.root(), 3, nn::InstanceNormConfig { affine: true, ..Default::default() });
/// assert_eq!(norm.ws.map(|ws| ws.size()), Some(vec![3]));
/// ```
pub fn instance_norm2d<'a, T: Borrow<Path<'a>>>(vs: T, num_features: i64, config: InstanceNormConfig) -> InstanceNorm {
    let vs = vs.borrow();
    let (sizes, tracks) = ([num_features], config.track_running_stats);
    InstanceNorm {
        config,
        ws: config.affine.then(|| vs.var("weight", &sizes, config.ws_init)),
        bs: config.affine.then(|| vs.var("bias", &sizes, config.bs_init)),
        running_mean: tracks.then(|| vs.zeros_no_train("running_mean", &sizes)),
        running_var: tracks.then(|| vs.ones_no_train("running_var", &sizes)),
        num_features,
        mode: Mode::default(),
    }
}
