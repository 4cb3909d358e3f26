//! A linear layer through libtorch's entry points for oneDNN.
//!
//! For where oneDNN cannot be called directly (see [`super::onednn`]): a call costs about 8 µs more.

use std::ffi::CStr;

use tch::{TchError, Tensor};

use super::entry::{Handle, table};
use super::post_op::{PostOp, c_name, optional};
use super::tensor::{lend, refused, take};
use super::{Param, ops};

const LINEAR: &str = "mkldnn::_linear_pointwise";
const BINARY: &str = "mkldnn::_linear_pointwise.binary";
const ADD: &CStr = c_name(fx_ir::ops::ADD);

/// A linear layer whose weight lies in oneDNN's blocked layout.
#[derive(Debug)]
pub(crate) struct ShimLinear {
    weight: Param,
    bias: Option<Param>,
}

impl ShimLinear {
    /// Packs a dense weight `[out, in]` of f32, or of bf16 or f16 where the CPU has them; none where this libtorch lacks
    /// an entry point that is needed.
    pub(crate) fn pack(weight: &Tensor, bias: Option<&Tensor>) -> Option<Result<Self, TchError>> {
        let entry = table();
        entry.linear.and(entry.linear_binary)?;
        let pack = || {
            let bias = bias.map(Param::copied).transpose()?;
            Ok(Self { weight: Param::new(ops::reorder_linear_weight(&weight.f_contiguous()?)?), bias })
        };
        Some(pack())
    }

    /// The weight as it was before it was packed, `[out, in]`.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.weight.f_to_dense(None::<tch::Kind>, false)
    }

    /// The bias, `[out]`.
    pub(crate) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// `post(x wᵀ + b)`; `x` is `[.., in]` of rank 2 or more, at least one element, in the weight's dtype.
    pub(crate) fn run(&self, x: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        let linear = table().linear.ok_or_else(|| refused(LINEAR))?;
        let bias = self.bias.as_deref().map(lend);
        let mut out: Handle = std::ptr::null_mut();
        // SAFETY: all handles are alive during the call, which reads them and writes `out`.
        let status = post.lend(|post| unsafe {
            linear(
                lend(x),
                lend(&self.weight),
                optional(bias.as_ref()),
                post.name,
                post.scalars,
                post.count,
                post.algorithm,
                &raw mut out,
            )
        });
        // SAFETY: on success the callee wrote a new tensor to `out` and gave it away; else `out` is still null.
        unsafe { take(out, status, LINEAR) }
    }

    /// `x wᵀ + b + other` in one kernel; `other` has the result's shape and dtype.
    pub(crate) fn run_add(&self, x: &Tensor, other: &Tensor) -> Result<Tensor, TchError> {
        let binary = table().linear_binary.ok_or_else(|| refused(BINARY))?;
        let bias = self.bias.as_deref().map(lend);
        let mut out: Handle = std::ptr::null_mut();
        // SAFETY: all handles are alive during the call, which reads them and writes `out`.
        let status = unsafe {
            binary(lend(x), lend(other), lend(&self.weight), optional(bias.as_ref()), ADD.as_ptr(), &raw mut out)
        };
        // SAFETY: on success the callee wrote a new tensor to `out` and gave it away; else `out` is still null.
        unsafe { take(out, status, BINARY) }
    }
}
