//! A `call_function` or `call_method` node as a call of libtorch's operator, bound to the operator's schema once.

use std::rc::Rc;

use fx_ir::OpId;
use fx_ir::catalog::{self, Entry, Receiver};
use tch::{Reduction, Tensor};

use super::convert::{device, kind};
use super::{Value, tensor_method};
use crate::ffi::operator::Operand;
use crate::operator::{self, Argument, Operator, Schema, Type};
use crate::{Error, Result};

/// An op of a graph, ready to be called.
pub(super) enum Dispatch {
    /// An operator; for each argument of the op the positions that it takes in the schema.
    Operator(Operator, Vec<Slot>),
    /// A method of tch that is no operator of libtorch's.
    Method(&'static str),
}

/// Where an argument goes.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// To the argument at that position of the schema.
    At(usize),
    /// A dtype and a device, to these two.
    Options(usize, usize),
}

impl Dispatch {
    /// Binds an op.
    ///
    /// # Errors
    ///
    /// [`Error::Operator`] if libtorch has no such operator or its schema lacks a parameter of tch's.
    pub(super) fn of(op: OpId) -> Result<Dispatch> {
        let refused = |reason: &str| Error::Operator { operator: op.name().to_owned(), reason: reason.to_owned() };
        let entry = op.entry().ok_or_else(|| refused("is a kernel of frozen models, which no operator computes"))?;
        let Some(aten) = entry.aten.filter(|_| !tensor_method::is_own(entry.method)) else {
            return Ok(Dispatch::Method(entry.method));
        };
        let operator = Operator::parse(aten)?;
        let slots = slots(entry, operator.schema());
        let slots = slots.ok_or_else(|| refused("has a parameter that the operator of libtorch lacks"))?;
        Ok(Dispatch::Operator(operator, slots))
    }

    /// Calls it.
    ///
    /// # Errors
    ///
    /// [`Error::Operator`] if an argument is not of its type, [`Error::Torch`] if libtorch refuses.
    pub(super) fn call(&self, args: &[Value]) -> Result<Value> {
        let (operator, slots) = match self {
            Dispatch::Operator(operator, slots) => (operator, slots),
            Dispatch::Method(name) => return tensor_method::call_by_name(name, args),
        };
        let schema = operator.schema();
        let refused = |position: usize, value: &Value| {
            let argument = &schema.arguments[position];
            let reason = format!("takes `{}` for `{}`, got {value}", argument.ty, argument.name);
            Error::Operator { operator: schema.full_name(), reason }
        };
        let mut given: Vec<Operand<'_>> = schema.arguments.iter().map(|_| Operand::Absent).collect();
        for (value, slot) in args.iter().zip(slots) {
            match *slot {
                Slot::At(at) => {
                    let argument = &schema.arguments[at];
                    given[at] = operand(value, &argument.ty).ok_or_else(|| refused(at, value))?;
                }
                Slot::Options(dtype, at) => {
                    let (Value::Tuple(parts) | Value::List(parts)) = value else { return Err(refused(dtype, value)) };
                    let (Some(kind), Some(device)) = (parts.first().and_then(kind), parts.get(1).and_then(device))
                    else {
                        return Err(refused(dtype, value));
                    };
                    given[dtype] = Operand::Value(kind.into());
                    given[at] = Operand::Value(device.into());
                }
            }
        }
        let mut results = operator.call_at(&given)?;
        Ok(match results.len() {
            0 => Value::Unit,
            1 => results.pop().map_or(Value::Unit, result),
            _ => Value::Tuple(results.into_iter().map(result).collect()),
        })
    }
}

/// Where the arguments of a method go: the receiver first, then its parameters.
fn slots(entry: &Entry, schema: &Schema) -> Option<Vec<Slot>> {
    // tch writes names in lower case, and `_` behind words of Rust.
    let exact = |name: &str| {
        let is = |argument: &Argument| argument.name.eq_ignore_ascii_case(name);
        schema.arguments.iter().position(is)
    };
    let position = |name: &str| exact(name).or_else(|| exact(plain(name)));
    let mut slots = Vec::with_capacity(entry.params.len() + 1);
    if entry.receiver != Receiver::Free {
        let other = || {
            let is_free = |name: &str| !entry.params.iter().any(|param| plain(param.name).eq_ignore_ascii_case(name));
            schema.arguments.iter().position(|argument| is_free(&argument.name))
        };
        slots.push(Slot::At(position("self").or_else(other)?));
    }
    for param in entry.params {
        slots.push(match param.kind {
            catalog::Kind::Options => Slot::Options(position("dtype")?, position("device")?),
            _ => Slot::At(position(param.name)?),
        });
    }
    Some(slots)
}

