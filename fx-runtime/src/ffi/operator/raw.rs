//! What crosses the border to `cpp/operator.cpp`, declared as it is there.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use torch_sys::C_tensor;

/// A registered operator, which is never given back.
#[repr(C)]
pub(super) struct RawOperator {
    _private: [u8; 0],
}

/// What a [`RawValue`] is.
pub(super) mod tag {
    pub(in super::super) const NONE: u32 = 0;
    pub(in super::super) const DEFAULT: u32 = 1;
    pub(in super::super) const TENSOR: u32 = 2;
    pub(in super::super) const INT: u32 = 3;
    pub(in super::super) const FLOAT: u32 = 4;
    pub(in super::super) const BOOL: u32 = 5;
    pub(in super::super) const COMPLEX: u32 = 6;
    pub(in super::super) const STRING: u32 = 7;
    pub(in super::super) const DEVICE: u32 = 8;
    pub(in super::super) const INTS: u32 = 9;
    pub(in super::super) const FLOATS: u32 = 10;
    pub(in super::super) const BOOLS: u32 = 11;
    pub(in super::super) const TENSORS: u32 = 12;
}

/// A number as a tensor, numbers as scalars, tensors as optional tensors.
pub(super) const WRAPPED: i32 = 1;

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Payload {
    pub(super) integer: i64,
    pub(super) real: f64,
    pub(super) data: *const c_void,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Extra {
    pub(super) length: u64,
    pub(super) imaginary: f64,
}

/// A tagged value; what it points at is borrowed, except a tensor that comes from libtorch, which is given away.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct RawValue {
    pub(super) tag: u32,
    /// [`WRAPPED`] or 0; of a device its index.
    pub(super) form: i32,
    pub(super) payload: Payload,
    pub(super) extra: Extra,
}

impl RawValue {
    pub(super) const NONE: Self = Self::integer(tag::NONE, 0);
    pub(super) const DEFAULT: Self = Self::integer(tag::DEFAULT, 0);

    pub(super) const fn integer(tag: u32, integer: i64) -> Self {
        Self { tag, form: 0, payload: Payload { integer }, extra: Extra { length: 0 } }
    }

    pub(super) const fn real(real: f64) -> Self {
        Self { tag: tag::FLOAT, form: 0, payload: Payload { real }, extra: Extra { length: 0 } }
    }

    pub(super) const fn complex(real: f64, imaginary: f64) -> Self {
        Self { tag: tag::COMPLEX, form: 0, payload: Payload { real }, extra: Extra { imaginary } }
    }

    pub(super) const fn device(kind: i64, index: i32) -> Self {
        Self { form: index, ..Self::integer(tag::DEVICE, kind) }
    }

    pub(super) fn tensor(handle: *const C_tensor) -> Self {
        let data = handle.cast();
        Self { tag: tag::TENSOR, form: 0, payload: Payload { data }, extra: Extra { length: 0 } }
    }

    /// A list or a text, which has to outlive the call.
    pub(super) fn list<T>(tag: u32, list: &[T]) -> Self {
        let (data, length) = (ptr::from_ref(list).cast(), list.len() as u64);
        Self { tag, form: 0, payload: Payload { data }, extra: Extra { length } }
    }

    pub(super) const fn wrapped(self) -> Self {
        Self { form: WRAPPED, ..self }
    }
}

/// One argument or result of a schema.
#[allow(clippy::struct_excessive_bools, reason = "as it is declared in C++")]
#[repr(C)]
pub(super) struct RawArgument {
    pub(super) name: *const c_char,
    pub(super) name_length: usize,
    pub(super) ty: *const c_char,
    pub(super) type_length: usize,
    pub(super) alias: *const c_char,
    pub(super) alias_length: usize,
    /// From the outermost inwards, see [`super::schema`].
    pub(super) kinds: [u8; 4],
    pub(super) list_length: i32,
    pub(super) is_result: bool,
    pub(super) is_written: bool,
    pub(super) is_keyword_only: bool,
    pub(super) has_default: bool,
    pub(super) value: RawValue,
}

pub(super) type Sink = unsafe extern "C" fn(*mut c_void, *const RawValue);
pub(super) type Arguments = unsafe extern "C" fn(*mut c_void, *const RawArgument);

unsafe extern "C" {
    pub(super) fn fx_operator_find(
        name: *const c_char,
        name_length: usize,
        overload: *const c_char,
        overload_length: usize,
        out: *mut *const RawOperator,
        context: *mut c_void,
        sink: Sink,
    ) -> c_int;
    pub(super) fn fx_operator_overloads(
        name: *const c_char,
        name_length: usize,
        context: *mut c_void,
        sink: Sink,
    ) -> c_int;
    pub(super) fn fx_operator_schema(
        operator: *const RawOperator,
        schema: *mut c_void,
        arguments: Arguments,
        context: *mut c_void,
        sink: Sink,
    ) -> c_int;
    pub(super) fn fx_operator_call(
        operator: *const RawOperator,
        values: *const RawValue,
        count: usize,
        context: *mut c_void,
        sink: Sink,
    ) -> c_int;
}
