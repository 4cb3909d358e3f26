//! Layers on codes of eight bits: `u8` inputs, `i8` weights, sums of 32 bits, and what follows in the same kernel.

use tch::{Kind, Tensor};

mod folded;
mod strided;

use self::folded::Folded;
use self::strided::Strided;
use super::accepts::Accepts;
use super::{Activation, ConvParams};
use crate::Error;
use crate::ffi::int8::PerTensor;
use crate::ffi::{DirectConv, Geometry, Int8Numbers, Int8Result, Param, PostOp, Sole};
use crate::saved::{Loader, Saver, State};

/// A convolution or linear layer on codes.
#[derive(Debug)]
pub(crate) struct Int8Layer {
    conv: DirectConv,
    /// The layer's window, if `conv` has one over blocks of pixels.
    strided: Option<Strided>,
    post: PostOp,
    accepts: Accepts,
    /// Spatial axes; none of a linear layer.
    axes: usize,
    /// Whether the result is f32.
    yields_floats: bool,
    out: i64,
    kept: Kept,
}

/// What a layer was packed from, beside the codes.
#[derive(Debug)]
struct Kept {
    /// Of the weight.
    shape: Vec<i64>,
    scales: Box<[f32]>,
    bias: Option<Param>,
    window: Option<ConvParams>,
    source: PerTensor,
    added: Option<PerTensor>,
    result: Option<PerTensor>,
    act: Activation,
}

/// What a layer computes, in real numbers.
#[derive(Debug)]
pub(crate) struct Int8Spec<'t> {
    /// `i8[out, in / groups, k..]`, of a linear layer `i8[out, in]`.
    pub(crate) codes: &'t Tensor,
    /// What a weight's code is multiplied by, one number for each output channel.
    pub(crate) scales: &'t [f32],
    /// `[out]`.
    pub(crate) bias: Option<&'t Tensor>,
    /// The window; none of a linear layer.
    pub(crate) window: Option<ConvParams>,
    /// What the input's codes stand for.
    pub(crate) source: PerTensor,
    /// What the codes of a tensor that is added stand for.
    pub(crate) added: Option<PerTensor>,
    /// What the result's codes stand for; none if the result is f32.
    pub(crate) result: Option<PerTensor>,
    pub(crate) act: Activation,
}

impl Int8Layer {
    /// Packs `act(layer(x) + added)`; none where there is no such kernel: oneDNN cannot be called directly, the window
    /// is of a kind that it does not have, or the activation is not one of its.
    ///
    /// # Errors
    ///
    /// Weights and scales that do not fit each other.
    pub(crate) fn pack(spec: &Int8Spec<'_>) -> Result<Option<Self>, Error> {
        let Some(post) = spec.act.post_op() else { return Ok(None) };
        let shape = spec.codes.size();
        let Some((geometry, axes)) = geometry(spec, &shape)? else { return Ok(None) };
        let channels = shape[1] * geometry.groups;
        let weight = match axes {
            0 => spec.codes.f_view([shape[0], shape[1], 1, 1])?,
            1 => spec.codes.f_unsqueeze(2)?,
            _ => spec.codes.shallow_clone(),
        };
        // Floats would feel that the zero point is in the bias, as it is where there is no border.
        let strided = spec.result.and_then(|_| Strided::of(&shape, &geometry, spec.source));
        let (weight, geometry) = match &strided {
            Some(strided) => (strided.weight(&weight)?, Strided::geometry()),
            None => (weight, geometry),
        };
        let folded = Folded::new(spec, post, &geometry)?;
        let Some(post) = folded.post(post) else { return Ok(None) };
        let numbers = Int8Numbers {
            source_zero: folded.source_zero,
            weight_scales: &folded.scales,
            result: folded.result.map_or(Int8Result::Floats, |(scale, zero)| Int8Result::Codes { scale, zero }),
            adds_integers: spec.result.is_some(),
        };
        let Some(conv) = DirectConv::pack_int8(&weight, Some(&folded.bias), &geometry, &numbers) else {
            return Ok(None);
        };
        let conv = conv?;
        if conv.lay_out().is_err() {
            return Ok(None);
        }
        let codes = Tensor::f_zeros([0], (Kind::Uint8, spec.codes.device()))?;
        let ranks = if axes == 0 { 1..=8 } else { axes + 1..=axes + 2 };
        let accepts = Accepts::new(ranks, axes, channels, &codes)?;
        let kept = Kept {
            scales: spec.scales.into(),
            bias: spec.bias.map(Param::copied).transpose()?,
            window: spec.window.clone(),
            source: spec.source,
            added: spec.added,
            result: spec.result,
            act: spec.act,
            shape,
        };
        let out = kept.shape[0];
        Ok(Some(Self { conv, strided, post, accepts, axes, yields_floats: spec.result.is_none(), out, kept }))
    }

