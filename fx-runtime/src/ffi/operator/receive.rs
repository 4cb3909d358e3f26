//! What libtorch hands back: results, descriptions, and its words where it refuses.

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use fx_ir::Arg;
use tch::Tensor;
use torch_sys::C_tensor;

use super::raw::{RawArgument, RawValue, Sink, tag};
use super::schema::{Alias, Argument, Returned, Schema, Type};
use super::value::{Value, device_of_numbers, format_of_number, kind_of_number, layout_of_number};

/// Calls a function that gives values, and its reason when it fails, to a sink.
pub(super) fn received(call: impl FnOnce(*mut c_void, Sink) -> c_int) -> Result<Vec<Value>, String> {
    let mut values: Vec<Value> = Vec::new();
    let status = call((&raw mut values).cast(), receive);
    match (status, values.pop()) {
        (0, None) => Ok(values),
        (0, Some(last)) => {
            values.push(last);
            Ok(values)
        }
        (_, Some(Value::Str(reason))) => Err(reason),
        _ => Err("libtorch gave no reason".to_owned()),
    }
}

/// Takes over one value.
unsafe extern "C" fn receive(context: *mut c_void, raw: *const RawValue) {
    // SAFETY: the context is the vector of `received`, which nobody else uses during the call, and `raw` points at a value
    // that is valid until this function returns.
    let (values, raw) = unsafe { (&mut *context.cast::<Vec<Value>>(), &*raw) };
    // SAFETY: as above; a tensor in it is given away, and this is called once for it.
    values.push(unsafe { value(raw) });
}

/// # Safety
///
/// The value comes from `cpp/operator.cpp`: its tag says what it holds, and its tensors are given away.
unsafe fn value(raw: &RawValue) -> Value {
    // SAFETY: each tag says which of the payloads was written; lists live as long as `raw`.
    unsafe {
        match raw.tag {
            tag::TENSOR => Value::Tensor(Tensor::from_ptr(raw.payload.data.cast::<C_tensor>().cast_mut())),
            tag::INT => Value::Int(raw.payload.integer),
            tag::FLOAT => Value::Float(raw.payload.real),
            tag::BOOL => Value::Bool(raw.payload.integer != 0),
            tag::COMPLEX => Value::Complex(raw.payload.real, raw.extra.imaginary),
            tag::STRING => Value::Str(String::from_utf8_lossy(list(raw)).into_owned()),
            tag::DEVICE => device_of_numbers(raw.payload.integer, raw.form).map_or(Value::None, Value::Device),
            tag::INTS => Value::Ints(list(raw).to_vec()),
            tag::FLOATS => Value::Floats(list(raw).to_vec()),
            tag::BOOLS => Value::Bools(list::<u8>(raw).iter().map(|&byte| byte != 0).collect()),
            tag::TENSORS => tensors(list(raw)),
            _ => Value::None,
        }
    }
}

/// # Safety
///
/// The value holds a list of `T` that lives as long as it.
unsafe fn list<T>(raw: &RawValue) -> &[T] {
    // SAFETY: by this function's contract; a list without elements may have no address.
    unsafe {
        let (data, length) = (raw.payload.data.cast::<T>(), usize::try_from(raw.extra.length).unwrap_or(0));
        if data.is_null() || length == 0 { &[] } else { slice::from_raw_parts(data, length) }
    }
}

/// # Safety
///
/// The handles are null or given away.
unsafe fn tensors(handles: &[*mut C_tensor]) -> Value {
    // SAFETY: by this function's contract.
    let take = |&handle: &*mut C_tensor| (!handle.is_null()).then(|| unsafe { Tensor::from_ptr(handle) });
    let tensors: Vec<Option<Tensor>> = handles.iter().map(take).collect();
    if tensors.iter().all(Option::is_some) {
        Value::Tensors(tensors.into_iter().flatten().collect())
    } else {
        Value::OptionalTensors(tensors)
    }
}

/// The value as its type says: dtypes, layouts and memory formats come as numbers.
pub(super) fn typed(value: Value, ty: &Type) -> Value {
    match (ty, value) {
        (Type::Optional(inner), value) => typed(value, inner),
        (Type::Kind, Value::Int(number)) => kind_of_number(number).map_or(Value::Int(number), Value::Kind),
        (Type::Layout, Value::Int(number)) => layout_of_number(number).map_or(Value::Int(number), Value::Layout),
        (Type::MemoryFormat, Value::Int(number)) => {
            format_of_number(number).map_or(Value::Int(number), Value::MemoryFormat)
        }
        (_, value) => value,
    }
}

/// Appends an argument or a result to the schema that `context` points at.
pub(super) unsafe extern "C" fn describe(context: *mut c_void, raw: *const RawArgument) {
    // SAFETY: the context is the schema of `Entry::read`, which nobody else uses during the call; `raw` and what it points
    // at are valid until this function returns.
    let (schema, raw) = unsafe { (&mut *context.cast::<Schema>(), &*raw) };
    // SAFETY: as above; the addresses and lengths are those of C++ strings.
    let (name, ty, set) =
        unsafe { (text(raw.name, raw.name_length), text(raw.ty, raw.type_length), text(raw.alias, raw.alias_length)) };
    let length = usize::try_from(raw.list_length).ok().filter(|&length| length > 0);
    let ty = Type::of_kinds(&raw.kinds, length, &ty);
    let alias = (!set.is_empty()).then_some(Alias { set, is_written: raw.is_written });
    // SAFETY: the value comes from the same place, once.
    let default = unsafe { value(&raw.value) };
    if raw.is_result {
        schema.results.push(Returned { name, ty, alias });
    } else {
        let default = raw.has_default.then(|| argument(default));
        schema.arguments.push(Argument { name, ty, default, is_keyword_only: raw.is_keyword_only, alias });
    }
}

/// # Safety
///
/// At the address lie as many bytes, or there are none.
unsafe fn text(data: *const c_char, length: usize) -> String {
    if data.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: by this function's contract.
    String::from_utf8_lossy(unsafe { slice::from_raw_parts(data.cast(), length) }).into_owned()
}

/// A default as it stands in a graph.
fn argument(value: Value) -> Arg {
    match value {
        Value::Int(value) => Arg::Int(value),
        Value::Float(value) => Arg::Float(value),
        Value::Bool(value) => Arg::Bool(value),
        Value::Str(text) => Arg::Str(text),
        Value::Device(device) => Arg::Path(format!("Device::{device:?}")),
        Value::Ints(list) => Arg::List(list.into_iter().map(Arg::Int).collect()),
        Value::Floats(list) => Arg::List(list.into_iter().map(Arg::Float).collect()),
        Value::Bools(list) => Arg::List(list.into_iter().map(Arg::Bool).collect()),
        Value::Tensors(list) if list.is_empty() => Arg::List(Vec::new()),
        _ => Arg::None,
    }
}
