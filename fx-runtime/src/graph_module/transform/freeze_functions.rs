//! The functions of the runtime that passes call at freeze time, by their names.

use std::rc::Rc;

use fx_ir::host::eval::Machine as _;

use tch::Tensor;

use super::super::convert::{self, IntoValue};
use super::super::dispatch::ints;
use super::super::{Submodule, Value};
use super::evaluator::{Keeper, Kept, tensor, wrong};
use crate::frame::Frame;
use crate::frozen::leaf::coded;
use crate::frozen::{Activation, Conv, ConvParams, Linear, Product, fold, norm};
use crate::nn::{BatchNorm, GeluApproximation, LayerNorm};
use crate::{Error, Result};

/// How the packing of a layer that no kernel is for begins.
const LEAF: &str = "Leaf::<";

/// Calls the function of that name.
///
/// # Errors
///
/// What it reports; [`Error::Unsupported`] if there is none of that name.
pub(super) fn call(keeper: &mut Keeper<'_>, name: &str, args: &[Value]) -> Result<Value> {
    if name.starts_with(LEAF) {
        return leaf(keeper, name, args);
    }
    if let Some(variant) = name.strip_prefix("Activation::").filter(|variant| *variant != "from") {
        return activation(keeper, variant, args);
    }
    match name {
        "ConvParams::from" => {
            let params = args.first().and_then(|config| keeper.params(config)).ok_or_else(|| wrong(name))?;
            Ok(keeper.keep(Kept::Params(params)))
        }
        "Activation::from" => {
            let Some(Value::Str(approximate)) = args.first() else { return Err(wrong(name)) };
            let known = GeluApproximation::of(approximate).ok_or_else(|| wrong(name))?;
            Ok(keeper.keep(Kept::Activation(known.into())))
        }
        "BatchNorm::of_tensors" => {
            let [weight, bias, mean, var, eps] = args else { return Err(wrong(name)) };
            let eps = number(eps).ok_or_else(|| wrong(name))?;
            let (mean, var) = (tensor(name, Some(mean))?, tensor(name, Some(var))?);
            let norm = BatchNorm::of_tensors(convert::tensor(weight), convert::tensor(bias), mean, var, eps);
            Ok(keeper.keep(Kept::Layer { path: None, module: Rc::new(norm) }))
        }
        _ if name.starts_with("fold::") => folded(keeper, name, args),
        "norm::weight" | "norm::bias" => {
            let layer = args.get(1).and_then(|layer| keeper.layer(layer)).ok_or_else(|| wrong(name))?;
            let layer: &LayerNorm = layer.as_any().and_then(|layer| layer.downcast_ref()).ok_or_else(|| wrong(name))?;
            let part = if name == "norm::weight" { norm::weight } else { norm::bias };
            Ok(part(keeper.frame()?, layer)?.value())
        }
        "norm::channel_factor" | "norm::channel_summand" => {
            let norm = args.get(1).and_then(|norm| keeper.batch_norm(norm)).ok_or_else(|| wrong(name))?;
            let part = if name == "norm::channel_factor" { norm::channel_factor } else { norm::channel_summand };
            Ok(part(keeper.frame()?, norm)?.value())
        }
        "Conv::pack_layer" => packed_layer(keeper, "Conv::pack", args),
        "Conv::pack_layer_batch_norm" => packed_layer(keeper, "Conv::pack_batch_norm", args),
        "Linear::pack_layer" => packed_layer(keeper, "Linear::pack", args),
        "Linear::pack_layer_batch_norm" => packed_layer(keeper, "Linear::pack_batch_norm", args),
        _ => packed(keeper, name, args),
    }
}

/// `Conv::pack_layer(frame, layer, act)`, with a batch norm before the activation or none: the function of that name on
/// what the fields of the layer hold.
fn packed_layer(keeper: &mut Keeper<'_>, name: &str, args: &[Value]) -> Result<Value> {
    let [frame, Value::Handle(layer), norm @ .., act] = args else { return Err(wrong(name)) };
    let mut fields = ["ws", "bs", "config"].into_iter();
    let mut field = || keeper.field(*layer, fields.next().unwrap_or_default());
    let mut parts = vec![frame.clone(), field()?, field()?];
    parts.extend(norm.iter().cloned());
    if name.starts_with("Conv") {
        parts.push(field()?);
    }
    parts.push(act.clone());
    packed(keeper, name, &parts)
}

