//! Layers on codes of eight bits: `u8` inputs, `i8` weights, sums of 32 bits, and what follows in the same kernel.

use tch::{Kind, Tensor};

use super::accepts::Accepts;
use super::{Activation, ConvParams};
use crate::Error;
use crate::ffi::int8::PerTensor;
use crate::ffi::{DirectConv, Geometry, Int8Numbers, PostOp};

/// A convolution or linear layer on codes.
#[derive(Debug)]
pub(crate) struct Int8Layer {
    conv: DirectConv,
    post: PostOp,
    accepts: Accepts,
    /// Spatial axes; none of a linear layer.
    axes: usize,
    out: i64,
}

/// What a layer computes, in real numbers.
#[derive(Debug)]
pub(crate) struct Int8Spec<'t> {
    /// `i8[out, in / groups, k..]`, of a linear layer `i8[out, in]`.
    pub(crate) codes: &'t Tensor,
    /// What a weight's code is multiplied by, one number for each output channel.
    pub(crate) scales: &'t [f32],
    /// `[out]`.
    pub(crate) bias: Option<&'t Tensor>,
    /// The window; none of a linear layer.
    pub(crate) window: Option<ConvParams>,
    /// What the input's codes stand for.
    pub(crate) source: PerTensor,
    /// What the codes of a tensor that is added stand for.
    pub(crate) added: Option<PerTensor>,
    /// What the result's codes stand for; none if the result is f32.
    pub(crate) result: Option<PerTensor>,
    pub(crate) act: Activation,
}

impl Int8Layer {
    /// Packs `act(layer(x) + added)`; none where there is no such kernel: oneDNN cannot be called directly, the window
    /// is of a kind that it does not have, or the activation is not one of its.
    ///
    /// # Errors
    ///
    /// Weights and scales that do not fit each other.
    pub(crate) fn pack(spec: &Int8Spec<'_>) -> Result<Option<Self>, Error> {
        let Some(post) = spec.act.post_op() else { return Ok(None) };
        let shape = spec.codes.size();
        let Some((geometry, axes)) = geometry(spec, &shape)? else { return Ok(None) };
        let folded = Folded::new(spec, &geometry)?;
        let Some(post) = folded.unit(post) else { return Ok(None) };
        let weight = match axes {
            0 => spec.codes.f_view([shape[0], shape[1], 1, 1])?,
            1 => spec.codes.f_unsqueeze(2)?,
            _ => spec.codes.shallow_clone(),
        };
        let numbers = Int8Numbers {
            source_zero: folded.source_zero,
            weight_scales: &folded.scales,
            result: folded.result,
            adds_integers: spec.result.is_some(),
        };
        let Some(conv) = DirectConv::pack_int8(&weight, Some(&folded.bias), &geometry, &numbers) else {
            return Ok(None);
        };
        let conv = conv?;
        if conv.lay_out().is_err() {
            return Ok(None);
        }
        let channels = shape[1] * geometry.groups;
        let codes = Tensor::f_zeros([0], (Kind::Uint8, spec.codes.device()))?;
        let ranks = if axes == 0 { 1..=8 } else { axes + 1..=axes + 2 };
        Ok(Some(Self { conv, post, accepts: Accepts::new(ranks, axes, channels, &codes)?, axes, out: shape[0] }))
    }

    /// `act(layer(x))`, or with `added`, of the result's sizes, `act(layer(x) + added)`. Both are codes; the result is
    /// codes or f32.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`], [`Error::Channels`] or [`Error::Kind`] when `x` does not fit.
    pub(crate) fn run(&self, x: &Tensor, added: Option<&Tensor>) -> Result<Tensor, Error> {
        let facts = self.accepts.check(x)?;
        let sizes = facts.sizes();
        if self.axes == 0 {
            let mut result = sizes.to_vec();
            if let Some(last) = result.last_mut() {
                *last = self.out;
            }
            return Ok(self.conv.run_rows(x, &result, added, &self.post)?);
        }
        let is_batched = sizes.len() == self.axes + 2;
        let lifted = |tensor: &Tensor| -> Result<Tensor, Error> {
            let batched = if is_batched { tensor.shallow_clone() } else { tensor.f_unsqueeze(0)? };
            Ok(if self.axes == 1 { batched.f_unsqueeze(2)? } else { batched })
        };
        if is_batched && self.axes > 1 {
            return Ok(self.conv.run(x, added, &self.post)?);
        }
        let mut y = self.conv.run(&lifted(x)?, added.map(lifted).transpose()?.as_ref(), &self.post)?;
        if self.axes == 1 {
            y = y.f_squeeze_dim(2)?.f_contiguous()?;
        }
        Ok(if is_batched { y } else { y.f_squeeze_dim(0)? })
    }
}

