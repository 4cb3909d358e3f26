//! The activation that a oneDNN kernel applies to its result before it is stored, in the words of its C entry point.

use std::ffi::{CStr, c_char};
use std::ptr;

use fx_ir::{OpId, ops};

use super::entry::Handle;

/// The names of ops as C has them, by the rows of the op table.
macro_rules! c_names {
    ($($id:ident = row($name:literal $($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $formula:ident($($params:tt)*) = $body:expr, by $method:ident $(=> $act:ident $in_place:ident)?)?;)*) => {
        /// The op's name, by which libtorch's C functions know it; empty for an op without a row.
        pub(super) const fn c_name(op: OpId) -> &'static CStr {
            match op {
                $(ops::$id => const { ended(concat!($name, "\0")) },)*
                _ => c"",
            }
        }
    };
}

fx_ir::op_table!(c_names);

/// A text that ends with a zero.
const fn ended(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// An activation that oneDNN has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PostOp {
    /// The kernel stores what it computed.
    None,
    Relu,
    /// With the slope below zero.
    LeakyRelu(f64),
    /// With a lower and an upper bound.
    Clip(f64, f64),
    HardSwish,
    Swish,
    Logistic,
    Tanh,
    Gelu,
    /// By the formula with tanh.
    GeluTanh,
}

impl PostOp {
    /// What libtorch calls it, its scalars and how many there are, and which formula it is of several.
    fn parts(self) -> (&'static CStr, [f64; 2], i64, &'static CStr) {
        match self {
            Self::None => (c"none", [0.0; 2], 0, c""),
            Self::Relu => (c_name(ops::RELU), [0.0; 2], 0, c""),
            Self::LeakyRelu(slope) => (c_name(ops::LEAKY_RELU), [slope, 0.0], 1, c""),
            Self::Clip(low, high) => (c_name(ops::HARDTANH), [low, high], 2, c""),
            Self::HardSwish => (c_name(ops::HARDSWISH), [0.0; 2], 0, c""),
            Self::Swish => (c"swish", [0.0; 2], 0, c""),
            Self::Logistic => (c_name(ops::SIGMOID), [0.0; 2], 0, c""),
            Self::Tanh => (c_name(ops::TANH), [0.0; 2], 0, c""),
            Self::Gelu => (c_name(ops::GELU), [0.0; 2], 0, c"none"),
            Self::GeluTanh => (c_name(ops::GELU), [0.0; 2], 0, c"tanh"),
        }
    }

    /// Hands the four C arguments to `call`; the pointers live that long.
    pub(super) fn lend<R>(&self, call: impl FnOnce(RawPostOp) -> R) -> R {
        let (name, scalars, count, algorithm) = self.parts();
        let scalars = [&raw const scalars[0], &raw const scalars[1]];
        let algorithm = algorithm.as_ptr();
        call(RawPostOp { name: name.as_ptr(), scalars: scalars.as_ptr(), count, algorithm: &raw const algorithm })
    }
}

/// [`PostOp`] as the C functions take it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawPostOp {
    pub(super) name: *const c_char,
    /// One pointer a scalar: null would mean that it is absent.
    pub(super) scalars: *const *const f64,
    pub(super) count: i64,
    /// Pointer to the string: null would mean that it is absent.
    pub(super) algorithm: *const *const c_char,
}

/// A pointer to an optional handle; null is none.
pub(super) fn optional(handle: Option<&Handle>) -> *const Handle {
    handle.map_or(ptr::null(), ptr::from_ref)
}
