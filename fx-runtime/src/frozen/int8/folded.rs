//! What is known of a layer's numbers beforehand, brought into the scales of its weight, its bias and its activation.

use tch::{Kind, Tensor};

use super::{Int8Spec, channel_sums};
use crate::Error;
use crate::ffi::{Geometry, PostOp};

/// The numbers of a layer, with all that is linear brought into the scales of the weight and the bias.
pub(super) struct Folded {
    pub(super) source_zero: i32,
    pub(super) scales: Vec<f32>,
    pub(super) bias: Tensor,
    pub(super) result: Option<(f32, i32)>,
    /// What one of the kernel's numbers stands for.
    unit: f32,
}

impl Folded {
    /// With `w`, `x`, `r` for codes and `s`, `z` for scales and zero points, the layer is
    /// `Σ (x - z_x) w · s_x s_w + b + (r - z_r) s_r`. The kernel adds `r` as it is, so that all is divided by `s_r`, and
    /// `z_r` goes into the bias. So does `z_x`, unless there is a border, in which zeros have the code `z_x`. Where nothing
    /// is added, all is divided by the result's scale, so that the kernel need not, if the activation allows it.
    pub(super) fn new(spec: &Int8Spec<'_>, post: PostOp, geometry: &Geometry) -> Result<Self, Error> {
        let (source, added) = (spec.source, spec.added.filter(|_| spec.result.is_some()));
        let of_result = spec.result.filter(|of| in_unit(post, of.scale).is_some());
        let unit = added.or(of_result).map_or(1.0, |of| of.scale);
        let scales: Vec<f32> = spec.scales.iter().map(|scale| source.scale * scale / unit).collect();
        let has_border = geometry.padding.iter().any(|&width| width != 0);
        let shift = if has_border { 0 } else { source.zero_point };
        let sums = channel_sums(spec.codes)?.f_to_kind(Kind::Double)?;
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

    /// The activation on the kernel's numbers, without what storing codes does anyway; none of one that depends on their
    /// unit.
    pub(super) fn post(&self, post: PostOp) -> Option<PostOp> {
        let post = in_unit(post, self.unit)?;
        let Some((scale, zero)) = self.result else { return Some(post) };
        let code = |x: f64| (x / f64::from(scale)).round_ties_even() + f64::from(zero);
        Some(match post {
            PostOp::Relu if zero == 0 => PostOp::None,
            PostOp::Clip(low, high) if code(low) <= 0.0 && code(high) >= 255.0 => PostOp::None,
            post => post,
        })
    }
}

/// An activation on numbers each of which stands for `unit`; none of one that is not the same in every unit.
#[expect(clippy::float_cmp, reason = "a unit of exactly one changes nothing")]
fn in_unit(post: PostOp, unit: f32) -> Option<PostOp> {
    match post {
        post if unit == 1.0 => Some(post),
        PostOp::None | PostOp::Relu | PostOp::LeakyRelu(_) => Some(post),
        PostOp::Clip(low, high) => Some(PostOp::Clip(low / f64::from(unit), high / f64::from(unit))),
        _ => None,
    }
}
