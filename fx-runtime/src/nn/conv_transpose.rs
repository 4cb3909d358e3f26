//! Transposed convolutions over one, two and three spatial dimensions.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::layer::sealed::Plain;
use super::leaf::{leaf, unwrap};
use super::{Init, Layer, Path, Spatial, init};
use crate::saved::State;

/// Configuration of a transposed convolution; `ND` is `i64`, or an array with one size per dimension.
#[derive(Debug, Clone, Copy, State)]
pub struct ConvTransposeConfigND<ND> {
    /// Step between windows of the output.
    pub stride: ND,
    /// Width of the border taken off each side of the output.
    pub padding: ND,
    /// Width added to one side of the output.
    pub output_padding: ND,
    /// Number of groups that channels are divided into.
    pub groups: i64,
    /// Whether a bias is added.
    pub bias: bool,
    /// Step between the elements of a window.
    pub dilation: ND,
    /// How the weight starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// How the bias starts.
    #[state(default = Init::Const(0.))]
    pub bs_init: Init,
}

/// Configuration with the same sizes in all dimensions.
pub type ConvTransposeConfig = ConvTransposeConfigND<i64>;

impl<ND> ConvTransposeConfigND<ND> {
    fn map<To>(self, to: impl Fn(ND) -> To) -> ConvTransposeConfigND<To> {
        ConvTransposeConfigND {
            stride: to(self.stride),
            padding: to(self.padding),
            output_padding: to(self.output_padding),
            groups: self.groups,
            bias: self.bias,
            dilation: to(self.dilation),
            ws_init: self.ws_init,
            bs_init: self.bs_init,
        }
    }
}

impl Default for ConvTransposeConfig {
    fn default() -> Self {
        Self {
            stride: 1,
            padding: 0,
            output_padding: 0,
            groups: 1,
            bias: true,
            dilation: 1,
            ws_init: init::DEFAULT_KAIMING_UNIFORM,
            bs_init: Init::Const(0.),
        }
    }
}

/// A transposed convolution.
///
/// Input `[N, in, ..]` or `[in, ..]`, output `[N, out, ..]` or `[out, ..]`.
#[derive(Debug, State)]
pub struct ConvTransposeND<ND> {
    /// `weight`, of shape `[in, out / groups, ..kernel]`.
    pub ws: Tensor,
    /// `bias`, of shape `[out]`.
    pub bs: Option<Tensor>,
    /// Stride, padding and so on.
    pub config: ConvTransposeConfigND<ND>,
}

/// Transposed convolution over one dimension.
pub type ConvTranspose1D = ConvTransposeND<[i64; 1]>;

/// Transposed convolution over two dimensions.
pub type ConvTranspose2D = ConvTransposeND<[i64; 2]>;

/// Transposed convolution over three dimensions.
pub type ConvTranspose3D = ConvTransposeND<[i64; 3]>;

impl<ND: Spatial> ConvTransposeND<ND> {
    /// Applies the transposed convolution.
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        unwrap(self.convolve(xs))
    }

    fn convolve(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        ND::f_conv_transpose(xs, &self.ws, self.bs.as_ref(), &self.config)
    }
}

impl<ND: Spatial> Layer for ConvTransposeND<ND>
where
    Self: crate::Module + Plain,
{
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.convolve(xs)
    }
}

impl<ND: Spatial> super::Module for ConvTransposeND<ND> {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.forward(xs)
    }
}

leaf!(ConvTranspose1D, "ConvTranspose1D", parameters { weight: ws, bias: bs } buffers {} plain { config });
leaf!(ConvTranspose2D, "ConvTranspose2D", parameters { weight: ws, bias: bs } buffers {} plain { config });
leaf!(ConvTranspose3D, "ConvTranspose3D", parameters { weight: ws, bias: bs } buffers {} plain { config });

fn conv_transpose<'a, ND: Spatial, T: Borrow<Path<'a>>>(
    vs: T,
    in_dim: i64,
    out_dim: i64,
    ksize: i64,
    config: ConvTransposeConfig,
) -> ConvTransposeND<ND> {
    let vs = vs.borrow();
    let bs = config.bias.then(|| vs.var("bias", &[out_dim], config.bs_init));
    let kernel = ND::splat(ksize);
    let shape = [&[in_dim, out_dim / config.groups], kernel.as_ref()].concat();
    let ws = vs.var("weight", &shape, config.ws_init);
    ConvTransposeND { ws, bs, config: config.map(ND::splat) }
}

/// A transposed convolution over one dimension, from `i` to `o` channels with a kernel of `k`.
pub fn conv_transpose1d<'a, T: Borrow<Path<'a>>>(
    vs: T,
    i: i64,
    o: i64,
    k: i64,
    c: ConvTransposeConfig,
) -> ConvTranspose1D {
    conv_transpose(vs, i, o, k, c)
}

/// A transposed convolution over two dimensions, from `i` to `o` channels with a kernel of `k` by `k`.
pub fn conv_transpose2d<'a, T: Borrow<Path<'a>>>(
    vs: T,
    i: i64,
    o: i64,
    k: i64,
    c: ConvTransposeConfig,
) -> ConvTranspose2D {
    conv_transpose(vs, i, o, k, c)
}

/// A transposed convolution over three dimensions, from `i` to `o` channels with a kernel of `k` by `k` by `k`.
pub fn conv_transpose3d<'a, T: Borrow<Path<'a>>>(
    vs: T,
    i: i64,
    o: i64,
    k: i64,
    c: ConvTransposeConfig,
) -> ConvTranspose3D {
    conv_transpose(vs, i, o, k, c)
}
