//! Folding batch norm into the convolution or linear layer beside it, at freeze time.
//!
//! In inference mode a batch norm is a scale and a shift of each channel (Ioffe and Szegedy 2015, algorithm 2):
//!
//! ```text
//! bn(y) = s · y + t        s = gamma / sqrt(running_var + eps)        t = beta - running_mean · s
//! ```
//!
//! Behind a layer that is linear in its weight, `bn(w · x + b) = (s · w) · x + (s · b + t)`, where `s` goes along the
//! weight's axis of output channels. In front of one, `w · bn(x) + b = (w · s) · x + (w · t + b)`, where `s` goes along
//! the axis of input channels, and `w · t` is the layer applied to a constant input of `t`. That constant does not
//! reach into a border of zeros, so that in front of a convolution with zero padding the second form holds only where
//! `t` is zero; [`batch_norm_conv`] refuses the others.
//!
//! Everything is computed in f64 and cast to the weight's dtype once, at the end. NaN is carried through.

mod linears;
mod scale;

use tch::{Kind, Tensor};

use super::ConvParams;
use crate::Error;
use crate::nn::{BatchNorm, PaddingMode};

pub use linears::linears;
pub use scale::{factor_before, scale_after, scale_before, scaled_by};

/// `bn(conv(x))` as one convolution: its weight and bias.
///
/// `weight` is `[out, in / groups, k..]`, for a transposed convolution `[in, out / groups, k..]`; the results have the
/// shape of `weight` and `[out]`, and the weight's dtype and device.
///
/// # Errors
///
/// When the batch norm is for another number of channels than the convolution has.
pub fn conv_batch_norm(
    weight: &Tensor,
    bias: Option<&Tensor>,
    bn: &BatchNorm,
    params: &ConvParams,
) -> Result<(Tensor, Tensor), Error> {
    let _no_grad = tch::no_grad_guard();
    let affine = Affine::of(bn, weight)?;
    let channels = Channels::of(weight, params)?;
    affine.check(channels.out)?;
    let scaled = if params.transposed {
        // The output channels of group g lie along axis 1 of the g-th part of axis 0.
        let parts = channels.in_groups(&weight.f_to_kind(Kind::Double)?)?;
        let scale = affine.scale.f_reshape(channels.beside([params.groups, 1, channels.out / params.groups]))?;
        parts.f_mul(&scale)?.f_reshape(weight.size())?
    } else {
        scale_rows(weight, &affine.scale)?
    };
    affine.after(weight, &scaled, bias)
}

/// `bn(linear(x))` as one linear layer: its weight `[out, in]` and bias `[out]`.
///
/// # Errors
///
/// When the batch norm is for another number of channels than the layer has.
pub fn linear_batch_norm(weight: &Tensor, bias: Option<&Tensor>, bn: &BatchNorm) -> Result<(Tensor, Tensor), Error> {
    let _no_grad = tch::no_grad_guard();
    let affine = Affine::of(bn, weight)?;
    let (out, _) = weight.size2()?;
    affine.check(out)?;
    let scaled = scale_rows(weight, &affine.scale)?;
    affine.after(weight, &scaled, bias)
}

/// `conv(bn(x))` as one convolution: its weight and bias.
///
/// # Errors
///
/// Where that does not hold: a transposed convolution, or zero padding and a batch norm that shifts. Ask
/// [`folds_before_conv`] first. Also when the numbers of channels differ.
pub fn batch_norm_conv(
    weight: &Tensor,
    bias: Option<&Tensor>,
    bn: &BatchNorm,
    params: &ConvParams,
) -> Result<(Tensor, Tensor), Error> {
    let _no_grad = tch::no_grad_guard();
    if !folds_before_conv(bn, params)? {
        return Err(Error::Unsupported {
            what: "folding a batch norm into the padded or transposed convolution behind it".to_owned(),
            help: "keep the batch norm".to_owned(),
        });
    }
    let affine = Affine::of(bn, weight)?;
    let channels = Channels::of(weight, params)?;
    affine.check(channels.input)?;
    // [groups, out / groups, in / groups, k..]
    let parts = channels.in_groups(&weight.f_to_kind(Kind::Double)?)?;
    let per_group = channels.beside([params.groups, 1, channels.input / params.groups]);
    let scaled = parts.f_mul(&affine.scale.f_reshape(&per_group)?)?.f_reshape(weight.size())?;
    let reached = parts.f_mul(&affine.shift.f_reshape(&per_group)?)?;
    let constant = reached.f_reshape([channels.out, -1])?.f_sum_dim_intlist(&[1i64][..], false, None::<Kind>)?;
    finish(weight, &scaled, &plus(&constant, bias, weight)?)
}

