//! Methods of tch's tensors that are no operators of libtorch's: sizes, dtype, device, values, tch's own compositions.

use std::rc::Rc;

use tch::Tensor;

use super::Value;
use super::convert::{IntoValue, device, tensor};
use super::dispatch::int;
use crate::{Error, Result};

/// Calls a method by its name: the receiver first, then its arguments.
pub(super) fn call_by_name(name: &str, args: &[Value]) -> Result<Value> {
    let wrong = || {
        let given: Vec<String> = args.iter().map(ToString::to_string).collect();
        Error::Refused(format!("`{name}` cannot be interpreted on ({})", given.join(", ")))
    };
    if (name, args.len()) == ("new", 0) {
        return Ok(shared(Tensor::new()));
    }
    let (receiver, rest) = args.split_first().and_then(|(one, rest)| Some((tensor(one)?, rest))).ok_or_else(wrong)?;
    let value = match rest {
        [] => looked(name, receiver)?,
        rest => composed(name, receiver, rest)?,
    };
    value.ok_or_else(wrong)
}

/// Whether tch's method takes its arguments in another form than the operator that it calls.
pub(super) fn is_own(name: &str) -> bool {
    matches!(
        name,
        "avg_pool2d_default" | "flat_view" | "get" | "max_pool2d_default" | "to" | "to_device" | "zero_pad2d"
    )
}

/// What a tensor tells of itself.
fn looked(name: &str, xs: &Tensor) -> Result<Option<Value>> {
    Ok(Some(match name {
        "size" => xs.size().value(),
        "size1" | "size2" | "size3" | "size4" | "size5" | "size6" => return Ok(exact(name, "size", &xs.size())),
        "stride" => xs.stride().value(),
        "stride1" | "stride2" | "stride3" | "stride4" | "stride5" | "stride6" => {
            return Ok(exact(name, "stride", &xs.stride()));
        }
        "dim" => xs.dim().value(),
        "numel" => xs.numel().value(),
        "kind" => xs.f_kind()?.value(),
        "device" => xs.device().value(),
        "defined" => xs.defined().value(),
        "requires_grad" => xs.requires_grad().value(),
        "is_contiguous" => xs.is_contiguous().value(),
        "is_mkldnn" => xs.is_mkldnn().value(),
        "is_sparse" => xs.is_sparse().value(),
        "is_floating_point" => xs.is_floating_point().value(),
        "is_complex" => xs.is_complex().value(),
        "is_signed" => xs.is_signed().value(),
        "flat_view" => shared(xs.flat_view()),
        "shallow_clone" => shared(xs.shallow_clone()),
        "grad" => shared(xs.f_grad()?),
        "print" => {
            xs.print();
            Value::Unit
        }
        _ => return Ok(None),
    }))
}

/// `size4()` and the like: as many numbers, one by itself.
fn exact(name: &str, prefix: &str, numbers: &[i64]) -> Option<Value> {
    let count: usize = name.strip_prefix(prefix)?.parse().ok()?;
    match numbers {
        [one] if count == 1 => Some(one.value()),
        numbers if numbers.len() == count => Some(Value::Tuple(numbers.iter().map(IntoValue::value).collect())),
        _ => None,
    }
}

/// tch's methods with arguments.
fn composed(name: &str, xs: &Tensor, args: &[Value]) -> Result<Option<Value>> {
    let ints = |value: &Value| match value {
        Value::List(items) => items.iter().map(int).collect::<Option<Vec<i64>>>(),
        one => int(one).map(|one| vec![one]),
    };
    Ok(match (name, args) {
        ("double_value", [at]) => match ints(at) {
            Some(at) => Some(xs.f_double_value(&at)?.value()),
            None => None,
        },
        ("int64_value", [at]) => match ints(at) {
            Some(at) => Some(xs.f_int64_value(&at)?.value()),
            None => None,
        },
        ("cross_entropy_for_logits", [targets]) => {
            tensor(targets).map(|targets| shared(xs.cross_entropy_for_logits(targets)))
        }
        ("accuracy_for_logits", [targets]) => tensor(targets).map(|targets| shared(xs.accuracy_for_logits(targets))),
        ("get", [at]) => match int(at) {
            Some(at) => Some(shared(xs.f_get(at)?)),
            None => None,
        },
        ("avg_pool2d_default", [kernel]) => int(kernel).map(|kernel| shared(xs.avg_pool2d_default(kernel))),
        ("max_pool2d_default", [kernel]) => int(kernel).map(|kernel| shared(xs.max_pool2d_default(kernel))),
        ("to" | "to_device", [to]) => match device(to) {
            Some(to) => Some(shared(xs.f_to_device(to)?)),
            None => None,
        },
        ("onehot", [labels]) => int(labels).map(|labels| shared(xs.onehot(labels))),
        ("zero_pad1d", [left, right]) => match (int(left), int(right)) {
            (Some(left), Some(right)) => Some(shared(xs.f_zero_pad1d(left, right)?)),
            _ => None,
        },
        ("zero_pad2d", sides) => match sides.iter().map(int).collect::<Option<Vec<i64>>>().as_deref() {
            Some(&[left, right, top, bottom]) => Some(shared(xs.f_zero_pad2d(left, right, top, bottom)?)),
            _ => None,
        },
        _ => None,
    })
}

fn shared(tensor: Tensor) -> Value {
    Value::Tensor(Rc::new(tensor))
}
