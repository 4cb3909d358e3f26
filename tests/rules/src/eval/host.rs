//! The host operations that rules and passes make: computations of sizes and numbers, and calls of the runtime at freeze
//! time.

use fx_ir::{Arg, HostOp};
use fx_runtime::frozen::{at_least_float, attention, fold};
use tch::Tensor;

use super::{Machine, Value, mask};

#[allow(clippy::panic, reason = "it is called in tests")]
impl Machine<'_> {
    /// The operation on these arguments.
    pub(super) fn host(&self, op: &HostOp, args: &[Arg]) -> Value {
        let given: Vec<Value> = args.iter().map(|arg| self.value(arg)).collect();
        match (op, &given[..]) {
            (HostOp::Ref | HostOp::Use | HostOp::Some, [one]) => one.share(),
            (HostOp::Array | HostOp::Tuple, parts) => Value::Tuple(parts.iter().map(Value::share).collect()),
            (HostOp::Vec, _) => Value::Ints(args.iter().map(|arg| self.int(arg)).collect()),
            (HostOp::Method(name), [of, rest @ ..]) => method(name, of, rest),
            (HostOp::Item, [Value::Ints(list), Value::Number(_)]) => {
                let at = usize::try_from(self.int(&args[1])).unwrap_or(usize::MAX);
                let Some(item) = list.get(at) else { panic!("no item {at} in {list:?}") };
                #[allow(clippy::cast_precision_loss, reason = "small numbers")]
                Value::Number(*item as f64)
            }
            (HostOp::Cast(ty), [Value::Number(number)]) if ty == "f64" => Value::Number(*number),
            (HostOp::Neg, [Value::Number(number)]) => Value::Number(-number),
            (HostOp::Binary(sign), [Value::Number(a), Value::Number(b)]) => binary(sign, *a, *b),
            (HostOp::HandleOr, [optional, other]) => {
                if let Value::Absent = optional {
                    other.share()
                } else {
                    optional.share()
                }
            }
            (HostOp::Runtime(name), given) => runtime(name, given),
            (op, given) => panic!("{op:?} of {given:?} cannot be evaluated here"),
        }
    }
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn binary(sign: &str, a: f64, b: f64) -> Value {
    match sign {
        "+" => Value::Number(a + b),
        "-" => Value::Number(a - b),
        "*" => Value::Number(a * b),
        "/" => Value::Number(a / b),
        "<" => Value::Bool(a < b),
        ">" => Value::Bool(a > b),
        _ => panic!("the operator `{sign}` cannot be evaluated here"),
    }
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn method(name: &str, of: &Value, rest: &[Value]) -> Value {
    match (name, of, rest) {
        ("as_ref", of, []) => of.share(),
        ("size", Value::Tensor(of), []) => Value::Ints(of.size()),
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        ("dim", Value::Tensor(of), []) => Value::Number(of.dim() as f64),
        ("kind", Value::Tensor(of), []) => Value::Kind(of.kind()),
        ("f_to_kind", Value::Tensor(of), [Value::Kind(kind)]) => Value::Tensor(of.to_kind(*kind)),
        _ => panic!("`{name}` of {of:?} and {rest:?} cannot be evaluated here"),
    }
}

/// A function of `fx_runtime::frozen`.
#[allow(clippy::panic, reason = "it is called in tests")]
fn runtime(name: &str, given: &[Value]) -> Value {
    match (name, given) {
        ("at_least_float", [Value::Kind(kind)]) => Value::Kind(at_least_float(*kind)),
        ("attention::added", [Value::Tensor(query), Value::Tensor(added)]) => pair(attention::added(query, added)),
        ("attention::filled", [Value::Tensor(query), Value::Tensor(hidden), Value::Number(with)]) => {
            pair(attention::filled(query, &mask(hidden), *with))
        }
        ("fold::scale_before", [Value::Tensor(weight), Value::Number(factor)]) => {
            found(fold::scale_before(weight, *factor), Value::Tensor)
        }
        ("fold::scale_after", [Value::Tensor(weight), bias, Value::Number(factor)]) => {
            found(fold::scale_after(weight, optional(bias), *factor), with_bias)
        }
        ("fold::scaled_by", [Value::Tensor(weight), bias, Value::Tensor(factor), Value::Absent]) => {
            found(fold::scaled_by(weight, optional(bias), factor, None), |folded| {
                folded.map_or(Value::Absent, with_bias)
            })
        }
        ("fold::linears", [Value::Tuple(layers)]) => {
            let layer = |layer: &Value| match layer {
                Value::Tuple(parts) => match &parts[..] {
                    [Value::Tensor(weight), bias] => {
                        (weight.shallow_clone(), optional(bias).map(Tensor::shallow_clone))
                    }
                    _ => panic!("{layer:?} is no weight with a bias"),
                },
                _ => panic!("{layer:?} is no layer"),
            };
            let layers: Vec<(Tensor, Option<Tensor>)> = layers.iter().map(layer).collect();
            let layers: Vec<(&Tensor, Option<&Tensor>)> =
                layers.iter().map(|(weight, bias)| (weight, bias.as_ref())).collect();
            found(fold::linears(&layers), with_bias)
        }
        _ => panic!("`{name}` of {given:?} cannot be evaluated here"),
    }
}

fn optional(value: &Value) -> Option<&Tensor> {
    match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

fn with_bias((weight, bias): (Tensor, Option<Tensor>)) -> Value {
    Value::Tuple(vec![Value::Tensor(weight), bias.map_or(Value::Absent, Value::Tensor)])
}

fn pair(both: Result<(Tensor, Tensor), fx_runtime::Error>) -> Value {
    found(both, |(first, second)| Value::Tuple(vec![Value::Tensor(first), Value::Tensor(second)]))
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn found<T>(found: Result<T, fx_runtime::Error>, value: impl FnOnce(T) -> Value) -> Value {
    found.map(value).unwrap_or_else(|error| panic!("{error}"))
}
