//! Channels of values and weights: how large they are, and how they are scaled.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::groups::{Axis, Group};
use crate::graph_module::GraphModule;
use crate::qparams::Equalization;
use crate::quant::reference::missing;
use crate::quant::weighted;
use crate::{Error, Result, nn};

/// The largest size of each channel so far, `f64[channels]`.
#[derive(Default)]
pub(super) struct Ranges(Option<Tensor>);

impl Ranges {
    pub(super) fn add(&mut self, more: &Tensor) -> Result<()> {
        self.0 = Some(match self.0.take() {
            Some(known) => known.f_maximum(more)?,
            None => more.shallow_clone(),
        });
        Ok(())
    }

    /// What was added; none if nothing was.
    pub(super) fn all(&self) -> Option<&Tensor> {
        self.0.as_ref()
    }
}

/// The largest size of each channel of a value, `f64[channels]`.
pub(super) fn range_along(value: &Tensor, axis: Axis) -> Result<Tensor> {
    let rows = value.f_detach()?.f_to_kind(Kind::Double)?.f_abs()?;
    let channels = match axis {
        Axis::Second => rows.f_transpose(1, -1)?,
        Axis::Last => rows,
    };
    let count = channels.size().last().copied().unwrap_or(1);
    Ok(channels.f_reshape([-1, count])?.f_amax([0i64].as_slice(), false)?)
}

/// `a^alpha / b^(1 - alpha)`, and 1 where one of both is 0.
pub(super) fn quotient(a: &Tensor, b: &Tensor, alpha: f64) -> Result<Tensor> {
    let factors = a.f_pow_tensor_scalar(alpha)?.f_div(&b.f_pow_tensor_scalar(1.0 - alpha)?)?;
    let is_plain = a.f_gt(0.0)?.f_logical_and(&b.f_gt(0.0)?)?;
    Ok(factors.f_where_self(&is_plain, &factors.f_ones_like()?)?)
}

impl Group {
    /// The largest weight of each channel that the layers yield, `f64[channels]`.
    pub(super) fn producer_ranges(&self, module: &GraphModule) -> Result<Tensor> {
        let mut ranges = Ranges::default();
        for path in &self.producers {
            let weight = output_rows(module, path).ok_or_else(|| missing(path))?;
            ranges.add(&largest_of_rows(&weight?)?)?;
        }
        ranges.all().map(Tensor::shallow_clone).ok_or_else(|| missing("producers"))
    }

    /// The largest weight of each channel that the layers read, `f64[channels]`.
    pub(super) fn consumer_ranges(&self, module: &GraphModule) -> Result<Tensor> {
        let mut ranges = Ranges::default();
        for path in &self.consumers {
            let weight = input_rows(module, path).ok_or_else(|| missing(path))?;
            ranges.add(&largest_of_rows(&weight?)?)?;
        }
        ranges.all().map(Tensor::shallow_clone).ok_or_else(|| missing("consumers"))
    }

    /// The group with these factors.
    pub(super) fn with(&self, factors: &Tensor) -> Result<Equalization> {
        let factors = Vec::try_from(factors.f_to_kind(Kind::Float)?)?;
        Ok(Equalization { producers: self.producers.clone(), consumers: self.consumers.clone(), factors })
    }
}

impl Equalization {
    /// Divides the weights and biases of the producers by the factors, and multiplies the weights of the consumers.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] with the weight that is not there, or has another number of channels.
    pub(super) fn scale_weights(&self, module: &mut GraphModule) -> Result<()> {
        let factors = Tensor::f_from_slice(&self.factors)?;
        for path in &self.producers {
            self.check_channels(path, output_channels(module, path))?;
            divide_results(module, path, &factors)?;
        }
        for path in &self.consumers {
            self.check_channels(path, input_channels(module, path))?;
            let weight = input_rows(module, path).ok_or_else(|| missing(path))??;
            let mut column = vec![1; weight.dim()];
            column[0] = -1;
            let scaled = weight.f_mul(&factors.f_to_device(weight.device())?.f_view(column.as_slice())?)?;
            put_input_rows(module, path, &scaled)?;
        }
        Ok(())
    }

    fn check_channels(&self, path: &str, found: Option<i64>) -> Result<()> {
        let found = found.ok_or_else(|| missing(path))?;
        if i64::try_from(self.factors.len()) == Ok(found) {
            return Ok(());
        }
        let reason = format!("its {found} channels are to be scaled by {} factors", self.factors.len());
        Err(Error::Quantization { site: path.to_owned(), reason })
    }
}

