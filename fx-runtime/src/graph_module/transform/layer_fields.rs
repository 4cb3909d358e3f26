//! The plain fields of layers, which passes may read: configurations, sizes, slopes.

use std::any::Any;

use super::super::Value;
use super::super::convert::IntoValue;
use crate::frozen::ConvParams;
use crate::nn::{
    BatchNorm, Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D, GELU, GroupNorm, LayerNorm,
    LeakyReLU,
};

/// `fields!(layer, path: Layer { "field" => value, .. } ..)`: the value of a field by its path.
macro_rules! fields {
    ($any:expr, $path:expr; $($layer:ident($one:ident) { $($name:literal => $value:expr),+ $(,)? })+) => {
        $(
            if let Some($one) = $any.downcast_ref::<$layer>() {
                return match $path {
                    $($name => Some($value.value()),)+
                    _ => None,
                };
            }
        )+
    };
}

/// The value of a plain field by its path (`eps`, `config.eps`); none if the layer has none such.
pub(super) fn plain_field(layer: &dyn Any, path: &str) -> Option<Value> {
    fields! { layer, path;
        BatchNorm(norm) {
            "config.eps" => norm.config.eps,
            "config.momentum" => norm.config.momentum,
            "config.affine" => norm.config.affine,
            "config.cudnn_enabled" => norm.config.cudnn_enabled,
        }
        LayerNorm(norm) {
            "config.eps" => norm.config.eps,
            "config.elementwise_affine" => norm.config.elementwise_affine,
            "config.cudnn_enabled" => norm.config.cudnn_enabled,
            "normalized_shape" => norm.normalized_shape,
        }
        GroupNorm(norm) {
            "config.eps" => norm.config.eps,
            "config.affine" => norm.config.affine,
            "config.cudnn_enabled" => norm.config.cudnn_enabled,
        }
        LeakyReLU(act) { "negative_slope" => act.negative_slope }
        GELU(act) { "approximate" => act.approximate.as_str() }
    }
    let params = conv_params(layer)?;
    Some(match path {
        "config.stride" => params.stride.value(),
        "config.padding" => params.padding.value(),
        "config.dilation" => params.dilation.value(),
        "config.output_padding" => params.output_padding.value(),
        "config.groups" => params.groups.value(),
        _ => return None,
    })
}

/// The parameters of a convolution; none of another layer.
pub(super) fn conv_params(layer: &dyn Any) -> Option<ConvParams> {
    macro_rules! of {
        ($($layer:ident),+) => {
            $(
                if let Some(conv) = layer.downcast_ref::<$layer>() {
                    return Some(ConvParams::from(conv.config));
                }
            )+
        };
    }
    of!(Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D);
    None
}
