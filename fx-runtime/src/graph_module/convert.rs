//! Values out of what a caller has, and back.

use std::rc::Rc;

use fx_ir::host::eval::{FloatType, IntType};
use tch::nn::{GRUState, LSTMState};
use tch::{Device, Kind, Tensor};

use super::Value;
use crate::saved::KINDS;

/// What can be handed to a graph, or is handed over by a model.
pub trait IntoValue {
    /// The value. A tensor is a second handle on the same storage.
    fn value(&self) -> Value;
}

/// The value of anything that has one: `value(&xs)`, `value(3)`, `value(Some(&mask))`.
#[allow(clippy::needless_pass_by_value, reason = "a number is handed over as it is")]
pub fn value(of: impl IntoValue) -> Value {
    of.value()
}

/// The inputs of a graph: one tensor, or a value for each of its placeholders.
pub trait IntoInputs {
    /// The values in the order of the placeholders.
    fn inputs(self) -> Vec<Value>;
}

impl IntoInputs for &Tensor {
    fn inputs(self) -> Vec<Value> {
        vec![self.value()]
    }
}

impl IntoInputs for &[Value] {
    fn inputs(self) -> Vec<Value> {
        self.to_vec()
    }
}

impl IntoInputs for &Vec<Value> {
    fn inputs(self) -> Vec<Value> {
        self.clone()
    }
}

impl<const N: usize> IntoInputs for &[Value; N] {
    fn inputs(self) -> Vec<Value> {
        self.to_vec()
    }
}

impl IntoValue for Tensor {
    fn value(&self) -> Value {
        Value::Tensor(Rc::new(self.shallow_clone()))
    }
}

impl IntoValue for Value {
    fn value(&self) -> Value {
        self.clone()
    }
}

macro_rules! into_value {
    ($($ty:ty: $value:ident => $made:expr;)+) => {
        $(impl IntoValue for $ty {
            fn value(&self) -> Value {
                let $value = self;
                $made
            }
        })+
    };
}

into_value! {
    i64: number => Value::Int(i128::from(*number), IntType::I64);
    i32: number => Value::Int(i128::from(*number), IntType::I32);
    usize: number => Value::count(*number);
    f64: number => Value::Float(*number, FloatType::F64);
    f32: number => Value::Float(f64::from(*number), FloatType::F32);
    bool: known => Value::Bool(*known);
    (): _unit => Value::Unit;
    str: text => Value::Str(text.to_owned());
    String: text => Value::Str(text.clone());
    Kind: kind => Value::Path(format!("Kind::{kind:?}"));
    Device: device => of_device(*device);
    LSTMState: state => Value::Struct("LSTMState".to_owned(), vec![("0".to_owned(), state.0.value())]);
    GRUState: state => Value::Struct("GRUState".to_owned(), vec![("0".to_owned(), state.0.value())]);
}

impl<T: IntoValue + ?Sized> IntoValue for &T {
    fn value(&self) -> Value {
        (**self).value()
    }
}

impl<T: IntoValue + ?Sized> IntoValue for &mut T {
    fn value(&self) -> Value {
        (**self).value()
    }
}

impl<T: IntoValue + ?Sized> IntoValue for Box<T> {
    fn value(&self) -> Value {
        (**self).value()
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn value(&self) -> Value {
        Value::option(self.as_ref().map(IntoValue::value))
    }
}

impl<T: IntoValue> IntoValue for [T] {
    fn value(&self) -> Value {
        Value::List(self.iter().map(IntoValue::value).collect())
    }
}

impl<T: IntoValue> IntoValue for Vec<T> {
    fn value(&self) -> Value {
        self.as_slice().value()
    }
}

impl<T: IntoValue, const N: usize> IntoValue for [T; N] {
    fn value(&self) -> Value {
        self.as_slice().value()
    }
}

macro_rules! tuple_into_value {
    ($($name:ident $at:tt),+) => {
        impl<$($name: IntoValue),+> IntoValue for ($($name,)+) {
            fn value(&self) -> Value {
                Value::Tuple(vec![$(self.$at.value()),+])
            }
        }
    };
}
tuple_into_value!(A 0);
tuple_into_value!(A 0, B 1);
tuple_into_value!(A 0, B 1, C 2);
tuple_into_value!(A 0, B 1, C 2, D 3);
tuple_into_value!(A 0, B 1, C 2, D 3, E 4);
tuple_into_value!(A 0, B 1, C 2, D 3, E 4, F 5);

/// A device as a value: `Device::Cpu`, `Device::Cuda(1)`.
fn of_device(device: Device) -> Value {
    match device {
        Device::Cuda(index) => Value::Struct("Device::Cuda".to_owned(), vec![("0".to_owned(), Value::count(index))]),
        other => Value::Path(format!("Device::{other:?}")),
    }
}

/// The device that a value names.
pub(super) fn device(value: &Value) -> Option<Device> {
    match value {
        Value::Path(path) => match path.as_str() {
            "Device::Cpu" => Some(Device::Cpu),
            "Device::Mps" => Some(Device::Mps),
            "Device::Vulkan" => Some(Device::Vulkan),
            _ => None,
        },
        Value::Struct(path, fields) if path.ends_with("Device::Cuda") => {
            fields.first().and_then(|(_, index)| index.as_usize()).map(Device::Cuda)
        }
        _ => None,
    }
}

/// The dtype that a value names.
pub(super) fn kind(value: &Value) -> Option<Kind> {
    let Value::Path(path) = value else { return None };
    let name = path.strip_prefix("Kind::")?;
    KINDS.into_iter().find(|kind| format!("{kind:?}") == name)
}

/// The tensor, of an option what it holds.
pub(super) fn tensor(value: &Value) -> Option<&Tensor> {
    match value {
        Value::Tensor(tensor) => Some(tensor),
        Value::Option(Some(held)) => tensor(held),
        _ => None,
    }
}
