//! Values as the tagged ones that libtorch's stack is made of, checked against the types of an operator's schema.

use tch::Tensor;

use super::raw::{RawValue, tag};
use super::schema::Type;
use super::value::{Value, number_of_kind, numbers_of_device};
use crate::ffi::entry::Handle;
use crate::ffi::tensor::lend;

/// Values for one call, which borrow the lists and tensors of those that they were made of.
pub(super) struct Packed {
    pub(super) values: Vec<RawValue>,
    // What has no place in the values that were given. Each is on the heap by itself, where it stays.
    handles: Vec<Box<[Handle]>>,
    ints: Vec<Box<[i64]>>,
    floats: Vec<Box<[f64]>>,
}

impl Packed {
    pub(super) fn with_capacity(count: usize) -> Self {
        let values = Vec::with_capacity(count);
        Self { values, handles: Vec::new(), ints: Vec::new(), floats: Vec::new() }
    }

    /// Appends a value, which has to live until the call; false if it is not of the type.
    #[must_use]
    pub(super) fn push(&mut self, value: &Value, ty: &Type) -> bool {
        let raw = self.raw(value, ty);
        self.values.extend(raw);
        raw.is_some()
    }

    /// Appends a tensor, which has to live until the call.
    pub(super) fn push_tensor(&mut self, tensor: &Tensor) {
        self.values.push(RawValue::tensor(lend(tensor)));
    }

    fn raw(&mut self, value: &Value, ty: &Type) -> Option<RawValue> {
        Some(match (ty, value) {
            (Type::Tensor, Value::Tensor(tensor)) => RawValue::tensor(lend(tensor)),
            (Type::Optional(_), Value::None) => RawValue::NONE,
            (Type::Optional(inner), value) => return self.raw(value, inner),
            // As in PyTorch, a number that takes part in arithmetic does not decide the dtype.
            (Type::Tensor, value) => number(value)?.wrapped(),
            (Type::Scalar, _)
            | (Type::Int, Value::Int(_))
            | (Type::Bool, Value::Bool(_))
            | (Type::Float, Value::Float(_))
            | (Type::Complex, Value::Complex(..)) => return number(value),
            (Type::Float, &Value::Int(value)) => RawValue::real(float(value)),
            (Type::Str, Value::Str(text)) => RawValue::list(tag::STRING, text.as_bytes()),
            (Type::Kind, &Value::Kind(kind)) => RawValue::integer(tag::INT, number_of_kind(kind)),
            (Type::Layout, Value::Layout(layout)) => RawValue::integer(tag::INT, layout.to_i8().into()),
            (Type::MemoryFormat, &Value::MemoryFormat(format)) => RawValue::integer(tag::INT, format as i64),
            (Type::Device, &Value::Device(device)) => {
                let (kind, index) = numbers_of_device(device);
                RawValue::device(kind, index)
            }
            (Type::List(inner, length), value) => return self.list(value, inner, *length),
            _ => return None,
        })
    }

    fn list(&mut self, value: &Value, inner: &Type, length: Option<usize>) -> Option<RawValue> {
        Some(match (inner, value) {
            (Type::Int, Value::Ints(list)) => RawValue::list(tag::INTS, list),
            (Type::Int, &Value::Int(value)) => RawValue::list(tag::INTS, own(&mut self.ints, vec![value; length?])),
            (Type::Float, Value::Floats(list)) => RawValue::list(tag::FLOATS, list),
            (Type::Float, Value::Ints(list)) => {
                let list = list.iter().map(|&value| float(value)).collect();
                RawValue::list(tag::FLOATS, own(&mut self.floats, list))
            }
            (Type::Bool, Value::Bools(list)) => RawValue::list(tag::BOOLS, list),
            (Type::Bool, Value::Bool(true)) => RawValue::list(tag::BOOLS, [true; 8].get(..length?)?),
            (Type::Bool, Value::Bool(false)) => RawValue::list(tag::BOOLS, [false; 8].get(..length?)?),
            (Type::Scalar, Value::Ints(list)) => RawValue::list(tag::INTS, list).wrapped(),
            (Type::Scalar, Value::Floats(list)) => RawValue::list(tag::FLOATS, list).wrapped(),
            (Type::Tensor, Value::Tensors(list)) => self.tensors(list.iter().map(lend)),
            (Type::Optional(of), Value::Tensors(list)) if **of == Type::Tensor => {
                self.tensors(list.iter().map(lend)).wrapped()
            }
            (Type::Optional(of), Value::OptionalTensors(list)) if **of == Type::Tensor => {
                let handles = list.iter().map(|tensor| tensor.as_ref().map_or(std::ptr::null_mut(), lend));
                self.tensors(handles).wrapped()
            }
            _ => return None,
        })
    }

    fn tensors(&mut self, handles: impl Iterator<Item = Handle>) -> RawValue {
        RawValue::list(tag::TENSORS, own(&mut self.handles, handles.collect()))
    }
}

/// Keeps a list for the call.
fn own<T>(lists: &mut Vec<Box<[T]>>, list: Vec<T>) -> &[T] {
    lists.push(list.into());
    lists.last().map_or(&[], |list| list)
}

fn number(value: &Value) -> Option<RawValue> {
    match *value {
        Value::Int(value) => Some(RawValue::integer(tag::INT, value)),
        Value::Float(value) => Some(RawValue::real(value)),
        Value::Bool(value) => Some(RawValue::integer(tag::BOOL, value.into())),
        Value::Complex(real, imaginary) => Some(RawValue::complex(real, imaginary)),
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "as Python and libtorch make a float of an integer")]
fn float(value: i64) -> f64 {
    value as f64
}
