//! A linear layer whose input becomes integers at each call.

use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use super::parameters::choose_qparams;
use crate::ffi::int8::{self, PerTensor, Rounding};
use crate::frozen::int8::channel_sums;
use crate::frozen::integer_product::IntegerProduct;
use crate::graph_module::{FromValue, Submodule, Value};
use crate::nn;
use crate::quant::{DType, ObserverConfig, QConfig, QScheme, Statistic, weighted};
use crate::{Error, Module, Result};

/// A linear layer with an integer weight, `[.., in]` to `[.., out]`, whose input becomes integers at each call.
///
/// ```
/// use fx_runtime::quant::{DynamicLinear, QConfig};
/// use fx_runtime::{Device, Kind, Tensor, nn};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let layer = nn::linear(vs.root(), 64, 16, nn::LinearConfig::default());
/// let quantized = DynamicLinear::new(&layer, &QConfig::dynamic())?;
/// let xs = Tensor::randn([2, 5, 64], (Kind::Float, Device::Cpu));
/// let ys = quantized.forward(&xs)?;
/// assert_eq!(ys.size(), [2, 5, 16]);
/// assert!((ys - xs.apply(&layer)).abs().max().double_value(&[]) < 0.1);
/// # Ok::<(), fx_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct DynamicLinear {
    /// `i8`, in and out.
    product: IntegerProduct,
    size: [i64; 2],
    /// The sums of the codes over the inputs, `i32[out]`.
    sums: Tensor,
    /// `f32[out]`.
    scale: Tensor,
    /// `f32[out]`.
    bias: Option<Tensor>,
    reduce_range: bool,
    is_per_token: bool,
}

impl DynamicLinear {
    /// Quantizes a layer as one of [`QConfig::dynamic`] and its kin says.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the configuration is no dynamic one with a symmetric `qint8` weight of its own scale for each
    /// output or one for all, or the weight is not finite.
    pub fn new(layer: &nn::Linear, qconfig: &QConfig) -> Result<DynamicLinear> {
        let QConfig { activation, weight: config } = qconfig;
        let is_per_token = check(activation, config)?;
        DynamicLinear::of(&layer.ws, layer.bs.as_ref(), (config, activation.reduce_range, is_per_token))
    }

    /// Quantizes a weight `[out, in]`, of a layer with inputs of a reduced range or not, by token or as a whole.
    pub(super) fn of(
        weight: &Tensor,
        bias: Option<&Tensor>,
        (config, reduce_range, is_per_token): (&ObserverConfig, bool, bool),
    ) -> Result<DynamicLinear> {
        let weight = weighted::observed(weight)?;
        let [out, input] = weight.size()[..] else {
            return Err(Error::Refused(format!("a weight of {:?}, which has not two axes", weight.size())));
        };
        let mut observer = config.build()?;
        observer.observe(&weight)?;
        let of = observer.calculate_qparams()?;
        let codes = of.quantize(&weight)?.f_contiguous()?;
        let sums = channel_sums(&codes)?;
        let scale =
            Tensor::f_from_slice(&of.scale)?.f_expand([out], false)?.f_contiguous()?.f_to_device(weight.device())?;
        let bias = bias.map(weighted::observed).transpose()?;
        let product = IntegerProduct::new(&codes)?;
        Ok(DynamicLinear { product, size: [input, out], sums, scale, bias, reduce_range, is_per_token })
    }

