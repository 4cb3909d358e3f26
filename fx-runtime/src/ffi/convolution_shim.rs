//! A convolution through libtorch's entry points for oneDNN.
//!
//! For transposed convolutions, and where oneDNN cannot be called directly (see [`super::onednn`]).

use std::ffi::CStr;

use tch::{TchError, Tensor};

use super::Param;
use super::convolution::Geometry;
use super::convolution_weight::ConvolutionWeight;
use super::entry::{Handle, Status, table};
use super::post_op::{PostOp, RawPostOp, c_name, optional};
use super::tensor::{lend, refused, take};

const CONVOLUTION: &str = "mkldnn::_convolution_pointwise";
const TRANSPOSE: &str = "mkldnn::_convolution_transpose_pointwise";
const BINARY: &str = "mkldnn::_convolution_pointwise.binary";
const ADD: &CStr = c_name(fx_ir::ops::ADD);

/// A convolution whose weight lies in oneDNN's blocked layout.
#[derive(Debug)]
pub(crate) struct ShimConv {
    weight: ConvolutionWeight,
    bias: Option<Param>,
    geometry: Geometry,
}

impl ShimConv {
    /// Packs a dense weight for the given geometry; none where this libtorch lacks an entry point that is needed.
    ///
    /// `weight` is `[out, in / groups, k..]` (transposed: `[in, out / groups, k..]`) with two or three spatial axes, f32,
    /// or bf16 or f16 where [`ops::onednn_has_bf16`] or [`ops::onednn_has_f16`] say so.
    pub(crate) fn pack(weight: &Tensor, bias: Option<&Tensor>, geometry: Geometry) -> Option<Result<Self, TchError>> {
        let entry = table();
        let found = match geometry.output_padding {
            Some(_) => entry.convolution_transpose.is_some(),
            None => entry.convolution.is_some() && entry.convolution_binary.is_some(),
        };
        if !found {
            return None;
        }
        let pack = || {
            let bias = bias.map(Param::copied).transpose()?;
            Ok(Self { weight: ConvolutionWeight::pack(weight, &geometry)?, bias, geometry })
        };
        Some(pack())
    }

    /// The weight as it was before it was packed.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.weight.dense()
    }

    /// The bias, `[out]`.
    pub(crate) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// `post(conv(x))`; `x` has rank 4 or 5, any strides, at least one element, the weight's dtype and its number of
    /// channels; the result is `channels_last`.
    pub(crate) fn run(&self, x: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        let weight = self.weight.for_input(x, &self.geometry)?;
        let bias = self.bias.as_deref().map(lend);
        let mut out: Handle = std::ptr::null_mut();
        let status = post.lend(|post| self.call(x, &weight, optional(bias.as_ref()), post, &raw mut out));
        // SAFETY: on success the callee wrote a new tensor to `out` and gave it away; else `out` is still null.
        unsafe { take(out, status, if self.geometry.output_padding.is_some() { TRANSPOSE } else { CONVOLUTION }) }
    }

    fn call(&self, x: &Tensor, weight: &Param, bias: *const Handle, post: RawPostOp, out: *mut Handle) -> Status {
        let Geometry { stride, padding, dilation, output_padding, groups } = &self.geometry;
        let (x, weight) = (lend(x), lend(weight));
        let (pads, pad_count) = list(padding);
        let (strides, stride_count) = list(stride);
        let (dilations, dilation_count) = list(dilation);
        match (output_padding, table().convolution_transpose, table().convolution) {
            (Some(extra), Some(transpose), _) => {
                let (extra, extra_count) = list(extra);
                // SAFETY: all handles and lists are alive during the call, which reads them and writes `out`.
                unsafe {
                    transpose(
                        x,
                        weight,
                        bias,
                        pads,
                        pad_count,
                        extra,
                        extra_count,
                        strides,
                        stride_count,
                        dilations,
                        dilation_count,
                        *groups,
                        post.name,
                        post.scalars,
                        post.count,
                        post.algorithm,
                        out,
                    )
                }
            }
            // SAFETY: as above.
            (None, _, Some(convolution)) => unsafe {
                convolution(
                    x,
                    weight,
                    bias,
                    pads,
                    pad_count,
                    strides,
                    stride_count,
                    dilations,
                    dilation_count,
                    *groups,
                    post.name,
                    post.scalars,
                    post.count,
                    post.algorithm,
                    out,
                )
            },
            _ => 1,
        }
    }

    /// `post(conv(x) + other)` in one kernel, where `post` is nothing or `relu`; `other` has the result's shape and
    /// dtype. Not for a transposed convolution.
    pub(crate) fn run_add(&self, x: &Tensor, other: &Tensor, post: &PostOp) -> Result<Tensor, TchError> {
        let (None, Some(binary)) = (&self.geometry.output_padding, table().convolution_binary) else {
            return Err(refused(BINARY));
        };
        let Geometry { stride, padding, dilation, groups, .. } = &self.geometry;
        let weight = self.weight.for_input(x, &self.geometry)?;
        let bias = self.bias.as_deref().map(lend);
        let mut out: Handle = std::ptr::null_mut();
        let fused = *post != PostOp::None;
        let status = post.lend(|post| {
            let (pads, pad_count) = list(padding);
            let (strides, stride_count) = list(stride);
            let (dilations, dilation_count) = list(dilation);
            let alpha = 1.0;
            // This function wants a missing activation to be absent, where the others want it to be called none.
            let unary = if fused { &raw const post.name } else { std::ptr::null() };
            // SAFETY: all handles and lists are alive during the call, which reads them and writes `out`.
            unsafe {
                binary(
                    lend(x),
                    lend(other),
                    lend(&weight),
                    optional(bias.as_ref()),
                    pads,
                    pad_count,
                    strides,
                    stride_count,
                    dilations,
                    dilation_count,
                    *groups,
                    ADD.as_ptr(),
                    &raw const alpha,
                    unary,
                    post.scalars,
                    post.count,
                    post.algorithm,
                    &raw mut out,
                )
            }
        });
        // SAFETY: on success the callee wrote a new tensor to `out` and gave it away; else `out` is still null.
        unsafe { take(out, status, BINARY) }
    }
}

fn list(values: &[i64]) -> (*const i64, i64) {
    // One entry for each spatial axis, of which there are at most three.
    (values.as_ptr(), i64::try_from(values.len()).unwrap_or(0))
}
