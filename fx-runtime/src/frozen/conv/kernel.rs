//! The kernels of a convolution and how each is packed.

use tch::{Kind, TchError, Tensor};

use super::cpu::CpuConv;
use super::cudnn::Fused;
use super::matrix::MatrixConv;
use super::patches::Patches;
use crate::ffi::{Geometry, Param, Winograd, ops};
use crate::frame::Target;
use crate::frame::layout::channels_last_of;
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::Packed;
use crate::frozen::one_pass::after_product;
use crate::frozen::select::{ConvChoice, ConvLayer};
use crate::frozen::{Activation, ConvParams};
use crate::{Error, MemoryFormat};

pub(super) enum Kernel {
    /// One-dimensional convolutions run as two-dimensional ones of height 1.
    Cpu(Box<CpuConv>),
    /// Windows of one pixel.
    Matrix(Box<MatrixConv>),
    Lt(Patches),
    Cudnn(Fused),
    OnePass(Plain),
    Composed(Plain),
}

/// A weight as ATen's operators take it.
pub(super) struct Plain {
    pub(super) weight: Param,
    pub(super) bias: Option<Param>,
    /// Channels of the input; the weight has more where it is widened.
    pub(super) channels: i64,
}

/// Images of fewer channels get some of zeros, for which cuDNN has faster kernels.
///
/// Measured in f16 (H200): windows of 7 × 7 pixels in steps of two over 224 × 224 pixels, to 64 channels, take 16 µs for one
/// image of three channels and 8 µs of four; 64 images take 156 and 120 µs. Widening takes 2 and 16 µs.
const WIDE: i64 = 4;

impl Kernel {
    /// None where this machine has no such kernel after all.
    pub(super) fn pack(
        target: &Target,
        non_finite: &NonFinite,
        choice: ConvChoice,
        weight: &Tensor,
        bias: Option<&Tensor>,
        params: &ConvParams,
    ) -> Result<Option<Self>, Error> {
        if choice == ConvChoice::Mkl {
            let conv = MatrixConv::pack(weight, bias, params)?;
            return Ok(conv.map(|conv| Self::Matrix(Box::new(conv))));
        }
        if matches!(choice, ConvChoice::OneDnn | ConvChoice::Winograd) {
            let lifted = if weight.dim() == 3 { weight.f_unsqueeze(2)? } else { weight.shallow_clone() };
            let by_tiles = choice == ConvChoice::Winograd;
            let conv = CpuConv::pack(target, non_finite, &lifted, bias, geometry(params), by_tiles)?;
            return Ok(conv.map(|conv| Self::Cpu(Box::new(conv))));
        }
        if choice == ConvChoice::Lt {
            return Ok(Patches::pack(weight, bias)?.map(Self::Lt));
        }
        let on_cuda = target.device.is_cuda() && target.memory_format == MemoryFormat::ChannelsLast;
        let channels = weight.size()[1];
        let is_narrow = on_cuda
            && matches!(target.kind, Kind::Half | Kind::BFloat16)
            && matches!(choice, ConvChoice::Cudnn | ConvChoice::OnePass)
            && weight.dim() == 4
            && channels < WIDE
            && params.groups == 1
            && !params.transposed;
        let widened = is_narrow.then(|| widened(weight)).transpose()?;
        let weight = widened.as_ref().unwrap_or(weight);
        let weight = match channels_last_of(weight.dim()) {
            Some(format) if on_cuda => Param::new(ops::clone_in(weight, format)?),
            _ => Param::copied(weight)?,
        };
        let plain = Plain { weight, bias: bias.map(Param::copied).transpose()?, channels };
        Ok(Some(match choice {
            ConvChoice::Cudnn => Self::Cudnn(Fused::new(plain)),
            ConvChoice::OnePass => Self::OnePass(plain),
            _ => Self::Composed(plain),
        }))
    }

    /// Weight and bias as they were packed, the weight perhaps with an axis of length 1 more.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), Error> {
        let copied = |bias: &Param| bias.shallow_clone();
        Ok(match self {
            Self::Cpu(conv) => (conv.dense_weight()?, conv.bias().map(copied)),
            Self::Matrix(conv) => conv.dense()?,
            Self::Lt(patches) => patches.dense(),
            Self::Cudnn(Fused { plain, .. }) | Self::OnePass(plain) | Self::Composed(plain) => {
                (plain.own_weight()?, plain.bias.as_ref().map(copied))
            }
        })
    }
}

