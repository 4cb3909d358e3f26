//! Weights as integers, activations in floats: linear layers that read an eighth to a quarter of the memory.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::{DType, ObserverConfig, QConfig, QParams, QScheme, weighted};
use crate::ffi::operator::{self, Operator};
use crate::graph_module::{FromValue, GraphModule, Submodule, Value};
use crate::nn;
use crate::{Error, Module, Result};

/// How weights are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    /// A signed byte each, and a symmetric scale for each output channel (`default_per_channel_weight_observer`).
    Int8,
    /// Half a byte each, and a scale and a real zero point for each `group` inputs of an output channel
    /// (`per_channel_affine_float_qparams` on `quint4x2`, the group being the channel).
    Int4 {
        /// How many weights have one scale; the number of inputs is a multiple of it, and it is even.
        group: i64,
    },
}

/// A linear layer whose weight is integers: `[.., in]` to `[.., out]`.
#[derive(Debug)]
pub struct WeightOnlyLinear {
    format: WeightFormat,
    /// `i8[out, in]`; of four bits `u8[out, in / 2]`, the first of two in the low half.
    codes: Tensor,
    /// `f32[out]`, or `f32[out, in / group, 1]`.
    scale: Tensor,
    /// `f32[out, in / group, 1]`, of four bits alone.
    zero_point: Option<Tensor>,
    bias: Option<Tensor>,
}

impl WeightOnlyLinear {
    /// Quantizes a layer.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the weight is not finite, or its inputs do not fall into such groups.
    pub fn new(layer: &nn::Linear, format: WeightFormat) -> Result<WeightOnlyLinear> {
        let weight = weighted::observed(&layer.ws)?.f_contiguous()?;
        let bias = layer.bs.as_ref().map(weighted::observed).transpose()?;
        match format {
            WeightFormat::Int8 => {
                let of = learned(&QConfig::weight_per_channel(), &weight)?;
                let scale = Tensor::f_from_slice(&of.scale)?.f_to_device(weight.device())?;
                Ok(WeightOnlyLinear { format, codes: of.quantize(&weight)?, scale, zero_point: None, bias })
            }
            WeightFormat::Int4 { group } => int4(&weight, group, bias),
        }
    }

    /// The bytes of codes, scales and zero points.
    pub fn bytes(&self) -> usize {
        let size = |tensor: &Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        size(&self.codes) + size(&self.scale) + self.zero_point.as_ref().map_or(0, size)
    }

    /// The weight that the integers stand for, `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn weight(&self) -> Result<Tensor> {
        let Some(zero_point) = &self.zero_point else {
            return Ok(self.codes.f_to_kind(Kind::Float)?.f_mul(&self.scale.f_unsqueeze(1)?)?);
        };
        let rows = self.codes.size()[0];
        let low = self.codes.f_bitwise_and(0x0F)?;
        let high = self.codes.f_bitwise_right_shift_tensor_scalar(4)?;
        let codes = Tensor::f_stack(&[low, high], 2)?.f_view([rows, self.scale.size()[1], -1])?;
        let codes = codes.f_to_kind(Kind::Float)?.f_sub(zero_point)?;
        Ok(codes.f_mul(&self.scale)?.f_view([rows, -1])?)
    }

    /// Applies the layer to `f32[.., in]`.
    ///
    /// Eight bits on a CPU are libtorch's `_weight_int8pack_mm`; otherwise the weight is dequantized for the call.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses, as a rule a shape.
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        if self.format != WeightFormat::Int8 || xs.device() != tch::Device::Cpu || xs.requires_grad() {
            return Ok(xs.f_linear(&self.weight()?, self.bias.as_ref())?);
        }
        let mut shape = xs.size();
        let rows = xs.f_reshape([-1, self.codes.size()[1]])?.f_contiguous()?;
        let args = [&rows, &self.codes, &self.scale].map(operator::Value::from);
        let results = Operator::find("aten::_weight_int8pack_mm", "")?.call(&args)?;
        let Some(operator::Value::Tensor(ys)) = results.into_iter().next() else {
            return Err(Error::Refused("`_weight_int8pack_mm` yields no tensor".to_owned()));
        };
        let ys = self.bias.as_ref().map_or(Ok(ys.shallow_clone()), |bias| ys.f_add(bias))?;
        if let Some(last) = shape.last_mut() {
            *last = self.codes.size()[0];
        }
        Ok(ys.f_view(shape.as_slice())?)
    }
}

/// Two codes a byte, and a scale and a zero point a group.
fn int4(weight: &Tensor, group: i64, bias: Option<Tensor>) -> Result<WeightOnlyLinear> {
    let [rows, columns] = weight.size()[..] else {
        return Err(Error::Refused("the weight of a linear layer has two axes".to_owned()));
    };
    if group < 2 || group % 2 != 0 || columns % group != 0 {
        let reason = format!("{columns} inputs do not fall into groups of {group}, which has to be even");
        return Err(Error::Quantization { site: "weight".to_owned(), reason });
    }
    let observer = ObserverConfig::per_channel_min_max(0).dtype(DType::QUInt4x2);
    let of = learned(&observer.qscheme(QScheme::PerChannelAffineFloatQParams), &weight.f_view([-1, group])?)?;
    let codes = of.quantize(&weight.f_view([-1, group])?)?.f_view([rows, columns / 2, 2])?;
    let packed =
        codes.f_select(2, 1)?.f_bitwise_left_shift_tensor_scalar(4)?.f_bitwise_or_tensor(&codes.f_select(2, 0)?)?;
    let each = |numbers: &[f32]| -> Result<Tensor> {
        let tensor = Tensor::f_from_slice(numbers)?.f_to_device(weight.device())?;
        Ok(tensor.f_view([rows, columns / group, 1])?)
    };
    let zero_point = match &of.zero_point {
        super::ZeroPoint::Float(zero) => each(zero)?,
        super::ZeroPoint::Int(_) => return Err(Error::Refused("the scheme has real zero points".to_owned())),
    };
    let format = WeightFormat::Int4 { group };
    Ok(WeightOnlyLinear { format, codes: packed, scale: each(&of.scale)?, zero_point: Some(zero_point), bias })
}

fn learned(observer: &ObserverConfig, weight: &Tensor) -> Result<QParams> {
    let mut observer = observer.build()?;
    observer.observe(weight)?;
    observer.calculate_qparams()
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

/// A graph whose linear layers, those of a path that `keep` holds for, keep their weights as integers.
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
        let Some(layer) = layer.as_any().and_then(|any| any.downcast_ref::<nn::Linear>()) else { continue };
        let named = |error: Error| Error::Quantization { site: format!("{path}.weight"), reason: error.to_string() };
        quantized.add_submodule(path, WeightOnlyLinear::new(layer, format).map_err(named)?);
    }
    Ok(quantized)
}
