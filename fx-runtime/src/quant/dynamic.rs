//! Dynamic quantization: linear layers whose weights are integers and whose inputs become integers at each call.
//!
//! `y = (Σ q(x) q(w) - zero Σ q(w)) * (scale_x * scale_w) + bias`, where scale and zero point of the input follow from its
//! own extremes. The sum over integers is exact. Numbers are those of `torch.ao.nn.quantized.dynamic.Linear` in torch 2.11:
//!
//! | `reduce_range` | integers | rounding | PyTorch's engines |
//! |---|---|---|---|
//! | true | 0 to 127 | `round(x * (1 / scale) + zero)`, of which the operand is rounded to `f32` once | fbgemm, x86 |
//! | false | 0 to 255 | `round(x * (1 / scale)) + zero` | qnnpack |

use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use super::{DType, ObserverConfig, QConfig, QConfigMapping, QScheme, Statistic, sites, weighted};
use crate::graph_module::{FromValue, GraphModule, Submodule, Value};
use crate::nn;
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
    /// `i8[in, out]`.
    codes: Tensor,
    /// The sums of the codes over the inputs, `i32[out]`.
    sums: Tensor,
    /// `f32[out]`, or `f32[1]`.
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
        let weight = weighted::observed(&layer.ws)?;
        let mut observer = config.build()?;
        observer.observe(&weight)?;
        let of = observer.calculate_qparams()?;
        let codes = of.quantize(&weight)?.f_transpose(0, 1)?.f_contiguous()?;
        let sums = codes.f_sum_dim_intlist(0, false, Kind::Int)?;
        let scale = Tensor::f_from_slice(&of.scale)?.f_to_device(weight.device())?;
        let bias = layer.bs.as_ref().map(weighted::observed).transpose()?;
        Ok(DynamicLinear { codes, sums, scale, bias, reduce_range: activation.reduce_range, is_per_token })
    }

    /// The weight that the integers stand for, `f32[out, in]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn weight(&self) -> Result<Tensor> {
        Ok(self.codes.f_to_kind(Kind::Float)?.f_mul(&self.scale)?.f_transpose(0, 1)?.f_contiguous()?)
    }

    /// Applies the layer to `[.., in]` of any floating dtype, which the result has too; no gradients are recorded.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the input is not finite; [`Error::Torch`] if libtorch refuses, as a rule a shape.
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let (mut shape, outputs) = (xs.size(), self.codes.size()[1]);
        if let Some(last) = shape.last_mut() {
            *last = outputs;
        }
        let rows = xs.f_to_kind(Kind::Float)?.f_reshape([-1, self.codes.size()[0]])?;
        if rows.numel() == 0 {
            return Ok(Tensor::f_zeros(shape, (xs.kind(), xs.device()))?);
        }
        let [scale, zero] = self.parameters(&rows)?;
        let integers = self.integers(&rows, &scale, &zero)?;
        let zero = zero.f_to_kind(Kind::Int)?;
        let sums = product(&integers, &self.codes, &self.sums)?.f_sub(&zero.f_mul(&self.sums)?)?;
        let ys = sums.f_to_kind(Kind::Float)?.f_mul(&scale.f_mul(&self.scale)?)?;
        let ys = self.bias.as_ref().map_or(Ok(ys.shallow_clone()), |bias| ys.f_add(bias))?;
        Ok(ys.f_to_kind(xs.kind())?.f_view(shape.as_slice())?)
    }

    /// Scale and zero point, `f32[tokens, 1]` or `f32[1, 1]`.
    fn parameters(&self, rows: &Tensor) -> Result<[Tensor; 2]> {
        let (min, max) = if self.is_per_token { rows.f_aminmax(1, false)? } else { rows.f_aminmax(None, false)? };
        let numbers = |of: Tensor| -> Result<Vec<f32>> { Ok(Vec::try_from(of.f_reshape([-1])?)?) };
        let bounds = numbers(min)?.into_iter().zip(numbers(max)?);
        let last = DType::QUInt8.range(self.reduce_range).quant_max;
        let found = bounds.map(|(min, max)| choose_qparams(min, max, last)).collect::<Result<Vec<_>>>()?;
        let (scale, zero): (Vec<f32>, Vec<f32>) = found.into_iter().unzip();
        let column = |of: &[f32]| -> Result<Tensor> {
            Ok(Tensor::f_from_slice(of)?.f_to_device(rows.device())?.f_view([-1, 1])?)
        };
        Ok([column(&scale)?, column(&zero)?])
    }

    /// The integers of the input, `f32[rows, in]`.
    fn integers(&self, rows: &Tensor, scale: &Tensor, zero: &Tensor) -> Result<Tensor> {
        let inverse = scale.f_reciprocal()?;
        let integers = if self.reduce_range {
            // fbgemm multiplies and adds as one, which f64 does exactly for all but the last place.
            let product = rows.f_to_kind(Kind::Double)?.f_mul(&inverse.f_to_kind(Kind::Double)?)?;
            product.f_add(zero)?.f_to_kind(Kind::Float)?.f_round()?
        } else {
            rows.f_mul(&inverse)?.f_round()?.f_add(zero)?
        };
        // It clamps to the range of the type, which seven bits are a half of.
        Ok(integers.f_clamp(0, 255)?)
    }
}