/// The name of a parameter as the schema has it but for its case.
fn plain(name: &str) -> &str {
    match name {
        "self_scalar" => "self",
        "unsafe_" => "unsafe",
        "input_" => "input",
        // Methods that tch writes by hand.
        "ksize" => "kernel_size",
        "targets" => "target",
        "kind" | "scalar_type" => "dtype",
        "r" => "requires_grad",
        "s" => "size",
        other => other,
    }
}

/// A value as an argument of that type.
fn operand<'v>(value: &'v Value, ty: &Type) -> Option<Operand<'v>> {
    match (ty, value) {
        (_, Value::Option(Some(held))) => operand(held, ty),
        (Type::Optional(inner), value) if !matches!(value, Value::Option(None)) => operand(value, inner),
        (Type::Tensor, Value::Tensor(tensor)) => Some(Operand::Tensor(tensor)),
        (ty, value) => converted(value, ty).map(Operand::Value),
    }
}

/// What is no tensor, as an argument of that type.
fn converted(value: &Value, ty: &Type) -> Option<operator::Value> {
    Some(match (ty, value) {
        (_, Value::Option(None)) => operator::Value::None,
        (Type::List(inner, _), Value::List(items) | Value::Tuple(items)) => list(items, inner)?,
        (Type::List(_, None), Value::Int(..)) => operator::Value::Ints(vec![int(value)?]),
        (Type::Int, Value::Path(path)) => operator::Value::Int(reduction(path)?),
        (_, Value::Int(..)) => operator::Value::Int(int(value)?),
        (_, Value::Float(number, _)) => operator::Value::Float(*number),
        (_, Value::Bool(known)) => operator::Value::Bool(*known),
        (Type::Str, Value::Str(text)) => operator::Value::Str(text.clone()),
        (Type::Kind, _) => operator::Value::Kind(kind(value)?),
        (Type::Device, _) => operator::Value::Device(device(value)?),
        _ => return None,
    })
}

fn list(items: &[Value], inner: &Type) -> Option<operator::Value> {
    let tensor = |value: &Value| match value {
        Value::Tensor(tensor) => Some(tensor.shallow_clone()),
        Value::Option(Some(held)) => super::convert::tensor(held).map(Tensor::shallow_clone),
        _ => None,
    };
    Some(match inner {
        Type::Tensor => operator::Value::Tensors(items.iter().map(tensor).collect::<Option<_>>()?),
        Type::Optional(_) => operator::Value::OptionalTensors(items.iter().map(tensor).collect()),
        Type::Float => operator::Value::Floats(items.iter().map(float).collect::<Option<_>>()?),
        Type::Bool => operator::Value::Bools(items.iter().map(truth).collect::<Option<_>>()?),
        _ => operator::Value::Ints(items.iter().map(int).collect::<Option<_>>()?),
    })
}

/// A list of integers, or one of them.
pub(super) fn ints(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::List(items) => items.iter().map(int).collect(),
        one => int(one).map(|one| vec![one]),
    }
}

/// The number as an `i64`.
pub(super) fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number, _) => i64::try_from(*number).ok(),
        Value::Option(Some(held)) => int(held),
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "so does the `as` that the generated code has")]
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number, _) => Some(*number),
        Value::Int(number, _) => Some(*number as f64),
        _ => None,
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(known) => Some(*known),
        _ => None,
    }
}

/// libtorch's number of a reduction.
fn reduction(path: &str) -> Option<i64> {
    Some(match path {
        "Reduction::None" => Reduction::None.to_int(),
        "Reduction::Mean" => Reduction::Mean.to_int(),
        "Reduction::Sum" => Reduction::Sum.to_int(),
        _ => return None,
    })
}

/// A result as a value.
fn result(value: operator::Value) -> Value {
    use super::IntoValue as _;
    use operator::Value as Result;
    match value {
        Result::None => Value::Option(None),
        Result::Tensor(tensor) => Value::Tensor(Rc::new(tensor)),
        Result::Int(number) => number.value(),
        Result::Float(number) => number.value(),
        Result::Bool(known) => Value::Bool(known),
        Result::Str(text) => Value::Str(text),
        Result::Kind(kind) => kind.value(),
        Result::Device(device) => device.value(),
        Result::Ints(list) => list.value(),
        Result::Floats(list) => list.value(),
        Result::Bools(list) => list.value(),
        Result::Tensors(list) => Value::List(list.into_iter().map(|tensor| Value::Tensor(Rc::new(tensor))).collect()),
        Result::OptionalTensors(list) => list.value(),
        other => Value::Path(format!("{other:?}")),
    }
}