    /// `act(layer(x))`, or with `added`, which broadcasts with the result, `act(layer(x) + added)`. The input is codes, the
    /// result codes or f32, and `added` as the result.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`], [`Error::Channels`] or [`Error::Kind`] when `x` does not fit; [`Error::Refused`] if codes that are
    /// added are larger than the result.
    pub(crate) fn run(&self, x: &Tensor, added: Option<&Tensor>) -> Result<Tensor, Error> {
        let facts = self.accepts.check(x)?;
        let sizes = self.result_sizes(facts.sizes());
        let Some(added) = added else { return self.compute(x, None, &sizes) };
        if added.size() == sizes {
            return self.compute(x, Some(added), &sizes);
        }
        if broadcasts(&added.size(), &sizes) {
            return self.compute(x, Some(&added.f_expand(&sizes, true)?), &sizes);
        }
        if self.yields_floats && self.post == PostOp::None {
            return Ok(self.compute(x, None, &sizes)?.f_add(added)?);
        }
        let reason = format!(
            "codes of {:?} added to a result of {sizes:?}; leave the addition in floats by its name",
            added.size()
        );
        Err(Error::Refused(reason))
    }

    /// The same with the result in the memory of `added`, where that can be.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub(crate) fn run_onto(&self, x: &Tensor, added: Sole) -> Result<Tensor, Error> {
        let sizes = self.result_sizes(self.accepts.check(x)?.sizes());
        if added.size() != sizes {
            return self.run(x, Some(&added));
        }
        match self.axes {
            0 => Ok(self.conv.run_rows_onto(x, added, &self.post)?),
            2 | 3 if sizes.len() == self.axes + 2 => {
                Ok(self.conv.run_onto(self.in_blocks(x)?.as_ref().unwrap_or(x), added, &self.post)?)
            }
            _ => self.run(x, Some(&added)),
        }
    }

    fn result_sizes(&self, input: &[i64]) -> Vec<i64> {
        if let (0, Some((_, front))) = (self.axes, input.split_last()) {
            return front.iter().copied().chain([self.out]).collect();
        }
        let is_batched = input.len() == self.axes + 2;
        let mut lifted = if is_batched { input.to_vec() } else { [&[1], input].concat() };
        if self.axes == 1 {
            lifted.insert(2, 1);
        }
        if let Some(strided) = &self.strided {
            lifted = strided.sizes(&lifted);
        }
        let mut sizes = self.conv.result_sizes(&lifted);
        if self.axes == 1 {
            sizes.remove(2);
        }
        if !is_batched {
            sizes.remove(0);
        }
        sizes
    }

    /// The layer on an input that fits, with a tensor of the result's sizes added.
    fn compute(&self, x: &Tensor, added: Option<&Tensor>, sizes: &[i64]) -> Result<Tensor, Error> {
        let is_batched = sizes.len() == self.axes + 2;
        match self.axes {
            0 => return Ok(self.conv.run_rows(x, sizes, added, &self.post)?),
            2 | 3 if is_batched => return self.on_batch(x, added),
            _ => {}
        }
        let lifted = |tensor: &Tensor| -> Result<Tensor, Error> {
            let batched = if is_batched { tensor.shallow_clone() } else { tensor.f_unsqueeze(0)? };
            Ok(if self.axes == 1 { batched.f_unsqueeze(2)? } else { batched })
        };
        let y = self.on_batch(&lifted(x)?, added.map(lifted).transpose()?.as_ref())?;
        // One axis in the default order, since operators over one axis know no other.
        Ok(if self.axes == 1 { y.f_contiguous()?.f_reshape(sizes)? } else { y.f_squeeze_dim(0)? })
    }

    fn on_batch(&self, x: &Tensor, added: Option<&Tensor>) -> Result<Tensor, Error> {
        Ok(self.conv.run(self.in_blocks(x)?.as_ref().unwrap_or(x), added, &self.post)?)
    }

    /// A batch of images in blocks, if the window is over those.
    fn in_blocks(&self, x: &Tensor) -> Result<Option<Tensor>, Error> {
        Ok(self.strided.as_ref().map(|strided| strided.input(x)).transpose()?)
    }

    /// The weight's codes, as they were given.
    fn codes(&self) -> Result<Tensor, Error> {
        let weight = self.conv.dense_weight()?;
        let weight = match &self.strided {
            Some(strided) => strided.dense_weight(&weight)?,
            None => weight,
        };
        Ok(weight.f_reshape(&self.kept.shape)?)
    }
}