    /// The weight that the integers stand for, `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn weight(&self) -> Result<Tensor> {
        Ok(self.product.codes()?.f_to_kind(Kind::Float)?.f_mul(&self.scale.f_unsqueeze(1)?)?)
    }

    /// Applies the layer to `[.., in]` of any floating dtype, which the result has too; no gradients are recorded.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the input is not finite; [`Error::Torch`] if libtorch refuses, as a rule a shape.
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let ([input, out], mut shape) = (self.size, xs.size());
        if shape.last() != Some(&input) {
            let reason = format!("`DynamicLinear` of {input} inputs takes [.., {input}], got {shape:?}");
            return Err(Error::Refused(reason));
        }
        if let Some(last) = shape.last_mut() {
            *last = out;
        }
        let rows = xs.f_to_kind(Kind::Float)?.f_reshape([-1, input])?;
        if rows.numel() == 0 {
            return Ok(Tensor::f_zeros(shape, (xs.kind(), xs.device()))?);
        }
        let parameters = self.parameters(&rows)?;
        let ys = if rows.device() == Device::Cpu {
            let rounding = if self.reduce_range { Rounding::WithZero } else { Rounding::BeforeZero };
            let codes = int8::quantize_rows(&rows, &parameters, rounding)?;
            let sums = self.product.sums(&codes, out)?;
            int8::dequantize_sums(&sums, &parameters, (&self.sums, &self.scale, self.bias.as_ref()))?
        } else {
            self.composed(&rows, &parameters)?
        };
        Ok(ys.f_to_kind(xs.kind())?.f_view(shape.as_slice())?)
    }

    /// What an input is rounded to: an entry for each token, or one for all.
    fn parameters(&self, rows: &Tensor) -> Result<Vec<PerTensor>> {
        let (min, max) = if self.is_per_token { rows.f_aminmax(1, false)? } else { rows.f_aminmax(None, false)? };
        let numbers = |of: Tensor| -> Result<Vec<f32>> { Ok(Vec::try_from(of.f_reshape([-1])?)?) };
        let bounds = numbers(min)?.into_iter().zip(numbers(max)?);
        let last = DType::QUInt8.range(self.reduce_range).quant_max;
        bounds.map(|(min, max)| choose_qparams(min, max, last)).collect()
    }

    /// The layer on `f32[rows, in]` by libtorch's operators.
    fn composed(&self, rows: &Tensor, parameters: &[PerTensor]) -> Result<Tensor> {
        let column = |of: Vec<f32>| -> Result<Tensor> {
            Ok(Tensor::f_from_slice(&of)?.f_to_device(rows.device())?.f_view([-1, 1])?)
        };
        let scale = column(parameters.iter().map(|of| of.scale).collect())?;
        let zero = Tensor::f_from_slice(&parameters.iter().map(|of| of.zero_point).collect::<Vec<_>>())?;
        let zero = zero.f_to_device(rows.device())?.f_view([-1, 1])?;
        let inverse = scale.f_reciprocal()?;
        let codes = if self.reduce_range {
            // fbgemm multiplies and adds as one, which f64 does exactly for all but the last place.
            let product = rows.f_to_kind(Kind::Double)?.f_mul(&inverse.f_to_kind(Kind::Double)?)?;
            product.f_add(&zero)?.f_to_kind(Kind::Float)?.f_round()?
        } else {
            rows.f_mul(&inverse)?.f_round()?.f_add(&zero)?
        };
        let codes = codes.f_clamp(0, 255)?.f_to_kind(Kind::Uint8)?;
        let sums = self.product.sums(&codes, self.size[1])?.f_sub(&zero.f_mul(&self.sums)?)?;
        let ys = sums.f_to_kind(Kind::Float)?.f_mul(&scale.f_mul(&self.scale)?)?;
        Ok(self.bias.as_ref().map_or(Ok(ys.shallow_clone()), |bias| ys.f_add(bias))?)
    }
}

/// Whether the configuration is dynamic with a scale for each token.
///
/// # Errors
///
/// [`Error::Quantization`] if it is no dynamic one, or of a weight that is not computed with.
pub(super) fn check(activation: &ObserverConfig, weight: &ObserverConfig) -> Result<bool> {
    let refused = |reason: String| Err(Error::Quantization { site: "DynamicLinear".to_owned(), reason });
    if activation.statistic != (Statistic::Placeholder { is_dynamic: true }) || activation.dtype != DType::QUInt8 {
        let found = activation.name();
        return refused(format!("its activation is a {found} of {}; take `QConfig::dynamic()`", activation.dtype));
    }
    if activation.quant_range.is_some_and(|range| range != (0, 255)) {
        return refused("a dynamic activation has no range of its own; take `reduce_range`".to_owned());
    }
    let is_per_output = match weight.statistic {
        Statistic::PerChannelMinMax { ch_axis } | Statistic::MovingAveragePerChannelMinMax { ch_axis, .. } => {
            matches!(ch_axis, 0 | -2)
        }
        _ => true,
    };
    if weight.dtype != DType::QInt8 || !weight.qscheme.is_symmetric() || !is_per_output {
        return refused(format!("its weight is {} {}; take a symmetric qint8 one", weight.dtype, weight.qscheme));
    }
    Ok(activation.qscheme == QScheme::PerChannelAffine)
}

impl Submodule for DynamicLinear {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let refused = || Error::Refused("`DynamicLinear` takes one tensor".to_owned());
        let xs = args.first().and_then(<&Tensor>::from_value).ok_or_else(refused)?;
        Ok(Value::Tensor(Rc::new(self.forward(xs)?)))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}