/// The window in oneDNN's terms and the number of spatial axes; none of one that it does not have.
fn geometry(spec: &Int8Spec<'_>, shape: &[i64]) -> Result<Option<(Geometry, usize)>, Error> {
    let Some(params) = &spec.window else {
        let (one, none) = (Box::from([1, 1]), Box::from([0, 0]));
        let geometry =
            Geometry { stride: one, padding: none, dilation: Box::from([1, 1]), output_padding: None, groups: 1 };
        return Ok((shape.len() == 2).then_some((geometry, 0)));
    };
    let axes = shape.len().saturating_sub(2);
    let params = params.expanded(axes)?;
    let zeros = params.padding_mode == crate::nn::PaddingMode::Zeros || params.padding.iter().all(|&width| width == 0);
    if params.transposed || !zeros || !(1..=3).contains(&axes) {
        return Ok(None);
    }
    Ok(Some((super::conv::geometry(&params), axes)))
}

/// The numbers of a layer, with all that is linear brought into the scales of the weight and the bias.
struct Folded {
    source_zero: i32,
    scales: Vec<f32>,
    bias: Tensor,
    result: Option<(f32, i32)>,
    /// What one of the kernel's numbers stands for.
    unit: f32,
}

impl Folded {
    /// With `w`, `x`, `r` for codes and `s`, `z` for scales and zero points, the layer is
    /// `Σ (x - z_x) w · s_x s_w + b + (r - z_r) s_r`. The kernel adds `r` as it is, so that all is divided by `s_r`, and
    /// `z_r` goes into the bias. So does `z_x`, unless there is a border, in which zeros have the code `z_x`.
    fn new(spec: &Int8Spec<'_>, geometry: &Geometry) -> Result<Self, Error> {
        let (source, added) = (spec.source, spec.added.filter(|_| spec.result.is_some()));
        let unit = added.map_or(1.0, |added| added.scale);
        let scales: Vec<f32> = spec.scales.iter().map(|scale| source.scale * scale / unit).collect();
        let has_border = geometry.padding.iter().any(|&width| width != 0);
        let shift = if has_border { 0 } else { source.zero_point };
        let axes: Vec<i64> = (1..).take(spec.codes.dim() - 1).collect();
        let sums = spec.codes.f_sum_dim_intlist(axes.as_slice(), false, Kind::Int64)?.f_to_kind(Kind::Double)?;
        let of_source =
            sums.f_mul(&Tensor::f_from_slice(&scales)?.f_to_kind(Kind::Double)?)?.f_mul_scalar(f64::from(shift))?;
        let bias = match spec.bias {
            Some(bias) => bias.f_to_kind(Kind::Double)?.f_div_scalar(f64::from(unit))?,
            None => of_source.f_zeros_like()?,
        };
        let of_added = added.map_or(0.0, |added| f64::from(added.zero_point));
        let bias = bias.f_sub(&of_source)?.f_sub_scalar(of_added)?.f_to_kind(Kind::Float)?;
        let result = spec.result.map(|result| (result.scale / unit, result.zero_point));
        Ok(Self { source_zero: if has_border { source.zero_point } else { 0 }, scales, bias, result, unit })
    }

    /// The activation on the kernel's numbers; none of one that depends on their unit.
    fn unit(&self, post: PostOp) -> Option<PostOp> {
        let unit = f64::from(self.unit);
        match post {
            PostOp::None | PostOp::Relu | PostOp::LeakyRelu(_) => Some(post),
            PostOp::Clip(low, high) => Some(PostOp::Clip(low / unit, high / unit)),
            _ => (self.unit == 1.0).then_some(post),
        }
    }
}

#[cfg(test)]
mod tests;
