//! What a layer norm that is part of a group reads of its layer.

use tch::{Kind, Tensor};

use crate::Error;
use crate::nn::LayerNorm;

/// The layer's factors; ones where it has none.
///
/// # Errors
///
/// When there is no memory for them.
pub fn weight(norm: &LayerNorm) -> Result<Tensor, Error> {
    part(norm, norm.ws.as_ref(), 1.0)
}

/// The layer's summands; zeros where it has none.
///
/// # Errors
///
/// When there is no memory for them.
pub fn bias(norm: &LayerNorm) -> Result<Tensor, Error> {
    part(norm, norm.bs.as_ref(), 0.0)
}

fn part(norm: &LayerNorm, given: Option<&Tensor>, otherwise: f64) -> Result<Tensor, Error> {
    Ok(match given {
        Some(given) => given.shallow_clone(),
        None => Tensor::f_full(&norm.normalized_shape, otherwise, (Kind::Float, tch::Device::Cpu))?,
    })
}
