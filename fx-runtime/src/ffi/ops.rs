//! Operators that tch does not bind, called through the dispatcher.

use std::sync::OnceLock;

use tch::{TchError, Tensor};

use super::convolution::Geometry;
use super::signature::{Signature, Type};
use super::stack::{Returned, StackValue, dispatch};

const OPTIONAL_INT: Type = Type::Optional(&Type::Int);
const OPTIONAL_LIST: Type = Type::Optional(&Type::IntList);

/// Memory formats, as libtorch numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryFormat {
    ChannelsLast = 2,
    ChannelsLast3d = 3,
}

// SAFETY (all signatures of this file): the operators have these schemas in the libtorch whose headers `entry` knows.

pub(super) static CLONE: Signature =
    // SAFETY: aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
    unsafe {
        Signature::new(c"aten::clone", c"", &[Type::Tensor, Type::Optional(&Type::MemoryFormat)], Type::Tensor)
    };
static HAS_BF16: Signature =
    // SAFETY: mkldnn::_is_mkldnn_bf16_supported() -> bool
    unsafe { Signature::new(c"mkldnn::_is_mkldnn_bf16_supported", c"", &[], Type::Bool) };
static HAS_F16: Signature =
    // SAFETY: mkldnn::_is_mkldnn_fp16_supported() -> bool
    unsafe { Signature::new(c"mkldnn::_is_mkldnn_fp16_supported", c"", &[], Type::Bool) };
static REORDER_LINEAR: Signature =
    // SAFETY: mkldnn::_reorder_linear_weight(Tensor self, int? batch_size=None) -> Tensor Y
    unsafe { Signature::new(c"mkldnn::_reorder_linear_weight", c"", &[Type::Tensor, OPTIONAL_INT], Type::Tensor) };
// SAFETY: mkldnn::_reorder_convolution_weight(Tensor self, int[2] padding=0, int[2] stride=1, int[2] dilation=1,
// int groups=1, int[]? input_size=None) -> Tensor Y
static REORDER_CONVOLUTION: Signature = unsafe {
    Signature::new(
        c"mkldnn::_reorder_convolution_weight",
        c"",
        &[Type::Tensor, Type::IntList, Type::IntList, Type::IntList, Type::Int, OPTIONAL_LIST],
        Type::Tensor,
    )
};
// SAFETY: mkldnn::_reorder_convolution_transpose_weight(Tensor self, int[2] padding=0, int[2] output_padding=0,
// int[2] stride=1, int[2] dilation=1, int groups=1, int[]? input_size=None) -> Tensor Y
static REORDER_TRANSPOSE: Signature = unsafe {
    Signature::new(
        c"mkldnn::_reorder_convolution_transpose_weight",
        c"",
        &[Type::Tensor, Type::IntList, Type::IntList, Type::IntList, Type::IntList, Type::Int, OPTIONAL_LIST],
        Type::Tensor,
    )
};

/// A copy of `tensor` in a memory format.
pub(crate) fn clone_in(tensor: &Tensor, format: MemoryFormat) -> Result<Tensor, TchError> {
    let format = StackValue::MemoryFormat(format as i32);
    tensor_of(&CLONE, &[StackValue::Tensor(tensor), StackValue::Some(&format)])
}

/// Whether oneDNN computes in bf16 on this CPU.
pub(crate) fn onednn_has_bf16() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| matches!(dispatch(&HAS_BF16, &[]), Ok(Returned::Bool(true))))
}

/// Whether oneDNN computes in f16 on this CPU.
pub(crate) fn onednn_has_f16() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| matches!(dispatch(&HAS_F16, &[]), Ok(Returned::Bool(true))))
}

/// A dense weight `[out, in]` in the layout that oneDNN's matrix product prefers.
pub(super) fn reorder_linear_weight(weight: &Tensor) -> Result<Tensor, TchError> {
    tensor_of(&REORDER_LINEAR, &[StackValue::Tensor(weight), StackValue::None])
}

/// A dense weight in the layout that oneDNN's convolution of this geometry prefers, for an input in `channels_last` of
/// these sizes or, without sizes, for none in particular. A transposed convolution does not look at sizes.
pub(super) fn reorder_convolution_weight(
    weight: &Tensor,
    geometry: &Geometry,
    sizes: Option<&[i64]>,
) -> Result<Tensor, TchError> {
    let weight = StackValue::Tensor(weight);
    let padding = StackValue::IntList(&geometry.padding);
    let stride = StackValue::IntList(&geometry.stride);
    let dilation = StackValue::IntList(&geometry.dilation);
    let groups = StackValue::Int(geometry.groups);
    let list = sizes.map(StackValue::IntList);
    let sizes = list.as_ref().map_or(StackValue::None, StackValue::Some);
    match &geometry.output_padding {
        None => tensor_of(&REORDER_CONVOLUTION, &[weight, padding, stride, dilation, groups, sizes]),
        Some(extra) => {
            let extra = StackValue::IntList(extra);
            tensor_of(&REORDER_TRANSPOSE, &[weight, padding, extra, stride, dilation, groups, StackValue::None])
        }
    }
}

fn tensor_of(operator: &Signature, arguments: &[StackValue<'_>]) -> Result<Tensor, TchError> {
    match dispatch(operator, arguments)? {
        Returned::Tensor(tensor) => Ok(tensor),
        Returned::Bool(_) => Err(super::tensor::refused(&operator.name.to_string_lossy())),
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
