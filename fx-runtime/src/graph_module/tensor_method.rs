//! Methods of tch's tensors that are no operators of libtorch's, or that take their arguments in another form: sizes,
//! dtype, device, values, tch's own compositions.

use std::rc::Rc;

use tch::Tensor;

use super::Value;
use super::convert::{IntoValue, device, tensor};
use super::dispatch::{int, ints};
use crate::{Error, Result};

/// The methods: `name(argument: reader, ..) => value`, of the receiver before the rows.
macro_rules! methods {
    ($xs:ident: $($name:ident($($arg:ident: $read:ident),*) => $value:expr;)+) => {
        /// The names of all methods of this table.
        const NAMES: &[&str] = &[$(stringify!($name),)+];

        /// The value of a method; none if it is not in the table or its arguments are others.
        fn value_of(name: &str, $xs: &Tensor, args: &[Value]) -> Result<Option<Value>> {
            $(
                if name == stringify!($name)
                    && let [$($arg),*] = args
                    && let ($(Some($arg),)*) = ($($read($arg),)*)
                {
                    return Ok(Some($value));
                }
            )+
            Ok(None)
        }
    };
}

methods! { xs:
    // What a tensor tells of itself.
    size() => xs.size().value();
    stride() => xs.stride().value();
    dim() => xs.dim().value();
    numel() => xs.numel().value();
    kind() => xs.f_kind()?.value();
    device() => xs.device().value();
    defined() => xs.defined().value();
    requires_grad() => xs.requires_grad().value();
    is_contiguous() => xs.is_contiguous().value();
    is_mkldnn() => xs.is_mkldnn().value();
    is_sparse() => xs.is_sparse().value();
    shallow_clone() => shared(xs.shallow_clone());
    grad() => shared(xs.f_grad()?);
    print() => printed(xs);
    double_value(at: ints) => xs.f_double_value(&at)?.value();
    int64_value(at: ints) => xs.f_int64_value(&at)?.value();
    // Compositions.
    flat_view() => shared(xs.flat_view());
    get(at: int) => shared(xs.f_get(at)?);
    to(to: device) => shared(xs.f_to_device(to)?);
    to_device(to: device) => shared(xs.f_to_device(to)?);
    avg_pool2d_default(kernel: int) => shared(xs.avg_pool2d_default(kernel));
    max_pool2d_default(kernel: int) => shared(xs.max_pool2d_default(kernel));
    onehot(labels: int) => shared(xs.onehot(labels));
    zero_pad1d(left: int, right: int) => shared(xs.f_zero_pad1d(left, right)?);
    zero_pad2d(left: int, right: int, top: int, bottom: int) => shared(xs.f_zero_pad2d(left, right, top, bottom)?);
    cross_entropy_for_logits(targets: tensor) => shared(xs.cross_entropy_for_logits(targets));
    accuracy_for_logits(targets: tensor) => shared(xs.accuracy_for_logits(targets));
}

/// Whether the method is called as tch has it, and not as an operator by its schema.
pub(super) fn is_own(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Calls a method by its name: the receiver first, then its arguments.
pub(super) fn call_by_name(name: &str, args: &[Value]) -> Result<Value> {
    let Some((receiver, rest)) = args.split_first() else {
        return if name == "new" { Ok(shared(Tensor::new())) } else { Err(refused(name, args)) };
    };
    let receiver = tensor(receiver).ok_or_else(|| refused(name, args))?;
    let value = match value_of(name, receiver, rest)? {
        None if rest.is_empty() => exact(name, receiver),
        value => value,
    };
    value.ok_or_else(|| refused(name, args))
}

fn refused(name: &str, args: &[Value]) -> Error {
    let given: Vec<String> = args.iter().map(ToString::to_string).collect();
    Error::Refused(format!("`{name}` cannot be interpreted on ({})", given.join(", ")))
}

/// `size4()`, `stride2()` and the like: as many numbers, one by itself.
fn exact(name: &str, xs: &Tensor) -> Option<Value> {
    let digits = name.find(|character: char| character.is_ascii_digit())?;
    let (method, count) = name.split_at(digits);
    let Value::List(numbers) = value_of(method, xs, &[]).ok()?? else { return None };
    match (count.parse::<usize>().ok()?, numbers.as_slice()) {
        (1, [one]) => Some(one.clone()),
        (count, numbers) if count == numbers.len() => Some(Value::Tuple(numbers.to_vec())),
        _ => None,
    }
}

fn printed(xs: &Tensor) -> Value {
    xs.print();
    Value::Unit
}

fn shared(tensor: Tensor) -> Value {
    Value::Tensor(Rc::new(tensor))
}
