//! A layer that trains with a fake-quantized weight, into which the batch norm behind it is folded.

use std::cell::Cell;
use std::rc::Rc;

use tch::Tensor;

use super::super::{FakeQuantizer, weighted};
use crate::graph_module::{FromValue, Submodule, Value};
use crate::module::{Place, Visitor};
use crate::nn::{BatchNorm, Layer};
use crate::{Error, Module, Result};

/// A batch norm with a mode of its own, whose tensors are those of the live model's.
pub(super) struct Norm {
    norm: BatchNorm,
    /// Whether its statistics stay as they are, whatever the mode.
    is_frozen: Cell<bool>,
}

/// Layer, fake quantization and batch norm as one: PyTorch's `qat.Linear`, `qat.Conv2d`, `LinearBn1d`, `ConvBn2d` and the
/// like, by what is there.
///
/// Inference multiplies with `weight * bn.weight / sqrt(running_var + eps)`, and so that is what is quantized. What it
/// yields is divided by the same factor, so that the norm sees the layer's own results: with the batch's statistics in
/// training and the running ones in inference.
///
/// Source: `_ConvBnNd._forward_approximate` and `LinearBn1d.forward` of torch 2.11, in the order of their operations, after
/// "Quantizing deep convolutional networks for efficient inference" (arXiv 1806.08342, section 3.2.2).
pub(super) struct QatLayer {
    layer: Rc<dyn Submodule>,
    /// None of a layer whose weight stays in floats.
    weight_fake_quant: Option<Rc<dyn FakeQuantizer>>,
    norm: Option<Norm>,
}

impl QatLayer {
    /// The layer, and the norm that is folded into it.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the second module is no batch norm.
    pub(super) fn new(
        layer: Rc<dyn Submodule>,
        norm: Option<&dyn Submodule>,
        weight_fake_quant: Option<Rc<dyn FakeQuantizer>>,
    ) -> Result<QatLayer> {
        let own = |norm: &dyn Submodule| -> Result<Norm> {
            let norm = norm.as_any().and_then(|norm| norm.downcast_ref::<BatchNorm>());
            let norm = norm.ok_or_else(|| Error::Refused("a batch norm is none after all".to_owned()))?;
            Ok(Norm { norm: Module::shallow_clone(norm)?, is_frozen: Cell::new(false) })
        };
        Ok(QatLayer { layer, weight_fake_quant, norm: norm.map(own).transpose()? })
    }

    /// Keeps the norm's statistics as they are and normalizes with them, or no longer: PyTorch's `freeze_bn_stats` and
    /// `update_bn_stats`.
    pub(super) fn freeze_bn_stats(&self, is_frozen: bool) {
        if let Some(Norm { norm, is_frozen: switch }) = &self.norm {
            switch.set(is_frozen);
            norm.set_training(!is_frozen);
        }
    }

    fn forward(&self, args: &[Value]) -> Result<Tensor> {
        let none = || Error::Refused("a layer with a weight has none".to_owned());
        let weight = weighted::weight(&*self.layer).ok_or_else(none)?;
        let bias = weighted::bias(&*self.layer);
        let Some(norm) = self.norm.as_ref().map(|norm| &norm.norm) else {
            return applied(&*self.with(self.quantized(weight)?, bias).ok_or_else(none)?, args);
        };
        let is_training = norm.training() == Some(true);
        let own = if self.weight_fake_quant.is_some() {
            let scale = scale(norm)?;
            let axis = weighted::channel_axis(&*self.layer);
            let scaled = self.quantized(&weight.f_mul(&along(&scale, axis, weight.dim())?)?)?;
            let ys = applied(&*self.with(scaled, None).ok_or_else(none)?, args)?;
            if ys.dim() != weight.dim() {
                let reason = format!("takes a batch of {} axes, got {}", weight.dim(), ys.dim());
                return Err(Error::Refused(format!("a layer with a batch norm behind it {reason}")));
            }
            let own = ys.f_div(&along(&scale, 1, ys.dim())?)?;
            bias.map_or(Ok(own.shallow_clone()), |bias| own.f_add(&along(bias, 1, own.dim())?))?
        } else {
            applied(&*self.layer, args)?
        };
        Ok(norm.f_forward_t(&own, is_training)?)
    }

    fn quantized(&self, weight: &Tensor) -> Result<Tensor> {
        self.weight_fake_quant.as_ref().map_or_else(|| Ok(weight.shallow_clone()), |fake| fake.forward(weight))
    }

    fn with(&self, weight: Tensor, bias: Option<&Tensor>) -> Option<Rc<dyn Submodule>> {
        weighted::with_weight(&*self.layer, weight, bias.map(Tensor::shallow_clone))
    }
}

/// What inference multiplies each channel by, `[channels]`.
fn scale(norm: &BatchNorm) -> Result<Tensor> {
    let deviation = norm.running_var.f_add_scalar(norm.config.eps)?.f_sqrt()?;
    Ok(norm.ws.as_ref().map_or_else(|| deviation.f_reciprocal(), |ws| ws.f_div(&deviation))?)
}

/// The vector along that axis of as many.
fn along(vector: &Tensor, axis: usize, rank: usize) -> Result<Tensor> {
    let mut shape = vec![1; rank];
    if let Some(size) = shape.get_mut(axis) {
        *size = -1;
    }
    Ok(vector.f_reshape(shape)?)
}

fn applied(layer: &dyn Submodule, args: &[Value]) -> Result<Tensor> {
    let none = || Error::Refused("a layer yields no tensor".to_owned());
    <Tensor>::from_value(&layer.call(args)?).ok_or_else(none)
}

impl Submodule for QatLayer {
    fn call(&self, args: &[Value]) -> Result<Value> {
        Ok(Value::Tensor(Rc::new(self.forward(args)?)))
    }

    fn module(&self) -> Option<&dyn Module> {
        Some(self)
    }
}

/// The layer's parameters under its own names and the norm's under `bn`, as in PyTorch.
impl Module for QatLayer {
    fn type_name(&self) -> &'static str {
        "QatLayer"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        if let Some(layer) = self.layer.module() {
            visitor.wrapped(layer);
        }
        if let Some(norm) = &self.norm {
            visitor.child("bn", &norm.norm);
        }
    }

    fn placed(&self, _: &mut Place<'_>) -> Result<Self> {
        Err(Error::NotCloneable { what: "a layer in quantization-aware training".to_owned() })
    }

    fn set_training(&self, training: bool) {
        if let Some(norm) = self.norm.as_ref().filter(|norm| !norm.is_frozen.get()) {
            norm.norm.set_training(training);
        }
    }

    fn training(&self) -> Option<bool> {
        self.norm.as_ref().and_then(|norm| norm.norm.training())
    }
}
