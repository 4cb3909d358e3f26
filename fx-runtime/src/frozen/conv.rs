//! A convolution packed for inference: weight in the kernel's layout, activation and addition fused.

use std::fmt;
use std::sync::Arc;

use tch::Tensor;

pub(super) use self::border::Border;
pub(super) use self::kernel::geometry;
use self::kernel::{Kernel, layer};
use super::accepts::Accepts;
use super::select::ConvChoice;
use super::window::{Landed, Window};
use super::{Activation, ConvLayer, ConvParams, Frame, fold};
use crate::Error;
use crate::ffi::Facts;
use crate::frame::Target;
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::{Packed, Slot};
use crate::nn::BatchNorm;

/// A convolution over one, two or three spatial axes, plain or transposed.
///
/// Inputs are `[batch, in, ..]` or `[in, ..]`, of any batch, size and strides; results come in whatever order of axes the
/// kernel writes, `channels_last` as a rule.
///
/// A clone is a second handle on the packed weight.
#[derive(Clone)]
pub struct Conv {
    kernel: Arc<Slot<Kernel>>,
    act: Activation,
    non_finite: NonFinite,
    accepts: Accepts,
    window: Window,
    weight_shape: Vec<i64>,
    /// With zero padding where `border` does the padding.
    params: ConvParams,
    border: Option<Border>,
}

/// What was found out about one call.
struct Call {
    facts: Facts,
    landed: Landed,
}

impl Call {
    fn has_work(&self) -> bool {
        self.landed.has_elements() && self.facts.sizes().iter().all(|&size| size > 0)
    }
}

impl Conv {
    /// Packs `act(conv(x, weight) + bias)`.
    ///
    /// `weight` is `[out, in / groups, k..]`, for a transposed convolution `[in, out / groups, k..]`; `bias` is `[out]`.
    /// Both are moved to the frame's device and dtype.
    ///
    /// # Errors
    ///
    /// Shapes and parameters that contradict each other; a weight that cannot be moved.
    pub fn pack(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        params: &ConvParams,
        act: Activation,
    ) -> Result<Self, Error> {
        let pack = || Self::pack_as(frame, weight, bias, params, act, None);
        frame.layer(weight, bias, format_args!("{act:?} {params:?}"), pack)
    }

    /// Packs `act(bn(conv(x, weight) + bias))`, the batch norm folded into `weight` and `bias`, which are as in
    /// [`Self::pack`].
    ///
    /// # Errors
    ///
    /// As [`Self::pack`]; a batch norm over another number of channels than the convolution yields.
    pub fn pack_batch_norm(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        bn: &BatchNorm,
        params: &ConvParams,
        act: Activation,
    ) -> Result<Self, Error> {
        let (weight, bias) = fold::conv_batch_norm(weight, bias, bn, params)?;
        Self::pack(frame, &weight, Some(&bias), params, act)
    }

