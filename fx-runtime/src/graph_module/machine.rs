//! What host operations of a graph ask of tensors, of the user's functions and of layers' states.

use std::rc::Rc;

use fx_ir::HostOp;
use fx_ir::catalog;
use fx_ir::host::eval::{FloatType, Handle, IntType, Machine as EvalMachine, Variables};
use tch::{Kind, Tensor};

use super::convert::IntoValue;
use super::dispatch::Dispatch;
use super::{GraphModule, Value, index, runtime_functions, tensor_method};
use crate::{Error, Result};

/// The machine of one run.
pub(super) struct Machine<'m> {
    pub(super) module: &'m GraphModule,
}

impl EvalMachine for Machine<'_> {
    type Tensor = Rc<Tensor>;
    type Error = Error;

    fn handle(&mut self, tensor: &Rc<Tensor>) -> Result<Rc<Tensor>> {
        Ok(Rc::new(tensor.shallow_clone()))
    }

    fn tensor_method(&mut self, name: &str, tensor: &Rc<Tensor>, args: &[Value]) -> Result<Value> {
        let all: Vec<Value> = std::iter::once(Value::Tensor(Rc::clone(tensor))).chain(args.iter().cloned()).collect();
        match catalog::lookup(name).and(fx_ir::OpId::of_method(name)) {
            Some(op) => Dispatch::of(op)?.call(&all),
            None => tensor_method::call_by_name(name, &all),
        }
    }

    fn index(&mut self, tensor: &Rc<Tensor>, index: &Value) -> Result<Rc<Tensor>> {
        index::index(tensor, index).map(Rc::new)
    }

    fn tensor_of(&mut self, numbers: &[Value]) -> Result<Rc<Tensor>> {
        tensor_of(numbers).map(Rc::new)
    }

    fn contents(&mut self, tensor: &Rc<Tensor>, ty: &str) -> Result<Value> {
        contents(tensor, ty)
    }

    fn field(&mut self, _: Handle, name: &str) -> Result<Value> {
        Err(refused(&format!("the field `{name}` of a part of the model")))
    }

    fn cell(&mut self, _: Handle) -> Result<&mut Value> {
        Err(refused("state that the model keeps from call to call"))
    }

    fn path(&mut self, path: &str) -> Result<Value> {
        Ok(Value::Path(path.to_owned()))
    }

    fn perform(&mut self, op: &HostOp, args: Vec<Value>, variables: &mut Variables<Rc<Tensor>>) -> Result<Value> {
        let _ = variables;
        match (op, args.as_slice()) {
            (HostOp::Call(path) | HostOp::Function(path), args) => match self.module.functions.get(path) {
                Some(function) => function(args),
                None => Err(refused(&format!("the function `{path}`"))),
            },
            (HostOp::Runtime(name), args) => runtime_functions::call(name, args),
            (HostOp::LstmState, [h, c]) => Ok(recurrent_state("LSTMState", Value::Tuple(vec![h.clone(), c.clone()]))),
            (HostOp::GruState, [h]) => Ok(recurrent_state("GRUState", h.clone())),
            (HostOp::Method(name), [Value::Struct(path, fields)]) if path == "LSTMState" => {
                let part = match (name.as_str(), fields.first()) {
                    ("h", Some((_, Value::Tuple(parts)))) => parts.first(),
                    ("c", Some((_, Value::Tuple(parts)))) => parts.get(1),
                    _ => None,
                };
                part.cloned().ok_or_else(|| refused(&format!("the method `{name}` of `LSTMState`")))
            }
            (HostOp::Method(name), [Value::Struct(path, fields)]) if path == "GRUState" && name == "value" => {
                fields.first().map(|(_, value)| value.clone()).ok_or_else(|| refused("an empty `GRUState`"))
            }
            (HostOp::Method(name), [Value::Path(path), args @ ..]) => {
                let called = self.module.submodule(path).and_then(|module| module.call_method(name, args));
                called.unwrap_or_else(|| Err(refused(&format!("the method `{name}`"))))
            }
            (HostOp::From(ty), [one]) if ty.ends_with("Tensor") => {
                tensor_of(std::slice::from_ref(one)).map(|list| Value::Tensor(Rc::new(list.reshape([] as [i64; 0]))))
            }
            _ => Err(refused(&op.label())),
        }
    }
}

