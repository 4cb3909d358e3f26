//! The activation that a oneDNN kernel applies to its result before it is stored, in the words of its C entry point.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::entry::Handle;

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
            Self::Relu => (c"relu", [0.0; 2], 0, c""),
            Self::LeakyRelu(slope) => (c"leaky_relu", [slope, 0.0], 1, c""),
            Self::Clip(low, high) => (c"hardtanh", [low, high], 2, c""),
            Self::HardSwish => (c"hardswish", [0.0; 2], 0, c""),
            Self::Swish => (c"swish", [0.0; 2], 0, c""),
            Self::Logistic => (c"sigmoid", [0.0; 2], 0, c""),
            Self::Tanh => (c"tanh", [0.0; 2], 0, c""),
            Self::Gelu => (c"gelu", [0.0; 2], 0, c"none"),
            Self::GeluTanh => (c"gelu", [0.0; 2], 0, c"tanh"),
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
