//! A factor beside a convolution or linear layer as part of its weights.
//!
//! Both are linear in input and weight, zero padding included: `s · (w · x + b) = (s · w) · x + s · b` and
//! `w · (s · x) + b = (s · w) · x + b`. Computed in f64 and cast to the weight's dtype once.

use tch::{Kind, Tensor};

use crate::Error;
use crate::frozen::ConvParams;

/// Weight and bias of a layer whose result is multiplied by `factor`.
pub fn scale_after(weight: &Tensor, bias: Option<&Tensor>, factor: f64) -> Result<(Tensor, Option<Tensor>), Error> {
    let bias = bias.map(|bias| times(bias, factor)).transpose()?;
    Ok((times(weight, factor)?, bias))
}

/// Weight and bias of a layer whose result is multiplied by a tensor, where that is a factor for each output, or one for
/// all, and adds no axes: `[out]` behind a linear layer, `[out, 1, 1]` behind a convolution of two spatial axes. Of any
/// other tensor there is no such layer.
pub fn scaled_by(
    weight: &Tensor,
    bias: Option<&Tensor>,
    factor: &Tensor,
    params: Option<&ConvParams>,
) -> Result<Option<(Tensor, Option<Tensor>)>, Error> {
    let _no_grad = tch::no_grad_guard();
    let (size, of_weight) = (factor.size(), weight.size());
    let axes = if params.is_some() { of_weight.len().saturating_sub(1) } else { 1 };
    let is_one = size.len() <= axes && size.iter().all(|&one| one == 1);
    let is_each = size.len() == axes && size.first() == of_weight.first() && size[1..].iter().all(|&one| one == 1);
    let is_layer = of_weight.len() >= 2 && params.is_none_or(|params| !params.transposed);
    if !is_layer || !(is_one || is_each) || factor.f_kind()? != weight.f_kind()? {
        return Ok(None);
    }
    let factor = factor.f_to_kind(Kind::Double)?;
    // A number may be on the CPU whatever the device of what it is multiplied with.
    let factor = if factor.dim() == 0 { factor.f_to_device(weight.device())? } else { factor };
    let factor = factor.f_reshape([-1])?;
    let times = |tensor: &Tensor| -> Result<Tensor, Error> {
        let mut shape = vec![1; tensor.dim()];
        shape[0] = -1;
        let factor = factor.f_reshape(shape)?;
        Ok(tensor.f_to_kind(Kind::Double)?.f_mul(&factor)?.f_to_kind(tensor.f_kind()?)?)
    };
    Ok(Some((times(weight)?, bias.map(times).transpose()?)))
}

/// The factor of a permuted result as one of the result itself: `factor * ys.permute(axes)` is
/// `(factor_before(factor, axes) * ys).permute(axes)`. `axes` names each axis once. A factor of more axes than the result
/// comes back as it is.
///
/// # Errors
/// What libtorch reports.
pub fn factor_before(factor: &Tensor, axes: impl AsRef<[i64]>) -> Result<Tensor, Error> {
    let axes = axes.as_ref();
    let Some(missing) = axes.len().checked_sub(factor.dim()) else { return Ok(factor.shallow_clone()) };
    let of_result = [vec![1; missing], factor.size()].concat();
    let inverse = (0_i64..).take(axes.len()).map(|axis| axes.iter().zip(0_i64..).find(|(one, _)| **one == axis));
    let inverse: Vec<i64> = inverse.filter_map(|found| found.map(|(_, position)| position)).collect();
    let before = factor.f_reshape(of_result)?.f_permute(inverse)?;
    // Axes of one element in front say nothing.
    let size = before.size();
    let said = size.iter().position(|&length| length != 1).unwrap_or(size.len());
    Ok(before.f_reshape(&size[said..])?)
}

/// The weight of a layer whose input is multiplied by `factor`; its bias stays.
pub fn scale_before(weight: &Tensor, factor: f64) -> Result<Tensor, Error> {
    times(weight, factor)
}

fn times(tensor: &Tensor, factor: f64) -> Result<Tensor, Error> {
    let _no_grad = tch::no_grad_guard();
    Ok(tensor.f_to_kind(Kind::Double)?.f_mul_scalar(factor)?.f_to_kind(tensor.f_kind()?)?)
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::factor_before;

    #[test]
    fn a_factor_goes_in_front_of_a_permutation() {
        let ys = Tensor::rand([2, 4, 5, 3], (Kind::Double, Device::Cpu));
        for axes in [[0, 3, 1, 2], [3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 2, 3]] {
            let permuted = ys.permute(axes);
            let size = permuted.size();
            for shape in [&[size[1], 1, 1][..], &[size[3]], &[1], &[], &size, &[1, 1, size[2], 1]] {
                let factor = Tensor::rand(shape, (Kind::Double, Device::Cpu));
                let before = factor_before(&factor, axes).unwrap();
                assert_eq!(&factor * &permuted, (before * &ys).permute(axes), "{axes:?} {shape:?}");
            }
        }
        let channels = factor_before(&Tensor::rand([3, 1, 1], (Kind::Float, Device::Cpu)), [0, 3, 1, 2]).unwrap();
        assert_eq!(channels.size(), [3]);
        let larger = factor_before(&Tensor::rand([1, 1, 1, 1, 3], (Kind::Float, Device::Cpu)), [0, 3, 1, 2]).unwrap();
        assert_eq!(larger.size(), [1, 1, 1, 1, 3]);
    }
}