fn recurrent_state(name: &str, held: Value) -> Value {
    Value::Struct(name.to_owned(), vec![("0".to_owned(), held)])
}

fn refused(what: &str) -> Error {
    Error::Unsupported {
        what: format!("interpreting {what}"),
        help: "freeze the model, or make the function known with `GraphModule::add_function`".to_owned(),
    }
}

/// `Tensor::from_slice`, whose dtype is that of the numbers.
#[allow(clippy::cast_possible_truncation, reason = "the numbers are of the type that they are turned into")]
fn tensor_of(numbers: &[Value]) -> Result<Tensor> {
    let whole = |value: &Value| match value {
        Value::Int(number, _) => i64::try_from(*number).ok(),
        Value::Bool(known) => Some(i64::from(*known)),
        _ => None,
    };
    // A literal without a suffix is of the type of the others.
    let is_typed =
        |value: &&Value| !matches!(value, Value::Int(_, IntType::Untyped) | Value::Float(_, FloatType::Untyped));
    let kind = match numbers.iter().find(is_typed).or(numbers.first()) {
        Some(Value::Int(_, IntType::I32)) => Kind::Int,
        Some(Value::Int(_, IntType::U8)) => Kind::Uint8,
        Some(Value::Int(_, IntType::I16)) => Kind::Int16,
        Some(Value::Int(_, IntType::I8)) => Kind::Int8,
        Some(Value::Int(..)) => Kind::Int64,
        Some(Value::Bool(_)) => Kind::Bool,
        Some(Value::Float(_, FloatType::F32)) | None => Kind::Float,
        Some(Value::Float(..)) => Kind::Double,
        Some(other) => return Err(refused(&format!("a tensor of a list of {other}"))),
    };
    if let Some(whole) = numbers.iter().map(whole).collect::<Option<Vec<i64>>>()
        && !numbers.is_empty()
    {
        return Ok(Tensor::from_slice(&whole).to_kind(kind));
    }
    let float = |value: &Value| match value {
        Value::Float(number, _) => Ok(*number),
        other => Err(refused(&format!("a tensor of a list with {other}"))),
    };
    let floats = numbers.iter().map(float).collect::<Result<Vec<f64>>>()?;
    Ok(Tensor::from_slice(&floats).to_kind(kind))
}

/// What a tensor holds, as a type of that spelling: a number, or a list of numbers.
fn contents(tensor: &Tensor, ty: &str) -> Result<Value> {
    let ty = ty.trim().trim_start_matches("::std::vec::");
    let element = ty.strip_prefix("Vec").map(|rest| rest.trim_start_matches("::").trim_matches(['<', '>']));
    if element.is_none() && tensor.numel() != 1 {
        return Err(Error::Refused(format!("`{ty}` is one number, and the tensor has the shape {:?}", tensor.size())));
    }
    let flat = tensor.f_reshape([-1])?;
    let list = match element.unwrap_or(ty) {
        "f64" => Vec::<f64>::try_from(flat.f_to_kind(Kind::Double)?)?.value(),
        "f32" => Vec::<f32>::try_from(flat.f_to_kind(Kind::Float)?)?.value(),
        "i64" => Vec::<i64>::try_from(flat.f_to_kind(Kind::Int64)?)?.value(),
        "i32" => Vec::<i32>::try_from(flat.f_to_kind(Kind::Int)?)?.value(),
        "bool" => Vec::<bool>::try_from(flat.f_to_kind(Kind::Bool)?)?.value(),
        _ => return Err(refused(&format!("what a tensor holds as `{ty}`"))),
    };
    match (element, list) {
        (None, Value::List(items)) => items.into_iter().next().ok_or_else(|| refused("a number of an empty tensor")),
        (_, list) => Ok(list),
    }
}
