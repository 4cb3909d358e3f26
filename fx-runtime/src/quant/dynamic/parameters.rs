//! Which integers stand for an input: the parameters that follow from its extremes.

use crate::ffi::int8::PerTensor;
use crate::{Error, Result};

/// The scale and the zero point for values from `min` to `max` on integers from 0 to `last`.
///
/// Source: `quant_utils::ChooseQuantizationParams` of torch 2.11 (`aten/src/ATen/native/quantized/cpu/QuantUtils.h`), which
/// computes in `f64` and takes the zero point from the end that rounds less.
///
/// # Errors
///
/// [`Error::Quantization`] if a bound is not finite.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as PyTorch computes, at most 255")]
pub(super) fn choose_qparams(min: f32, max: f32, last: i64) -> Result<PerTensor> {
    /// The smallest scale.
    const SMALL_SCALE: f32 = 6.1e-5;
    if !min.is_finite() || !max.is_finite() {
        let reason = format!("its input reaches from {min} to {max}; it has to be finite");
        return Err(Error::Quantization { site: "a dynamic layer".to_owned(), reason });
    }
    let (mut min, mut max) = (min.min(0.0), max.max(0.0));
    let mut scale = (f64::from(max) - f64::from(min)) / last as f64;
    if scale as f32 == 0.0 || (1.0 / scale as f32).is_infinite() {
        scale = 0.1;
    }
    if scale < f64::from(SMALL_SCALE) {
        let widened = SMALL_SCALE / scale as f32;
        scale = f64::from(SMALL_SCALE);
        if min == 0.0 {
            max = SMALL_SCALE * last as f32;
        } else if max == 0.0 {
            min = -SMALL_SCALE * last as f32;
        } else {
            (min, max) = (min * widened, max * widened);
        }
    }
    let (below, above) = (f64::from(min) / scale, f64::from(max) / scale);
    let zero = if -below.abs() < last as f64 - above.abs() { -below } else { last as f64 - above };
    let zero_point = zero.clamp(0.0, last as f64).round_ties_even() as i32;
    Ok(PerTensor { scale: scale as f32, zero_point })
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "scales are kept as f32")]
mod tests {
    use tch::Tensor;

    use super::*;
    use crate::ffi::operator::{self, Operator};

    /// Bounds so small, so large or so near each other that a plain quotient would not do: libtorch's operator has the same.
    #[test]
    fn parameters_are_libtorchs() -> Result<()> {
        let operator = Operator::find("aten::_choose_qparams_per_tensor", "")?;
        let sizes = (-44..38).map(|exponent| 10f32.powi(exponent));
        let shapes =
            [(0.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (-0.3, 0.7), (0.9, 1.1), (-1.3, -0.2), (-2.5, 0.01)];
        for (size, (low, high)) in sizes.flat_map(|size| shapes.map(|shape| (size, shape))) {
            let (min, max) = (size * low, size * high);
            for last in [127, 255] {
                let args: [operator::Value; 2] = [(&Tensor::from_slice(&[min, max])).into(), (last == 127).into()];
                let [operator::Value::Float(scale), operator::Value::Int(zero)] = operator.call(&args)?[..] else {
                    return Err(Error::Refused("no scale and zero point".to_owned()));
                };
                let PerTensor { scale: found, zero_point: at } = choose_qparams(min, max, last)?;
                assert_eq!((found.to_bits(), i64::from(at)), ((scale as f32).to_bits(), zero), "{min} {max} {last}");
            }
        }
        Ok(())
    }
}
