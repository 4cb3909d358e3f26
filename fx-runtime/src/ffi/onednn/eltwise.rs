//! Fused activations in oneDNN's own numbers; which of them libtorch means by which name is seen in its
//! `aten/src/ATen/native/mkldnn/Utils.cpp`.

use std::ffi::c_int;

use super::objects::Step;
use crate::ffi::PostOp;

const RELU: c_int = 0x20;
const TANH: c_int = 0x21;
const LOGISTIC: c_int = 0x29;
const GELU_TANH: c_int = 0x2b;
const SWISH: c_int = 0x2c;
const CLIP: c_int = 0x2e;
const GELU_ERF: c_int = 0x31;
const HARDSWISH: c_int = 0x34;

/// The step for an activation; none where there is nothing to do.
pub(super) fn step(post: PostOp) -> Option<Step<'static>> {
    let (algorithm, alpha, beta) = match post {
        PostOp::None => return None,
        PostOp::Relu => (RELU, 0.0, 0.0),
        PostOp::LeakyRelu(slope) => (RELU, slope, 0.0),
        PostOp::Clip(low, high) => (CLIP, low, high),
        PostOp::HardSwish => (HARDSWISH, 1.0 / 6.0, 0.5),
        PostOp::Swish => (SWISH, 1.0, 0.0),
        PostOp::Logistic => (LOGISTIC, 0.0, 0.0),
        PostOp::Tanh => (TANH, 0.0, 0.0),
        PostOp::Gelu => (GELU_ERF, 0.0, 0.0),
        PostOp::GeluTanh => (GELU_TANH, 0.0, 0.0),
    };
    #[expect(clippy::cast_possible_truncation, reason = "oneDNN computes in f32 at most")]
    Some(Step::Eltwise(algorithm, alpha as f32, beta as f32))
}