/// The sums of codes `i8[out, ..]` over all but the first axis, `i32[out]`.
///
/// libtorch widens all that it sums before it does, so that it gets some rows at a time.
pub(crate) fn channel_sums(codes: &Tensor) -> Result<Tensor, Error> {
    const AT_ONCE: i64 = 1 << 18;
    let out = codes.size()[0];
    let rows = codes.f_reshape([out, -1])?;
    let step = (AT_ONCE / rows.size()[1].max(1)).max(1);
    let starts = (0..out).step_by(usize::try_from(step).unwrap_or(1));
    let sums = starts.map(|start| {
        rows.f_narrow(0, start, step.min(out - start))?.f_sum_dim_intlist([1i64].as_slice(), false, Kind::Int)
    });
    Ok(Tensor::f_cat(&sums.collect::<Result<Vec<_>, _>>()?, 0)?)
}

/// Returns whether a tensor of the first sizes can be expanded to the second.
fn broadcasts(from: &[i64], to: &[i64]) -> bool {
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(from, to)| from == to || *from == 1)
}

/// The window in oneDNN's terms and the number of spatial axes; none of one that it does not have.
fn geometry(spec: &Int8Spec<'_>, shape: &[i64]) -> Result<Option<(Geometry, usize)>, Error> {
    let Some(params) = &spec.window else {
        return Ok((shape.len() == 2).then(|| (Geometry::of_rows(), 0)));
    };
    let axes = shape.len().saturating_sub(2);
    let params = params.expanded(axes)?;
    let zeros = params.padding_mode == crate::nn::PaddingMode::Zeros || params.padding.iter().all(|&width| width == 0);
    if params.transposed || !zeros || !(1..=3).contains(&axes) {
        return Ok(None);
    }
    Ok(Some((super::conv::geometry(&params), axes)))
}

/// A layer is saved as its codes, with all that stands beside them, and packed again where it is loaded.
impl State for Int8Layer {
    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        if to.is_survey() {
            return Ok(());
        }
        let Kept { shape: _, scales, bias, window, source, added, result, act } = &self.kept;
        to.field("codes", &self.codes()?)?;
        to.field("scales", &Tensor::f_from_slice(scales)?)?;
        to.field("has_bias", &bias.is_some())?;
        bias.iter().try_for_each(|bias| to.field("bias", bias))?;
        to.field("window", window)?;
        to.field("source", source)?;
        to.field("added", added)?;
        to.field("result", result)?;
        to.field("act", act)
    }

    fn load(from: &mut Loader) -> Result<Self, Error> {
        let (codes, scales) = (from.dense("codes")?, Vec::<f32>::try_from(from.dense("scales")?)?);
        let has_bias: bool = from.field("has_bias")?;
        let bias = if has_bias { Some(from.dense("bias")?) } else { None };
        let spec = Int8Spec {
            codes: &codes,
            scales: &scales,
            bias: bias.as_ref(),
            window: from.field("window")?,
            source: from.field("source")?,
            added: from.field("added")?,
            result: from.field("result")?,
            act: from.field("act")?,
        };
        Self::pack(&spec)?.ok_or_else(|| Error::Unsupported {
            what: format!("a layer of eight bits ({})", crate::ffi::onednn::int8().err().unwrap_or("of this kind")),
            help: "load the model that was frozen in floats".to_owned(),
        })
    }
}

impl State for PerTensor {
    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        to.field("scale", &self.scale)?;
        to.field("zero_point", &self.zero_point)
    }

    fn load(from: &mut Loader) -> Result<Self, Error> {
        Ok(Self { scale: from.field("scale")?, zero_point: from.field("zero_point")? })
    }
}

#[cfg(test)]
mod tests;