/// `linear(bn(x))` as one linear layer: its weight `[out, in]` and bias `[out]`. `bn` normalizes the last axis.
///
/// # Errors
///
/// When the batch norm is for another number of channels than the layer takes.
pub fn batch_norm_linear(weight: &Tensor, bias: Option<&Tensor>, bn: &BatchNorm) -> Result<(Tensor, Tensor), Error> {
    let _no_grad = tch::no_grad_guard();
    let affine = Affine::of(bn, weight)?;
    let (_, columns) = weight.size2()?;
    affine.check(columns)?;
    let weight64 = weight.f_to_kind(Kind::Double)?;
    let constant = weight64.f_mv(&affine.shift)?;
    finish(weight, &weight64.f_mul(&affine.scale)?, &plus(&constant, bias, weight)?)
}

/// `x` if it is `[N, in]`: a linear layer and the batch norm behind it are one layer only where the batch norm's axis 1
/// is the last.
///
/// # Errors
///
/// [`Error::Rank`] if it is not.
pub fn matrix(x: &Tensor) -> Result<Tensor, Error> {
    if x.dim() == 2 {
        return Ok(x.shallow_clone());
    }
    let name = "input of a linear layer before a batch norm".to_owned();
    Err(Error::Rank { name, expected: vec![2], found: x.size() })
}

/// Whether `conv(bn(x))` is one convolution: exactly if no tap of the window can land where the batch norm's shift is
/// missing.
pub fn folds_before_conv(bn: &BatchNorm, params: &ConvParams) -> Result<bool, Error> {
    if params.transposed {
        return Ok(false);
    }
    if params.padding_mode != PaddingMode::Zeros || params.padding.iter().all(|&width| width == 0) {
        return Ok(true);
    }
    let affine = Affine::of(bn, &bn.running_mean)?;
    Ok(affine.shift.f_count_nonzero(None)?.f_int64_value(&[])? == 0)
}

/// A batch norm as scale and shift, `[channels]` each, in f64.
struct Affine {
    scale: Tensor,
    shift: Tensor,
}

/// A batch norm in inference as what each channel is multiplied with and what is added then, each `[channels]` in the dtype
/// of its statistics.
pub(super) fn factor_and_summand(bn: &BatchNorm) -> Result<(Tensor, Tensor), Error> {
    let _no_grad = tch::no_grad_guard();
    let (Affine { scale, shift }, kind) = (Affine::of(bn, &bn.running_var)?, bn.running_var.f_kind()?);
    Ok((scale.f_to_kind(kind)?, shift.f_to_kind(kind)?))
}

impl Affine {
    /// On the device of `beside`.
    fn of(bn: &BatchNorm, beside: &Tensor) -> Result<Self, Error> {
        let place = |tensor: &Tensor| tensor.f_to_device(beside.device())?.f_to_kind(Kind::Double);
        let mut scale = place(&bn.running_var)?.f_add_scalar(bn.config.eps)?.f_rsqrt()?;
        if let Some(gamma) = &bn.ws {
            scale = scale.f_mul(&place(gamma)?)?;
        }
        let mut shift = place(&bn.running_mean)?.f_mul(&scale)?.f_neg()?;
        if let Some(beta) = &bn.bs {
            shift = shift.f_add(&place(beta)?)?;
        }
        Ok(Self { scale, shift })
    }

