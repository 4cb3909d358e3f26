//! Layers with a weight: which tensor it is, the layer with another one, and a batch norm folded into it.

use std::any::Any;
use std::rc::Rc;

use tch::{Kind, Tensor};

use crate::graph_module::Submodule;
use crate::nn::{self, BatchNorm};
use crate::{Error, Result};

/// Does `$body` with the layer `$layer`, if it is one with a weight.
macro_rules! weighted {
    ($any:expr, $layer:ident => $body:expr) => {
        weighted!(@of $any, $layer => $body; Linear, Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D)
    };
    (@of $any:expr, $layer:ident => $body:expr; $($ty:ident),+) => {{
        let any: &dyn Any = $any;
        None $(.or_else(|| any.downcast_ref::<nn::$ty>().map(|$layer| $body)))+
    }};
}

/// The weight of a layer, if it has one.
pub(super) fn weight(layer: &dyn Submodule) -> Option<&Tensor> {
    weighted!(layer.as_any()?, layer => &layer.ws)
}

/// The layer with another weight and bias; none of a layer without a weight.
pub(super) fn with_weight(layer: &dyn Submodule, ws: Tensor, bs: Option<Tensor>) -> Option<Rc<dyn Submodule>> {
    let any = layer.as_any()?;
    if any.is::<nn::Linear>() {
        return Some(Rc::new(nn::Linear { ws, bs }));
    }
    macro_rules! configured {
        ($($ty:ident),+) => {
            $(if let Some(layer) = any.downcast_ref::<nn::$ty>() {
                return Some(Rc::new(nn::$ty { ws, bs, config: layer.config }));
            })+
        };
    }
    configured!(Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D);
    None
}

/// The bias of a layer that has a weight.
pub(super) fn bias(layer: &dyn Submodule) -> Option<&Tensor> {
    weighted!(layer.as_any()?, layer => layer.bs.as_ref())?
}

/// The layer with the batch norm behind it folded in; none if they do not fold.
///
/// Source: `fuse_conv_bn_weights` and `fuse_linear_bn_weights` of torch 2.11, in the order of its operations.
pub(super) fn folded(layer: &dyn Submodule, norm: &dyn Submodule) -> Option<Result<Rc<dyn Submodule>>> {
    let norm = norm.as_any()?.downcast_ref::<BatchNorm>()?;
    let weight = weight(layer)?;
    let axis = channel_axis(layer);
    if weight.size().get(axis) != norm.running_mean.size().first() {
        return None;
    }
    let fold = || -> Result<Rc<dyn Submodule>> {
        let zeros = || norm.running_mean.f_zeros_like();
        let scale = norm.ws.as_ref().map_or_else(|| norm.running_mean.f_ones_like(), |ws| Ok(ws.shallow_clone()))?;
        let shift = norm.bs.as_ref().map_or_else(zeros, |bs| Ok(bs.shallow_clone()))?;
        let rsqrt = norm.running_var.f_add_scalar(norm.config.eps)?.f_rsqrt()?;
        let mut shape = vec![1; weight.dim()];
        shape[axis] = -1;
        let ws = weight.f_mul(&scale.f_mul(&rsqrt)?.f_reshape(shape)?)?.f_to_kind(weight.kind())?;
        let bs = bias(layer).map_or_else(zeros, |bs| Ok(bs.shallow_clone()))?;
        let bs = bs.f_sub(&norm.running_mean)?.f_mul(&rsqrt)?.f_mul(&scale)?.f_add(&shift)?;
        let refused = || Error::Refused("a layer with a weight is none after all".to_owned());
        with_weight(layer, ws, Some(bs)).ok_or_else(refused)
    };
    Some(tch::no_grad(fold))
}

/// How many groups of channels a convolution has; 1 of a linear layer.
pub(super) fn groups(layer: &dyn Submodule) -> i64 {
    let Some(any) = layer.as_any() else { return 1 };
    macro_rules! of {
        ($($ty:ident),+) => {
            None $(.or_else(|| any.downcast_ref::<nn::$ty>().map(|layer| layer.config.groups)))+
        };
    }
    let found: Option<i64> = of!(Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D);
    found.unwrap_or(1)
}

/// The axis of the weight along which the output channels lie.
pub(super) fn channel_axis(layer: &dyn Submodule) -> usize {
    let is_transposed = layer.as_any().is_some_and(|any| {
        any.is::<nn::ConvTranspose1D>() || any.is::<nn::ConvTranspose2D>() || any.is::<nn::ConvTranspose3D>()
    });
    usize::from(is_transposed)
}

/// The weight in `f32` without its history.
pub(super) fn observed(weight: &Tensor) -> Result<Tensor> {
    Ok(weight.f_detach()?.f_to_kind(Kind::Float)?)
}
