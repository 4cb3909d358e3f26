//! What a norm that is part of a group reads of its layer, and one that stands alone on a GPU.

#![allow(clippy::inline_always, reason = "as in a group that is generated")]

use tch::{Device, Tensor};

use super::group::{Group, Number, PointwiseOps, in_one_pass};
use super::{Frame, fold};
use crate::Error;
use crate::nn::{BatchNorm, LayerNorm};

/// A norm over the last axis by a kernel that reads each row once, where `xs` is on a GPU; none where there is no such kernel.
pub(super) fn on_gpu(norm: &LayerNorm, xs: &Tensor) -> Option<Result<Tensor, Error>> {
    let (Some(weight), Some(bias), [_]) = (&norm.ws, &norm.bs, &norm.normalized_shape[..]) else { return None };
    if !xs.device().is_cuda() || xs.size().last() != norm.normalized_shape.last() {
        return None;
    }
    let eps = [Number::from(norm.config.eps)];
    in_one_pass::<Alone, 3, 1, 1>([xs, weight, bias], &eps)
}

/// A layer norm, as a group.
struct Alone;

impl Group<3, 1, 1> for Alone {
    const OPTIMIZED: bool = true;
    const REDUCTIONS: usize = 2;
    type Results = Tensor;

    #[inline(always)]
    fn lanes<L: PointwiseOps>([x, weight, bias]: [L; 3], [eps]: [L::Number; 1]) -> [L; 1] {
        [x.layer_norm(Some(weight), Some(bias), eps)]
    }
}

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

/// What a batch norm multiplies each channel with in inference, `gamma / sqrt(running_var + eps)`: `[channels, 1, ..]` with
/// a one for each spatial axis, or `[channels]` for a layer that takes several numbers of axes.
///
/// # Errors
///
/// What libtorch reports.
pub fn channel_factor(_: &Frame, norm: &BatchNorm) -> Result<Tensor, Error> {
    of_channels(norm, &fold::factor_and_summand(norm)?.0)
}

/// What it adds to each channel then, `beta - running_mean * factor`, in the same shape.
///
/// # Errors
///
/// What libtorch reports.
pub fn channel_summand(_: &Frame, norm: &BatchNorm) -> Result<Tensor, Error> {
    of_channels(norm, &fold::factor_and_summand(norm)?.1)
}

fn of_channels(norm: &BatchNorm, numbers: &Tensor) -> Result<Tensor, Error> {
    let axes = if norm.nd > 1 { norm.nd } else { 0 };
    Ok(numbers.f_reshape([vec![-1], vec![1; axes]].concat())?)
}

/// Numbers of channels, as [`channel_factor`] gives them, along the second axis of `xs`.
///
/// # Errors
///
/// [`Error::Refused`] if `xs` has another number of axes or of channels than the batch norm.
pub fn along_channels(numbers: &Tensor, xs: &Tensor) -> Result<Tensor, Error> {
    let (found, shape) = (xs.size(), numbers.size());
    let fits_axes = found.len() >= 2 && (shape.len() == 1 || shape.len() + 1 == found.len());
    if !fits_axes || found[1] != shape[0] {
        let axes = if shape.len() == 1 { "axes".to_owned() } else { format!("{} axes", shape.len() + 1) };
        return Err(Error::Refused(format!(
            "a batch norm over {} channels takes tensors of {axes} with as many, not {found:?}",
            shape[0]
        )));
    }
    Ok(if shape.len() == 1 {
        numbers.f_reshape([vec![-1], vec![1; found.len() - 2]].concat())?
    } else {
        numbers.shallow_clone()
    })
}

fn part(frame: &Frame, norm: &LayerNorm, given: Option<&Tensor>, otherwise: f64) -> Result<Tensor, Error> {
    Ok(match given {
        Some(given) => given.shallow_clone(),
        None => Tensor::f_full(&norm.normalized_shape, otherwise, (frame.kind(), Device::Cpu))?,
    })
}
