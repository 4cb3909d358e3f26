//! Operators that tch does not bind, called by name.

use std::sync::OnceLock;

use tch::{TchError, Tensor};

use super::convolution::Geometry;
pub(crate) use super::operator::MemoryFormat;
use super::operator::{Operator, Value};

/// An operator without overload, which is found at its first call.
struct Known {
    name: &'static str,
    found: OnceLock<Operator>,
}

impl Known {
    const fn new(name: &'static str) -> Self {
        Self { name, found: OnceLock::new() }
    }

    fn operator(&self) -> Result<Operator, TchError> {
        if let Some(operator) = self.found.get() {
            return Ok(*operator);
        }
        let operator = Operator::find(self.name, "")?;
        Ok(*self.found.get_or_init(|| operator))
    }

    fn tensor(&self, args: &[Value]) -> Result<Tensor, TchError> {
        Ok(self.operator()?.tensor(args)?)
    }

    fn is_true(&self) -> bool {
        let results = self.operator().map(|operator| operator.call::<Value>(&[]));
        matches!(results, Ok(Ok(results)) if matches!(results.as_slice(), [Value::Bool(true)]))
    }
}

/// A copy of `tensor` in a memory format.
pub(crate) fn clone_in(tensor: &Tensor, format: MemoryFormat) -> Result<Tensor, TchError> {
    static CLONE: Known = Known::new("aten::clone");
    CLONE.tensor(&[tensor.into(), format.into()])
}

/// `act(bias + x · weight)` of matrices: gelu in its tanh approximation, else relu. tch's method of that name hands the
/// choice over as the factor of the bias.
pub(crate) fn addmm_activation(bias: &Tensor, x: &Tensor, weight: &Tensor, is_gelu: bool) -> Result<Tensor, TchError> {
    static ADDMM: Known = Known::new("aten::_addmm_activation");
    let one = || Value::from(1_i64);
    ADDMM.tensor(&[bias.into(), x.into(), weight.into(), one(), one(), is_gelu.into()])
}

/// Whether oneDNN computes in bf16 on this CPU, by instructions that the CPU has.
///
/// Where AVX-512 lacks them it emulates them, with one kernel that is wrong: `jit_bf16_1x1` of oneDNN 3.10 on a few pixels
/// whose channels lie together (512 to 384 channels on 5 pixels: off by 2, where the numbers are of size 3).
pub(crate) fn onednn_has_bf16() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| Known::new("mkldnn::_is_mkldnn_bf16_supported").is_true() && !emulates_bf16())
}

#[cfg(target_arch = "x86_64")]
fn emulates_bf16() -> bool {
    is_x86_feature_detected!("avx512f") && !is_x86_feature_detected!("avx512bf16")
}

#[cfg(not(target_arch = "x86_64"))]
fn emulates_bf16() -> bool {
    false
}

/// Whether oneDNN computes in f16 on this CPU.
pub(crate) fn onednn_has_f16() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| Known::new("mkldnn::_is_mkldnn_fp16_supported").is_true())
}

/// A dense weight `[out, in]` in the layout that oneDNN's matrix product prefers.
pub(super) fn reorder_linear_weight(weight: &Tensor) -> Result<Tensor, TchError> {
    static REORDER: Known = Known::new("mkldnn::_reorder_linear_weight");
    REORDER.tensor(&[weight.into()])
}

/// A dense weight in the layout that oneDNN's convolution of this geometry prefers, for an input in `channels_last` of
/// these sizes or, without sizes, for none in particular. A transposed convolution does not look at sizes.
pub(super) fn reorder_convolution_weight(
    weight: &Tensor,
    geometry: &Geometry,
    sizes: Option<&[i64]>,
) -> Result<Tensor, TchError> {
    static CONVOLUTION: Known = Known::new("mkldnn::_reorder_convolution_weight");
    static TRANSPOSE: Known = Known::new("mkldnn::_reorder_convolution_transpose_weight");
    let [padding, stride, dilation] =
        [&geometry.padding, &geometry.stride, &geometry.dilation].map(|list| Value::from(&**list));
    let groups = geometry.groups.into();
    match &geometry.output_padding {
        None => CONVOLUTION.tensor(&[weight.into(), padding, stride, dilation, groups, sizes.into()]),
        Some(extra) => TRANSPOSE.tensor(&[weight.into(), padding, (&**extra).into(), stride, dilation, groups]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn copies_in_channels_last() {
        let x = Tensor::rand([2, 3, 4, 5], (Kind::Float, Device::Cpu));
        let last = clone_in(&x, MemoryFormat::ChannelsLast).unwrap();
        assert_eq!((last.stride(), last == x), (vec![60, 1, 15, 3], true));
    }

    #[test]
    fn a_refusal_is_an_error() {
        assert!(clone_in(&Tensor::from(1.0), MemoryFormat::ChannelsLast3d).is_err());
    }
}