    /// Packs `act(layer(x))`.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn pack_layer<L: ConvLayer>(frame: &Frame, layer: &L, act: Activation) -> Result<Self, Error> {
        let (weight, bias, params) = layer.parts();
        Self::pack(frame, weight, bias, &params, act)
    }

    /// Packs `act(bn(layer(x)))`.
    ///
    /// # Errors
    ///
    /// As [`Self::pack_batch_norm`].
    pub fn pack_layer_batch_norm<L: ConvLayer>(
        frame: &Frame,
        layer: &L,
        bn: &BatchNorm,
        act: Activation,
    ) -> Result<Self, Error> {
        let (weight, bias, params) = layer.parts();
        Self::pack_batch_norm(frame, weight, bias, bn, &params, act)
    }

    /// The same with the kernel that a file names, where this machine has it.
    fn pack_as(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        params: &ConvParams,
        act: Activation,
        saved: Option<ConvChoice>,
    ) -> Result<Self, Error> {
        let _no_grad = tch::no_grad_guard();
        let weight = frame.place(weight)?;
        let bias = bias.map(|bias| frame.place(bias)).transpose()?;
        let shape = weight.size();
        let axes = check_weight(&shape, bias.as_ref(), params)?;
        let params = params.expanded(axes)?;
        let in_channels = if params.transposed { shape[0] } else { shape[1] * params.groups };
        let accepts = Accepts::new(axes + 1..=axes + 2, axes, in_channels, &weight)?;
        let window = Window::new(&shape[2..], &params);
        let (params, border) = Border::split(params);
        let (target, non_finite) = (&frame.target_of(&weight)?, frame.non_finite());
        let choices = target.conv(layer(&shape, &params, &non_finite, act));
        let kernel = Slot::choose(frame.tuning(), saved, &choices, |choice| {
            Kernel::pack(target, &non_finite, choice, &weight, bias.as_ref(), &params)
        })?;
        let kernel = Arc::new(kernel);
        Ok(Self { kernel, act, non_finite: frame.non_finite(), accepts, window, weight_shape: shape, params, border })
    }

    /// `act(conv(x) + bias)`.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`], [`Error::Channels`], [`Error::Kind`] or [`Error::Device`] when `x` does not fit; libtorch's own
    /// when the window is larger than the input.
    pub fn run(&self, x: &Tensor) -> Result<Tensor, Error> {
        let call = self.look_at(x)?;
        self.with_kernel(&call, |kernel| self.convolve(kernel, x, &call, self.act))
    }

    /// `act(conv(x) + bias + other)`; `other` broadcasts.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and where `other` does not broadcast with the result.
    pub fn run_add(&self, x: &Tensor, other: &Tensor) -> Result<Tensor, Error> {
        let call = self.look_at(x)?;
        let same = self.is_like_result(other, &call);
        self.with_kernel(&call, |kernel| self.convolve_add(kernel, x, &call, other, same))
    }

    #[inline]
    fn with_kernel(&self, call: &Call, run: impl Fn(&Kernel) -> Result<Tensor, Error>) -> Result<Tensor, Error> {
        self.kernel.run(call.has_work(), |kernel, target| self.others(kernel, target).unwrap_or_default(), run)
    }

    /// Which packed weight it is, for those that share it.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.kernel).addr()
    }

    /// The layer by the other kernels that can compute it.
    fn others(&self, kernel: &Kernel, target: &Target) -> Result<Vec<Kernel>, Error> {
        let (weight, bias) = kernel.dense()?;
        let weight = weight.f_reshape(&self.weight_shape)?;
        let choices = target.conv(layer(&self.weight_shape, &self.params, &self.non_finite, self.act));
        let pack = |choice| {
            Kernel::pack(target, &self.non_finite, choice, &weight, bias.as_ref(), &self.params).ok().flatten()
        };
        Ok(choices.into_iter().filter(|&choice| choice != kernel.choice()).filter_map(pack).collect())
    }

    #[inline]
    fn look_at(&self, x: &Tensor) -> Result<Call, Error> {
        let facts = self.accepts.check(x)?;
        let sizes = facts.sizes();
        let landed = self.window.land(&sizes[sizes.len() - self.axes()..]);
        Ok(Call { facts, landed })
    }

    fn axes(&self) -> usize {
        self.weight_shape.len() - 2
    }

    fn is_batched(&self, call: &Call) -> bool {
        call.facts.sizes().len() == self.axes() + 2
    }

    fn out_channels(&self) -> i64 {
        if self.params.transposed { self.weight_shape[1] * self.params.groups } else { self.weight_shape[0] }
    }

    /// Whether the kernel takes the input as it is.
    fn is_direct(&self, call: &Call) -> bool {
        self.axes() > 1 && self.border.is_none() && self.is_batched(call) && call.has_work()
    }

    fn is_like_result(&self, other: &Tensor, call: &Call) -> bool {
        let Some(facts) = Facts::of(other) else { return false };
        let batch = if self.is_batched(call) { &call.facts.sizes()[..1] } else { &[] };
        let (head, tail) = facts.sizes().split_at(facts.sizes().len().min(batch.len() + 1));
        self.accepts.same_type(&facts)
            && head.split_last().is_some_and(|(&channels, front)| front == batch && channels == self.out_channels())
            && tail == call.landed.sizes()
    }

    /// `same` if `other` has the result's shape.
    fn convolve_add(
        &self,
        kernel: &Kernel,
        x: &Tensor,
        call: &Call,
        other: &Tensor,
        same: bool,
    ) -> Result<Tensor, Error> {
        if same && self.is_direct(call) {
            match kernel {
                Kernel::Cpu(conv) if !self.params.transposed => return Ok(conv.run_add(x, other, self.act)?),
                Kernel::Matrix(conv) => return Ok(conv.run(x, Some(other), self.act)?),
                Kernel::Lt(patches) => {
                    return patches.run(x, Some(other), self.act, self.act.may_fuse(&self.non_finite));
                }
                Kernel::Cudnn(fused) => {
                    return fused.run(x, &self.params, Some(other), self.act, self.act.may_fuse(&self.non_finite));
                }
                Kernel::OnePass(plain) => return plain.in_one_pass(x, &self.params, Some(other), self.act),
                _ => {}
            }
        }
        Ok(self.act.apply_to_sum(self.convolve(kernel, x, call, Activation::None)?, other, same)?)
    }

    fn convolve(&self, kernel: &Kernel, x: &Tensor, call: &Call, act: Activation) -> Result<Tensor, Error> {
        if self.is_direct(call) {
            return self.compute(kernel, x, act);
        }
        let batched = if self.is_batched(call) { x.shallow_clone() } else { x.f_unsqueeze(0)? };
        let padded = match &self.border {
            Some(border) => border.pad(&batched)?,
            None => batched,
        };
        let y = if call.has_work() { self.compute(kernel, &padded, act)? } else { self.without_work(&padded)? };
        Ok(if self.is_batched(call) { y } else { y.f_squeeze_dim(0)? })
    }

    /// A batched input with at least one element in the result, padded where there is a border.
    fn compute(&self, kernel: &Kernel, x: &Tensor, act: Activation) -> Result<Tensor, Error> {
        Ok(match kernel {
            Kernel::Cpu(conv) if self.axes() > 1 => conv.run(x, act)?,
            // Back in the default order, since operators over one axis know no other.
            Kernel::Cpu(conv) => conv.run(&x.f_unsqueeze(2)?, act)?.f_squeeze_dim(2)?.f_contiguous()?,
            Kernel::Matrix(conv) => conv.run(x, None, act)?,
            Kernel::Lt(patches) => patches.run(x, None, act, act.may_fuse(&self.non_finite))?,
            Kernel::Cudnn(fused) => fused.run(x, &self.params, None, act, act.may_fuse(&self.non_finite))?,
            Kernel::OnePass(plain) => plain.in_one_pass(x, &self.params, None, act)?,
            Kernel::Composed(plain) => act.apply(plain.convolution(x, &self.params)?)?,
        })
    }

    /// Nothing to compute, or nothing that can be: libtorch gives the empty result, or says what is wrong. The weight
    /// only has to have the right shape.
    fn without_work(&self, x: &Tensor) -> Result<Tensor, Error> {
        let kind = x.f_kind()?;
        let weight = Tensor::f_zeros([1], (kind, x.device()))?.f_expand(&self.weight_shape, false)?;
        Ok(self.params.convolution(x, &weight, None)?)
    }
}