/// Whether the configuration is dynamic with a scale for each token.
///
/// # Errors
///
/// [`Error::Quantization`] if it is no dynamic one, or of a weight that is not computed with.
fn check(activation: &ObserverConfig, weight: &ObserverConfig) -> Result<bool> {
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

/// The scale and the zero point for values from `min` to `max` on integers from 0 to `last`.
///
/// Source: `quant_utils::ChooseQuantizationParams` of torch 2.11 (`aten/src/ATen/native/quantized/cpu/QuantUtils.h`), which
/// computes in `f64` and takes the zero point from the end that rounds less.
///
/// # Errors
///
/// [`Error::Quantization`] if a bound is not finite.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as PyTorch computes, at most 255")]
fn choose_qparams(min: f32, max: f32, last: i64) -> Result<(f32, f32)> {
    /// The smallest scale.
    const SMALL_SCALE: f32 = 6.1e-5;
    if !min.is_finite() || !max.is_finite() {
        let reason = format!("its input reaches from {min} to {max}; it has to be finite");
        return Err(Error::Quantization { site: "DynamicLinear".to_owned(), reason });
    }
    let (mut min, mut max) = (min.min(0.0), max.max(0.0));
    let mut scale = (f64::from(max) - f64::from(min)) / last as f64;
    if scale as f32 == 0.0 || (1.0 / scale as f32).is_infinite() {
        scale = 0.1;
    }
    if scale < f64::from(SMALL_SCALE) {
        let widened = SMALL_SCALE / scale as f32;
        scale = f64::from(SMALL_SCALE);
        if min == 0.0 {
            max = SMALL_SCALE * last as f32;
        } else if max == 0.0 {
            min = -SMALL_SCALE * last as f32;
        } else {
            (min, max) = (min * widened, max * widened);
        }
    }
    let (below, above) = (f64::from(min) / scale, f64::from(max) / scale);
    let zero = if -below.abs() < last as f64 - above.abs() { -below } else { last as f64 - above };
    Ok((scale as f32, zero.clamp(0.0, last as f64).round_ties_even() as f32))
}

/// The exact product of `f32[rows, in]`, integers from 0 to 255, and `i8[in, out]`, whose sums over the inputs are
/// given; `i32[rows, out]`.
fn product(integers: &Tensor, codes: &Tensor, sums: &Tensor) -> Result<Tensor> {
    if integers.device() != Device::Cpu {
        // Sums of integers below 2^53 are exact in any order.
        let double = |tensor: &Tensor| tensor.f_to_kind(Kind::Double);
        return Ok(double(integers)?.f_matmul(&double(codes)?)?.f_to_kind(Kind::Int)?);
    }
    // Both operands of libtorch's product are signed: what is taken off comes back with the sums.
    let shifted = integers.f_sub_scalar(128)?.f_to_kind(Kind::Int8)?;
    Ok(shifted.f_internal_int_mm(codes)?.f_add(&sums.f_mul_scalar(128)?)?)
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

/// A graph whose linear layers are dynamically quantized, those that the mapping names: PyTorch's `quantize_dynamic`.
///
/// A global entry holds for linear layers alone; all other nodes stay as they are.
///
/// # Errors
///
/// [`Error::Quantization`] with the layer if its configuration is no dynamic one or its weight is not finite, or if the
/// mapping names what is not there.
pub fn quantize_dynamic(module: &GraphModule, mapping: &QConfigMapping) -> Result<GraphModule> {
    let resolver = mapping.resolver()?;
    let mut quantized = module.shallow_clone();
    for (_, standing) in sites::standings(module.graph()).iter() {
        let Some(qconfig) = sites::resolved(&resolver, standing) else { continue };
        let layer = module.submodule(&standing.module).filter(|_| standing.op.is_none());
        let layer = layer.and_then(Submodule::as_any).and_then(|any| any.downcast_ref::<nn::Linear>());
        let Some(layer) = layer else { continue };
        let site = format!("{}.weight", standing.module);
        let named = |error: Error| Error::Quantization { site, reason: error.to_string() };
        quantized.add_submodule(standing.module.as_str(), DynamicLinear::new(layer, &qconfig).map_err(named)?);
    }
    resolver.check_named()?;
    Ok(quantized)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "scales are kept as f32")]
mod tests {
    use super::*;
    use crate::ffi::operator::{self, Operator};

    /// Bounds so small, so large or so near each other that a plain quotient would not do: libtorch's operator has the same.
    #[test]
    fn parameters_are_libtorchs() -> Result<()> {
        let operator = Operator::find("aten::_choose_qparams_per_tensor", "")?;
        let sizes = (-44..38).map(|exponent| 10f32.powi(exponent));
        let shapes =
            [(0.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (-0.3, 0.7), (0.9, 1.1), (-1.3, -0.2), (-2.5, 0.01)];
        for (size, (low, high)) in sizes.flat_map(|size| shapes.map(|shape| (size, shape))) {
            let (min, max) = (size * low, size * high);
            for last in [127, 255] {
                let args: [operator::Value; 2] = [(&Tensor::from_slice(&[min, max])).into(), (last == 127).into()];
                let [operator::Value::Float(scale), operator::Value::Int(zero)] = operator.call(&args)?[..] else {
                    return Err(Error::Refused("no scale and zero point".to_owned()));
                };
                let (found, at) = choose_qparams(min, max, last)?;
                assert_eq!((found.to_bits(), at + 0.0), ((scale as f32).to_bits(), zero as f32), "{min} {max} {last}");
            }
        }
        Ok(())
    }
}