/// Folding: new weights out of old ones.
fn folded(keeper: &Keeper<'_>, name: &str, args: &[Value]) -> Result<Value> {
    let (weight, bias) = (|| tensor(name, args.first()), args.get(1).and_then(convert::tensor));
    let norm = |at: usize| args.get(at).and_then(|norm| keeper.batch_norm(norm)).ok_or_else(|| wrong(name));
    let params = |at: usize| args.get(at).and_then(|params| keeper.params(params)).ok_or_else(|| wrong(name));
    let factor = |at: usize| args.get(at).and_then(number).ok_or_else(|| wrong(name));
    Ok(match name {
        "fold::conv_batch_norm" => fold::conv_batch_norm(weight()?, bias, norm(2)?, &params(3)?)?.value(),
        "fold::linear_batch_norm" => fold::linear_batch_norm(weight()?, bias, norm(2)?)?.value(),
        "fold::batch_norm_conv" => fold::batch_norm_conv(weight()?, bias, norm(2)?, &params(3)?)?.value(),
        "fold::batch_norm_linear" => fold::batch_norm_linear(weight()?, bias, norm(2)?)?.value(),
        "fold::folds_before_conv" => fold::folds_before_conv(norm(0)?, &params(1)?)?.value(),
        "fold::scale_after" => fold::scale_after(weight()?, bias, factor(2)?)?.value(),
        "fold::scale_before" => fold::scale_before(weight()?, factor(1)?)?.value(),
        "fold::matrix" => fold::matrix(weight()?)?.value(),
        "fold::scaled_by" => {
            let of_conv = args.get(3).and_then(|params| keeper.params(params));
            fold::scaled_by(weight()?, bias, tensor(name, args.get(2))?, of_conv.as_ref())?.value()
        }
        "fold::factor_before" => {
            let axes = args.get(1).and_then(ints).ok_or_else(|| wrong(name))?;
            fold::factor_before(weight()?, axes)?.value()
        }
        "fold::linears" => {
            let Some(Value::List(layers)) = args.first() else { return Err(wrong(name)) };
            let pair = |layer: &'_ Value| -> Option<(Tensor, Option<Tensor>)> {
                let Value::Tuple(parts) = layer else { return None };
                let bias = parts.get(1).and_then(convert::tensor).map(Tensor::shallow_clone);
                Some((convert::tensor(parts.first()?)?.shallow_clone(), bias))
            };
            let pairs: Option<Vec<_>> = layers.iter().map(pair).collect();
            let pairs = pairs.ok_or_else(|| wrong(name))?;
            let pairs: Vec<_> = pairs.iter().map(|(weight, bias)| (weight, bias.as_ref())).collect();
            fold::linears(&pairs)?.value()
        }
        _ => return Err(unknown(name)),
    })
}

/// Packing: a kernel out of weights.
fn packed(keeper: &mut Keeper<'_>, name: &str, args: &[Value]) -> Result<Value> {
    let (weight, bias) = (|| tensor(name, args.get(1)), args.get(2).and_then(convert::tensor));
    let params = |at: usize| -> Result<ConvParams> {
        args.get(at).and_then(|params| keeper.params(params)).ok_or_else(|| wrong(name))
    };
    let act = |at: usize| -> Result<Activation> {
        args.get(at).and_then(|act| keeper.activation(act)).ok_or_else(|| wrong(name))
    };
    let frame = keeper.frame();
    let module: Rc<dyn Submodule> = match name {
        "Conv::pack" => Rc::new(Conv::pack(frame?, weight()?, bias, &params(3)?, act(4)?)?),
        "Conv::pack_batch_norm" => {
            let norm = args.get(3).and_then(|norm| keeper.batch_norm(norm)).ok_or_else(|| wrong(name))?;
            Rc::new(Conv::pack_batch_norm(frame?, weight()?, bias, norm, &params(4)?, act(5)?)?)
        }
        "Linear::pack" => Rc::new(Linear::pack(frame?, weight()?, bias, act(3)?)?),
        "Linear::pack_batch_norm" => {
            let norm = args.get(3).and_then(|norm| keeper.batch_norm(norm)).ok_or_else(|| wrong(name))?;
            Rc::new(Linear::pack_batch_norm(frame?, weight()?, bias, norm, act(4)?)?)
        }
        "Product::pack" => Rc::new(Product::pack(frame?, weight()?, bias, act(3)?)?),
        _ => return Err(unknown(name)),
    };
    let ty = name.split("::").next().unwrap_or(name).to_owned();
    Ok(keeper.keep(Kept::Kernel { ty, module }))
}

/// `Leaf::<nn::MaxPool2D>::new(frame, layer)`.
fn leaf(keeper: &mut Keeper<'_>, name: &str, args: &[Value]) -> Result<Value> {
    let layer = args.get(1).and_then(|layer| keeper.layer(layer)).ok_or_else(|| wrong(name))?;
    let module = in_frame(keeper.frame()?, layer)?;
    let ty = name.trim_end_matches(">::new").rsplit("::").next().unwrap_or(name).to_owned();
    Ok(keeper.keep(Kept::Kernel { ty, module }))
}

/// A copy of a module whose tensors lie in the frame, an embedding as integers where weights are to be kept so; the module
/// itself, if it cannot be copied.
pub(super) fn in_frame(frame: &Frame, module: &Rc<dyn Submodule>) -> Result<Rc<dyn Submodule>> {
    if let Some(layer) = module.as_any()
        && let Some(table) = coded(frame, layer)?
    {
        return Ok(Rc::new(table));
    }
    let mut place = |tensor: &Tensor| Ok(frame.param(tensor)?.shallow_clone());
    module.placed(&mut place).unwrap_or_else(|| Ok(Rc::clone(module)))
}

/// `Activation::LeakyRelu(slope)`, `Activation::Clamp(low, high)`.
fn activation(keeper: &mut Keeper<'_>, variant: &str, args: &[Value]) -> Result<Value> {
    let numbers: Option<Vec<f64>> = args.iter().map(number).collect();
    let known = numbers.and_then(|numbers| Activation::named(variant, &numbers)).ok_or_else(|| wrong(variant))?;
    Ok(keeper.keep(Kept::Activation(known)))
}

#[allow(clippy::cast_precision_loss, reason = "so does the `as` that generated code has")]
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number, _) => Some(*number),
        Value::Int(number, _) => Some(*number as f64),
        _ => None,
    }
}

fn unknown(name: &str) -> Error {
    Error::Unsupported {
        what: format!("calling `{name}` of the runtime when a graph is frozen"),
        help: "freeze by generated code, or leave out the pass that calls it".to_owned(),
    }
}
