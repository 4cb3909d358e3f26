//! Fused activations in oneDNN's own numbers; which of them libtorch means by which name is seen in its
//! `aten/src/ATen/native/mkldnn/Utils.cpp`.

use std::ffi::c_int;

use tch::TchError;

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
pub(super) fn step(post: &PostOp) -> Result<Option<Step<'static>>, TchError> {
    let (name, [first, second], formula) = post.parts();
    let eltwise = |algorithm, alpha: f64, beta: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "oneDNN computes in f32 at most")]
        let (alpha, beta) = (alpha as f32, beta as f32);
        Ok(Some(Step::Eltwise(algorithm, alpha, beta)))
    };
    match (name, formula) {
        ("none", _) => Ok(None),
        ("relu", _) => eltwise(RELU, 0.0, 0.0),
        ("leaky_relu", _) => eltwise(RELU, first, 0.0),
        ("hardtanh", _) => eltwise(CLIP, first, second),
        ("hardswish", _) => eltwise(HARDSWISH, 1.0 / 6.0, 0.5),
        ("swish", _) => eltwise(SWISH, 1.0, 0.0),
        ("sigmoid", _) => eltwise(LOGISTIC, 0.0, 0.0),
        ("tanh", _) => eltwise(TANH, 0.0, 0.0),
        ("gelu", "none") => eltwise(GELU_ERF, 0.0, 0.0),
        ("gelu", "tanh") => eltwise(GELU_TANH, 0.0, 0.0),
        (name, formula) => Err(TchError::Torch(format!("oneDNN knows no activation `{name}` `{formula}`"))),
    }
}