    fn check(&self, channels: i64) -> Result<(), Error> {
        let found = self.scale.size();
        if found == [channels] {
            return Ok(());
        }
        let what = format!("a batch norm over {found:?} channels beside a layer with {channels}");
        Err(Error::Unsupported { what, help: "give both the same number of channels".to_owned() })
    }

    /// Weight and bias of a layer whose result is normalized.
    fn after(&self, weight: &Tensor, scaled: &Tensor, bias: Option<&Tensor>) -> Result<(Tensor, Tensor), Error> {
        let shift = match bias {
            Some(bias) => self.shift.f_add(&bias.f_to_kind(Kind::Double)?.f_mul(&self.scale)?)?,
            None => self.shift.shallow_clone(),
        };
        finish(weight, scaled, &shift)
    }
}

/// Numbers of channels of a convolution.
struct Channels {
    out: i64,
    input: i64,
    groups: i64,
    axes: usize,
}

impl Channels {
    fn of(weight: &Tensor, params: &ConvParams) -> Result<Self, Error> {
        let (size, groups) = (weight.size(), params.groups);
        if size.len() < 3 || groups < 1 || size[0] % groups != 0 {
            let what = format!("a convolution with a weight of shape {size:?} in {groups} groups");
            return Err(Error::Unsupported { what, help: "check the layer's configuration".to_owned() });
        }
        let across = size[1] * groups;
        let (out, input) = if params.transposed { (across, size[0]) } else { (size[0], across) };
        Ok(Self { out, input, groups, axes: size.len() })
    }

    /// The weight with its first axis cut into groups.
    fn in_groups(&self, weight: &Tensor) -> Result<Tensor, Error> {
        let size = weight.size();
        Ok(weight.f_reshape([&[self.groups, size[0] / self.groups], &size[1..]].concat())?)
    }

    /// The shape of `head`, with ones for the taps.
    fn beside(&self, head: [i64; 3]) -> Vec<i64> {
        let mut shape = vec![1; self.axes + 1];
        shape[..3].copy_from_slice(&head);
        shape
    }
}

/// Each entry of the first axis times its scale, in f64, as a new tensor of the weight's dtype.
///
/// It goes in pieces that stay in the cache, each small enough that ATen computes it on this thread: waking its other
/// threads so often would cost more than they save.
fn scale_rows(weight: &Tensor, scale: &Tensor) -> Result<Tensor, Error> {
    const ELEMENTS: i64 = 1 << 15;
    let size = weight.size();
    let (rows, columns) = (size[0], size[1..].iter().product::<i64>());
    let scaled = Tensor::f_empty(&size, (weight.f_kind()?, weight.device()))?;
    let (from, to) = (weight.f_reshape([rows, columns])?, scaled.f_view([rows, columns])?);
    let step = (ELEMENTS / columns.max(1)).max(1);
    let mut row = 0;
    while row < rows {
        let count = step.min(rows - row);
        // A product with f64 is f64.
        let product = from.f_narrow(0, row, count)?.f_mul(&scale.f_narrow(0, row, count)?.f_unsqueeze(1)?)?;
        to.f_narrow(0, row, count)?.f_copy_(&product)?;
        row += count;
    }
    Ok(scaled)
}

fn plus(constant: &Tensor, bias: Option<&Tensor>, weight: &Tensor) -> Result<Tensor, Error> {
    Ok(match bias {
        Some(bias) => constant.f_add(&bias.f_to_device(weight.device())?.f_to_kind(Kind::Double)?)?,
        None => constant.shallow_clone(),
    })
}

fn finish(like: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let kind = like.f_kind()?;
    Ok((weight.f_to_kind(kind)?, bias.f_to_kind(kind)?))
}

#[cfg(test)]
mod tests;
