//! Convolutions over one, two and three spatial dimensions.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::layer::sealed::Plain;
use super::leaf::{leaf, unwrap};
use super::{Init, Layer, Path, Spatial, init};
use crate::saved::State;

/// What lies beyond the border of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, State)]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The input mirrored at its border, without the border itself.
    Reflect,
    /// The border repeated.
    Replicate,
    /// The opposite side of the input.
    Circular,
}

impl PaddingMode {
    /// libtorch's word for the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            PaddingMode::Zeros => "constant",
            PaddingMode::Reflect => "reflect",
            PaddingMode::Replicate => "replicate",
            PaddingMode::Circular => "circular",
        }
    }

    /// Pads `xs` by `[before, after]` per dimension, the last dimension first.
    pub fn f_pad(self, xs: &Tensor, before_and_after: &[i64]) -> Result<Tensor, TchError> {
        xs.f_pad(before_and_after, self.as_str(), None)
    }

    /// [`Self::f_pad`] for those who would unwrap.
    #[track_caller]
    pub fn pad(self, xs: &Tensor, before_and_after: &[i64]) -> Tensor {
        unwrap(self.f_pad(xs, before_and_after))
    }
}

/// Configuration of a convolution; `ND` is `i64`, or an array with one size per dimension.
#[derive(Debug, Clone, Copy, State)]
pub struct ConvConfigND<ND> {
    /// Step between windows.
    pub stride: ND,
    /// Width of the border added on each side.
    pub padding: ND,
    /// Step between the elements of a window.
    pub dilation: ND,
    /// Number of groups that channels are divided into.
    pub groups: i64,
    /// Whether a bias is added.
    pub bias: bool,
    /// How the weight starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
    /// What the border holds.
    pub padding_mode: PaddingMode,
}

/// Configuration with the same sizes in all dimensions.
pub type ConvConfig = ConvConfigND<i64>;

impl<ND> ConvConfigND<ND> {
    fn with_sizes(one: ND, zero: ND) -> Self
    where
        ND: Copy,
    {
        Self {
            stride: one,
            padding: zero,
            dilation: one,
            groups: 1,
            bias: true,
            ws_init: init::DEFAULT_KAIMING_UNIFORM,
            bs_init: Init::Const(0.),
            padding_mode: PaddingMode::Zeros,
        }
    }

    fn map<To>(self, to: impl Fn(ND) -> To) -> ConvConfigND<To> {
        ConvConfigND {
            stride: to(self.stride),
            padding: to(self.padding),
            dilation: to(self.dilation),
            groups: self.groups,
            bias: self.bias,
            ws_init: self.ws_init,
            bs_init: self.bs_init,
            padding_mode: self.padding_mode,
        }
    }
}

impl Default for ConvConfig {
    fn default() -> Self {
        Self::with_sizes(1, 0)
    }
}

impl<const N: usize> Default for ConvConfigND<[i64; N]> {
    fn default() -> Self {
        Self::with_sizes([1; N], [0; N])
    }
}

/// The default configuration without a bias.
pub fn no_bias() -> ConvConfig {
    ConvConfig { bias: false, ..ConvConfig::default() }
}

/// A convolution.
///
/// Input `[N, in, ..]` or `[in, ..]`, output `[N, out, ..]` or `[out, ..]`.
#[derive(Debug, State)]
pub struct Conv<ND> {
    /// `weight`, of shape `[out, in / groups, ..kernel]`.
    pub ws: Tensor,
    /// `bias`, of shape `[out]`.
    pub bs: Option<Tensor>,
    /// Stride, padding and so on.
    pub config: ConvConfigND<ND>,
}

/// Convolution over one dimension.
pub type Conv1D = Conv<[i64; 1]>;

/// Convolution over two dimensions.
pub type Conv2D = Conv<[i64; 2]>;

/// Convolution over three dimensions.
pub type Conv3D = Conv<[i64; 3]>;

impl<ND: Spatial> Conv<ND> {
    /// Applies the convolution.
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        unwrap(self.convolve(xs))
    }

    fn convolve(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let (ws, bs, config) = (&self.ws, self.bs.as_ref(), &self.config);
        if config.padding_mode == PaddingMode::Zeros {
            return ND::f_conv(xs, ws, bs, config, config.padding);
        }
        let border: Vec<i64> = config.padding.as_ref().iter().rev().flat_map(|&width| [width, width]).collect();
        ND::f_conv(&config.padding_mode.f_pad(xs, &border)?, ws, bs, config, ND::splat(0))
    }
}

impl<ND: Spatial> Layer for Conv<ND>
where
    Self: crate::Module + Plain,
{
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.convolve(xs)
    }
}

impl<ND: Spatial> super::Module for Conv<ND> {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.forward(xs)
    }
}

leaf!(Conv1D, "Conv1D", parameters { weight: ws, bias: bs } buffers {} plain { config });
leaf!(Conv2D, "Conv2D", parameters { weight: ws, bias: bs } buffers {} plain { config });
leaf!(Conv3D, "Conv3D", parameters { weight: ws, bias: bs } buffers {} plain { config });

/// A convolution with a kernel and a configuration of its own per dimension.
pub fn conv<'a, ND: AsRef<[i64]>, T: Borrow<Path<'a>>>(
    vs: T,
    in_dim: i64,
    out_dim: i64,
    ksizes: ND,
    config: ConvConfigND<ND>,
) -> Conv<ND> {
    let vs = vs.borrow();
    let bs = config.bias.then(|| vs.var("bias", &[out_dim], config.bs_init));
    let shape = [&[out_dim, in_dim / config.groups], ksizes.as_ref()].concat();
    let ws = vs.var("weight", &shape, config.ws_init);
    Conv { ws, bs, config }
}

fn square<'a, ND: Spatial, T: Borrow<Path<'a>>>(vs: T, i: i64, o: i64, k: i64, c: ConvConfig) -> Conv<ND> {
    conv(vs, i, o, ND::splat(k), c.map(ND::splat))
}

/// A convolution over one dimension, from `i` to `o` channels with a kernel of `k`.
pub fn conv1d<'a, T: Borrow<Path<'a>>>(vs: T, i: i64, o: i64, k: i64, c: ConvConfig) -> Conv1D {
    square(vs, i, o, k, c)
}

/// A convolution over two dimensions, from `i` to `o` channels with a kernel of `k` by `k`.
pub fn conv2d<'a, T: Borrow<Path<'a>>>(vs: T, i: i64, o: i64, k: i64, c: ConvConfig) -> Conv2D {
    square(vs, i, o, k, c)
}

/// A convolution over three dimensions, from `i` to `o` channels with a kernel of `k` by `k` by `k`.
pub fn conv3d<'a, T: Borrow<Path<'a>>>(vs: T, i: i64, o: i64, k: i64, c: ConvConfig) -> Conv3D {
    square(vs, i, o, k, c)
}