impl Packed for Kernel {
    type Choice = ConvChoice;

    fn choice(&self) -> ConvChoice {
        match self {
            Self::Cpu(conv) => conv.choice(),
            Self::Matrix(_) => ConvChoice::Mkl,
            Self::Lt(_) => ConvChoice::Lt,
            Self::Cudnn(_) => ConvChoice::Cudnn,
            Self::OnePass(_) => ConvChoice::OnePass,
            Self::Composed(_) => ConvChoice::Composed,
        }
    }
}

impl Plain {
    /// `act(conv(x) + bias + other)`, all that follows the product in one pass.
    pub(super) fn in_one_pass(
        &self,
        x: &Tensor,
        params: &ConvParams,
        other: Option<&Tensor>,
        act: Activation,
    ) -> Result<Tensor, Error> {
        let y = params.convolution(&self.input(x)?, &self.weight, None)?;
        let axes = self.weight.dim() - 2;
        // A number for each channel, over the axes behind it.
        let of_channels = |bias: &Param| bias.f_reshape([&[-1][..], &vec![1; axes]].concat());
        let bias = self.bias.as_ref().map(of_channels).transpose()?;
        after_product(y, bias.as_ref(), other, act)
    }

    /// An input, with as many channels as the weight.
    pub(super) fn input(&self, x: &Tensor) -> Result<Tensor, TchError> {
        if self.weight.size()[1] == self.channels { Ok(x.shallow_clone()) } else { widened(x) }
    }

    /// The weight as it was packed.
    fn own_weight(&self) -> Result<Tensor, TchError> {
        if self.weight.size()[1] == self.channels {
            return Ok(self.weight.shallow_clone());
        }
        self.weight.f_narrow(1, 0, self.channels)
    }

    pub(super) fn convolution(&self, x: &Tensor, params: &ConvParams) -> Result<Tensor, TchError> {
        params.convolution(&self.input(x)?, &self.weight, self.bias.as_deref())
    }
}

/// Images, or windows, of [`WIDE`] channels that lie together, the last ones of zeros.
fn widened(x: &Tensor) -> Result<Tensor, TchError> {
    let (count, channels, height, width) = x.size4()?;
    let strides = [height * width * WIDE, 1, width * WIDE, WIDE];
    let all = Tensor::f_empty_strided([count, WIDE, height, width], strides, (x.f_kind()?, x.device()))?;
    let _ = all.f_narrow(1, channels, WIDE - channels)?.f_zero_()?;
    all.f_narrow(1, 0, channels)?.f_copy_(x)?;
    Ok(all)
}

/// What is known about a convolution with a weight of this shape.
pub(super) fn layer(shape: &[i64], params: &ConvParams, non_finite: &NonFinite, act: Activation) -> ConvLayer {
    let tiles = Winograd::fits(shape, &geometry(params));
    let pixels = is_by_pixel(shape, params).then(|| shape[0] * shape[1]);
    let apart = is_apart(shape, params).then(|| shape[2..].iter().product());
    ConvLayer {
        axes: shape.len() - 2,
        transposed: params.transposed,
        non_finite: non_finite.is_set(),
        act,
        tiles,
        pixels,
        apart,
    }
}

/// Returns whether a convolution over two axes multiplies windows that stand side by side with one matrix.
fn is_apart(shape: &[i64], params: &ConvParams) -> bool {
    shape.len() == 4
        && shape[2..] == *params.stride
        && params.padding.iter().all(|&width| width == 0)
        && params.dilation.iter().all(|&step| step == 1)
        && params.groups == 1
        && !params.transposed
}

/// Whether a convolution over two or three axes multiplies each pixel with one matrix.
fn is_by_pixel(shape: &[i64], params: &ConvParams) -> bool {
    shape.len() > 3
        && shape[2..].iter().all(|&size| size == 1)
        && params.padding.iter().all(|&width| width == 0)
        && params.groups == 1
        && !params.transposed
}

/// In oneDNN's terms; one spatial axis becomes two, the first of length 1.
pub(in crate::frozen) fn geometry(params: &ConvParams) -> Geometry {
    let list = |values: &[i64], first: i64| match values {
        [only] => Box::from([first, *only]),
        values => Box::from(values),
    };
    Geometry {
        stride: list(&params.stride, 1),
        padding: list(&params.padding, 0),
        dilation: list(&params.dilation, 1),
        output_padding: params.transposed.then(|| list(&params.output_padding, 0)),
        groups: params.groups,
    }
}
