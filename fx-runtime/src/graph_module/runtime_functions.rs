//! What passes leave for the runtime to compute at every call: fused ops on weights that an input decides, and attention.

use std::rc::Rc;

use fx_ir::{Arg, Graph, HostOp, NodeId, Op, OpId, ops};

use super::convert::{IntoValue, kind, tensor};
use super::transform::kernels::{activation_of, params_of};
use super::{GraphModule, Value};
use crate::ffi::attention::Factors;
use crate::frozen::attention::Mask;
use crate::frozen::{Activation, at_least_float, attention, convolution, linear, norm, product};
use crate::{Error, Result};

/// The last argument of attention that may round what it multiplies to bf16.
const IN_BF16: &str = "bf16";

/// Lets the attention of a graph round what it multiplies to bf16.
pub(super) fn attend_in_bf16(graph: &mut Graph) {
    let attends = |op: &Op| matches!(op.host(), Some(HostOp::Runtime(name)) if name.starts_with("attention::attend"));
    let nodes: Vec<NodeId> = graph.nodes().into_iter().filter(|&id| attends(&graph.node(id).op)).collect();
    for id in nodes {
        graph.node_mut(id).args.push(Arg::Str(IN_BF16.to_owned()));
    }
}

/// A function of the runtime by its name.
///
/// # Errors
///
/// What it reports; [`Error::Unsupported`] if there is none of that name.
pub(super) fn call(name: &str, args: &[Value]) -> Result<Value> {
    let wrong = || Error::Refused(format!("`{name}` takes other arguments"));
    let at = |at: usize| args.get(at).and_then(tensor);
    let given = |position: usize| at(position).ok_or_else(wrong);
    let number = |at: usize| args.get(at).and_then(float);
    let act = |at: usize| args.get(at).map_or(Some(Activation::None), activation_of).ok_or_else(wrong);
    let factors = match args.last() {
        Some(Value::Str(factors)) if factors == IN_BF16 => Factors::Bf16,
        _ => Factors::F32,
    };
    let ys = match name {
        "attention::attend" => {
            let is_causal = matches!(args.get(4), Some(Value::Bool(true)));
            let operands = [given(0)?, given(1)?, given(2)?];
            attention::attend_with(factors, operands, at(3), is_causal, number(5))?
        }
        "attention::attend_added" => {
            attention::masked(factors, [given(0)?, given(1)?, given(2)?], Mask::Added(given(3)?), number(4))?
        }
        "attention::attend_filled" | "attention::attend_future" => {
            let (mask, fill) = (given(3)?, number(4).ok_or_else(wrong)?);
            let is_future = name == "attention::attend_future";
            let mask = if is_future { Mask::Future(mask, fill) } else { Mask::Filled(mask, fill) };
            attention::masked(factors, [given(0)?, given(1)?, given(2)?], mask, number(5))?
        }
        "attention::added" => return Ok(attention::added(given(0)?, given(1)?)?.value()),
        "attention::filled" => {
            return Ok(attention::filled(given(0)?, given(1)?, number(2).ok_or_else(wrong)?)?.value());
        }
        "at_least_float" => return Ok(at_least_float(args.first().and_then(kind).ok_or_else(wrong)?).value()),
        "norm::along_channels" => norm::along_channels(given(0)?, given(1)?)?,
        _ => match OpId::lookup(name) {
            Some(ops::CONVOLUTION) => {
                let params = args.get(3).and_then(params_of).ok_or_else(wrong)?;
                convolution(given(0)?, given(1)?, at(2), &params, at(4), act(5)?)?
            }
            Some(ops::LINEAR) => linear(given(0)?, given(1)?, at(2), at(3), act(4)?)?,
            Some(ops::PRODUCT) => product(given(0)?, given(1)?, at(2), at(3), act(4)?)?,
            _ => {
                return Err(Error::Unsupported {
                    what: format!("interpreting the function `{name}` of the runtime"),
                    help: "freeze the model by generated code, or leave out the pass that calls it".to_owned(),
                });
            }
        },
    };
    Ok(Value::Tensor(Rc::new(ys)))
}

/// Whether the op is one of the contractions that passes work on, which take options that no operator of libtorch has.
pub(super) fn is_contraction(op: OpId, has_options: bool) -> bool {
    matches!(op, ops::CONVOLUTION | ops::PRODUCT) || has_options && op == ops::LINEAR
}

/// `convolution(x, weight, bias, params, add=, act=)`, `linear(x, weight, bias, batch_norm=, add=, act=)`,
/// `product(x, weight, bias, add=, act=)`.
///
/// # Errors
///
/// As the functions of these names in [`crate::frozen`].
pub(super) fn contraction(module: &GraphModule, op: OpId, args: &[Value], options: &[(&str, Value)]) -> Result<Value> {
    let option = |key: &str| options.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
    let (norm, add, act) = (option(ops::BATCH_NORM.name()), option(ops::ADD.name()), option("act"));
    let none = || Value::Option(None);
    let whole = |add: Option<Value>, act: Option<Value>| {
        let own = if op == ops::CONVOLUTION { 4 } else { 3 };
        let mut all: Vec<Value> = args.iter().take(own).cloned().collect();
        all.resize_with(own, none);
        all.push(add.unwrap_or_else(none));
        all.extend(act);
        call(op.name(), &all)
    };
    let Some(Value::Str(path)) = norm else { return whole(add, act) };
    let normed = match module.submodule(&path) {
        Some(norm) => norm.call(&[whole(None, None)?])?,
        None => return Err(module.fault(format!("has no module `{path}`"))),
    };
    let (Some(normed), Some(act)) = (tensor(&normed), act.as_ref().map_or(Some(Activation::None), activation_of))
    else {
        return Err(Error::Refused(format!("`{}` takes other options", op.name())));
    };
    let sum = match add.as_ref().and_then(tensor) {
        Some(add) => normed.f_add(add)?,
        None => normed.f_mul_scalar(1)?,
    };
    Ok(Value::Tensor(Rc::new(act.apply(sum)?)))
}

#[allow(clippy::cast_precision_loss, reason = "so does the `as` that generated code has")]
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number, _) => Some(*number),
        Value::Int(number, _) => Some(*number as f64),
        Value::Option(Some(held)) => float(held),
        _ => None,
    }
}
