//! Weights as integers, activations in floats: linear layers and embeddings in an eighth to a quarter of the memory.

use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::{WeightFormat, weighted};
use crate::frozen::coded_table::CodedTable;
use crate::frozen::{Activation, PackedMatrix};
use crate::graph_module::{FromValue, GraphModule, SharedModule, Submodule, Value};
use crate::nn;
use crate::qparams::Coded;
use crate::{Error, Module, Result};

/// A linear layer whose weight is integers: `[.., in]` to `[.., out]`.
///
/// In a frozen model it is [`Freeze::quantize_weights`](crate::Freeze::quantize_weights) that keeps weights so.
#[derive(Debug)]
pub struct WeightOnlyLinear {
    coded: Coded,
    bias: Option<Tensor>,
    /// What multiplies on the CPU; none where it has no registers for it, or the shape does not fit.
    kernel: Option<PackedMatrix>,
}

impl WeightOnlyLinear {
    /// Quantizes a layer.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the weight is not finite, or its inputs do not fall into such groups.
    pub fn new(layer: &nn::Linear, format: WeightFormat) -> Result<WeightOnlyLinear> {
        let coded = Coded::of(&weighted::observed(&layer.ws)?, format)?;
        let bias = layer.bs.as_ref().map(weighted::observed).transpose()?;
        let is_on_cpu = layer.ws.device() == tch::Device::Cpu;
        let kernel = if is_on_cpu { PackedMatrix::for_codes(&coded, bias.as_ref())? } else { None };
        Ok(WeightOnlyLinear { coded, bias, kernel })
    }

    /// The bytes of codes, scales and zero points.
    pub fn bytes(&self) -> usize {
        self.coded.bytes()
    }

    /// The weight that the integers stand for, `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn weight(&self) -> Result<Tensor> {
        self.coded.dense()
    }

    /// Applies the layer to `f32[.., in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses, as a rule a shape.
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let [out, columns] = self.coded.shape();
        let is_plain = xs.kind() == Kind::Float && xs.device() == tch::Device::Cpu && !xs.requires_grad();
        let kernel = self.kernel.as_ref().filter(|_| is_plain && xs.numel() > 0 && xs.size().last() == Some(&columns));
        let Some(kernel) = kernel else {
            return Ok(xs.f_linear(&self.weight()?, self.bias.as_ref())?);
        };
        let mut sizes = xs.size();
        if let Some(last) = sizes.last_mut() {
            *last = out;
        }
        Ok(kernel.run(xs, &sizes, None, Activation::None)?)
    }
}

impl Submodule for WeightOnlyLinear {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let refused = || Error::Refused("`WeightOnlyLinear` takes one tensor".to_owned());
        let xs = args.first().and_then(<&Tensor>::from_value).ok_or_else(refused)?;
        Ok(Value::Tensor(Rc::new(self.forward(xs)?)))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

/// An embedding whose table is integers: indices of any shape to the same shape with one more axis, the vector.
///
/// A symmetric scale for each vector, or of four bits a scale and a real zero point for each group of a vector; with a group as
/// long as a vector that is PyTorch's `quint4x2` with `float_qparams_weight_only_qconfig_4bit`.
#[derive(Debug)]
pub struct WeightOnlyEmbedding(CodedTable);

impl WeightOnlyEmbedding {
    /// Quantizes an embedding.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the table is not finite, or its vectors do not fall into such groups.
    pub fn new(layer: &nn::Embedding, format: WeightFormat) -> Result<WeightOnlyEmbedding> {
        CodedTable::new(layer, format).map(WeightOnlyEmbedding)
    }

    /// The bytes of codes, scales and zero points.
    pub fn bytes(&self) -> usize {
        self.0.coded().bytes()
    }

    /// The table that the integers stand for, `f32[num_embeddings, embedding_dim]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn weight(&self) -> Result<Tensor> {
        self.0.coded().dense()
    }

    /// The vectors of `i64[..]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if an index is none of the table's, or no integer.
    pub fn forward(&self, indices: &Tensor) -> Result<Tensor> {
        self.0.run(indices)
    }
}

impl Submodule for WeightOnlyEmbedding {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let refused = || Error::Refused("`WeightOnlyEmbedding` takes one tensor of indices".to_owned());
        let indices = args.first().and_then(<&Tensor>::from_value).ok_or_else(refused)?;
        Ok(Value::Tensor(Rc::new(self.forward(indices)?)))
    }

    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        Some(Ok(Arc::new(self.0.clone())))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

/// A graph whose linear layers and embeddings, those of a path that `keep` holds for, keep their weights as integers.
///
/// # Errors
///
/// [`Error::Quantization`] with the layer if its weight cannot be kept so.
pub fn quantize_weights(
    module: &GraphModule,
    format: WeightFormat,
    keep: impl Fn(&str) -> bool,
) -> Result<GraphModule> {
    let mut quantized = module.shallow_clone();
    for (path, layer) in module.named_submodules().filter(|(path, _)| keep(path)) {
        let named = |error: Error| Error::Quantization { site: format!("{path}.weight"), reason: error.to_string() };
        let Some(any) = layer.as_any() else { continue };
        if let Some(layer) = any.downcast_ref::<nn::Linear>() {
            quantized.add_submodule(path, WeightOnlyLinear::new(layer, format).map_err(named)?);
        } else if let Some(layer) = any.downcast_ref::<nn::Embedding>() {
            quantized.add_submodule(path, WeightOnlyEmbedding::new(layer, format).map_err(named)?);
        }
    }
    Ok(quantized)
}
