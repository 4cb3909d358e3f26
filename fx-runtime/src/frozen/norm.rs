//! What a layer norm that is part of a group reads of its layer.

use tch::{Device, Tensor};

use super::Frame;
use crate::Error;
use crate::nn::LayerNorm;

/// The layer's factors; ones of the frame's dtype where it has none.
///
/// # Errors
///
/// When there is no memory for them.
pub fn weight(frame: &Frame, norm: &LayerNorm) -> Result<Tensor, Error> {
    part(frame, norm, norm.ws.as_ref(), 1.0)
}

/// The layer's summands; zeros of the frame's dtype where it has none.
///
/// # Errors
///
/// When there is no memory for them.
pub fn bias(frame: &Frame, norm: &LayerNorm) -> Result<Tensor, Error> {
    part(frame, norm, norm.bs.as_ref(), 0.0)
}

fn part(frame: &Frame, norm: &LayerNorm, given: Option<&Tensor>, otherwise: f64) -> Result<Tensor, Error> {
    Ok(match given {
        Some(given) => given.shallow_clone(),
        None => Tensor::f_full(&norm.normalized_shape, otherwise, (frame.kind(), Device::Cpu))?,
    })
}