/// Divides what a layer or a norm yields.
fn divide_results(module: &mut GraphModule, path: &str, factors: &Tensor) -> Result<()> {
    let at = path.strip_suffix(".weight").unwrap_or(path).to_owned();
    let scaled: Rc<dyn crate::graph_module::Submodule> = {
        let layer = module.submodule(&at).ok_or_else(|| missing(path))?;
        if let Some(norm) = layer.as_any().and_then(|any| any.downcast_ref::<nn::LayerNorm>()) {
            let divided =
                |of: &Option<Tensor>| of.as_ref().map(|of| of.f_div(&factors.f_to_device(of.device())?)).transpose();
            let (ws, bs) = (divided(&norm.ws)?, divided(&norm.bs)?);
            Rc::new(nn::LayerNorm { config: norm.config, ws, bs, normalized_shape: norm.normalized_shape.clone() })
        } else {
            let weight = weighted::weight(layer).ok_or_else(|| missing(path))?;
            let factors = factors.f_to_device(weight.device())?;
            let mut row = vec![1; weight.dim()];
            row[0] = -1;
            let ws = weight.f_div(&factors.f_view(row.as_slice())?)?;
            let bs = weighted::bias(layer).map(|bias| bias.f_div(&factors)).transpose()?;
            weighted::with_weight(layer, ws, bs).ok_or_else(|| missing(path))?
        }
    };
    module.put_submodule(at, scaled);
    Ok(())
}

/// A weight and the number of its groups.
struct Weight {
    tensor: Tensor,
    groups: i64,
}

/// The weight of a layer whose output channels come first, or of a product with a tensor of the model.
fn weight(module: &GraphModule, path: &str) -> Option<Weight> {
    let Some(layer) = path.strip_suffix(".weight").and_then(|path| module.submodule(path)) else {
        let tensor = module.tensor(path).filter(|tensor| tensor.dim() == 2)?.shallow_clone();
        return Some(Weight { tensor, groups: 1 });
    };
    let tensor = weighted::weight(layer).filter(|_| weighted::channel_axis(layer) == 0)?.shallow_clone();
    Some(Weight { tensor, groups: weighted::groups(layer) })
}

/// The norm over the last axis alone, if the path is of the weight of one.
fn row_norm<'m>(module: &'m GraphModule, path: &str) -> Option<&'m nn::LayerNorm> {
    let layer = module.submodule(path.strip_suffix(".weight")?)?.as_any()?.downcast_ref::<nn::LayerNorm>()?;
    (layer.ws.is_some() && layer.normalized_shape.len() == 1).then_some(layer)
}

/// The number of channels that a layer or norm yields; none if it cannot divide them.
pub(super) fn output_channels(module: &GraphModule, path: &str) -> Option<i64> {
    if let Some(norm) = row_norm(module, path) {
        return norm.normalized_shape.first().copied();
    }
    weight(module, path).map(|weight| weight.tensor.size()[0])
}

/// The number of channels that a layer reads; none if it cannot take factors back.
pub(super) fn input_channels(module: &GraphModule, path: &str) -> Option<i64> {
    weight(module, path).map(|weight| weight.tensor.size()[1] * weight.groups)
}

/// Along which axis a layer or norm yields its channels; none if it cannot divide them.
pub(super) fn produced_axis(module: &GraphModule, path: &str) -> Option<Axis> {
    if row_norm(module, path).is_some() {
        return Some(Axis::Last);
    }
    weight(module, path).map(|weight| if weight.tensor.dim() == 2 { Axis::Last } else { Axis::Second })
}

/// The weight of a layer, `[out, ..]`.
fn output_rows(module: &GraphModule, path: &str) -> Option<Result<Tensor>> {
    if let Some(norm) = row_norm(module, path) {
        return norm.ws.as_ref().map(weighted::observed);
    }
    weight(module, path).map(|weight| weighted::observed(&weight.tensor))
}

/// The weight with its input channels first: `[in, out / groups, ..]`.
fn input_rows(module: &GraphModule, path: &str) -> Option<Result<Tensor>> {
    let Weight { tensor, groups } = weight(module, path)?;
    let rows = || -> Result<Tensor> {
        let size = tensor.size();
        let grouped = tensor.f_reshape([&[groups, size[0] / groups], &size[1..]].concat())?.f_transpose(1, 2)?;
        Ok(grouped.f_reshape([&[groups * size[1], size[0] / groups], &size[2..]].concat())?)
    };
    Some(rows())
}

/// Puts a weight with its input channels first in the place of the one that is there.
fn put_input_rows(module: &mut GraphModule, path: &str, rows: &Tensor) -> Result<()> {
    let Weight { tensor, groups } = weight(module, path).ok_or_else(|| missing(path))?;
    let size = tensor.size();
    let grouped = rows.f_reshape([&[groups, size[1], size[0] / groups], &size[2..]].concat())?;
    let scaled = grouped.f_transpose(1, 2)?.f_reshape(&size)?.f_to_kind(tensor.kind())?;
    let Some(at) = path.strip_suffix(".weight").filter(|path| module.submodule(path).is_some()).map(str::to_owned)
    else {
        module.add_tensor(path, scaled);
        return Ok(());
    };
    let layer = module.submodule(&at).ok_or_else(|| missing(path))?;
    let bias = weighted::bias(layer).map(Tensor::shallow_clone);
    let scaled = weighted::with_weight(layer, scaled, bias).ok_or_else(|| missing(path))?;
    module.put_submodule(at, scaled);
    Ok(())
}

/// The largest size in each row, `f64[rows]`.
fn largest_of_rows(weight: &Tensor) -> Result<Tensor> {
    Ok(weight.f_to_kind(Kind::Double)?.f_abs()?.f_reshape([weight.size()[0], -1])?.f_amax([1i64].as_slice(), false)?)
}