/// The number of spatial axes, if weight, bias and groups agree.
pub(super) fn check_weight(shape: &[i64], bias: Option<&Tensor>, params: &ConvParams) -> Result<usize, Error> {
    let refuse = |what: String| {
        Err(Error::Unsupported { what, help: "check the layer's weight against its configuration".to_owned() })
    };
    if !(3..=5).contains(&shape.len()) || shape.contains(&0) {
        return refuse(format!("a convolution with a weight of shape {shape:?}"));
    }
    let groups = params.groups.max(1);
    if shape[0] % groups != 0 {
        return refuse(format!("a weight of shape {shape:?} in {groups} groups"));
    }
    let out = if params.transposed { shape[1] * groups } else { shape[0] };
    match bias.map(Tensor::size) {
        Some(found) if found != [out] => refuse(format!("a bias of shape {found:?} for {out} channels")),
        _ => Ok(shape.len() - 2),
    }
}

impl fmt::Debug for Conv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.params.transposed { "ConvTranspose" } else { "Conv" };
        write!(f, "{name}({:?}, {}, {:?})", self.weight_shape, self.kernel, self.act)
    }
}

mod border;
mod cpu;
mod cudnn;
mod kernel;
mod matrix;
mod native;
mod patches;
mod state;
mod tiled;

#[cfg(test)]
mod tests;
