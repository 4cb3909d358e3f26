//! The activation that a oneDNN kernel applies to its result before it is stored, in the words of its C entry point.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::entry::Handle;

/// A fused activation: its name, up to two scalars, and for GELU which formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PostOp {
    name: &'static CStr,
    scalars: [f64; 2],
    count: usize,
    algorithm: &'static CStr,
}

impl PostOp {
    /// The kernel stores what it computed.
    pub(crate) const NONE: Self = Self::plain(c"none");

    /// An activation without parameters.
    pub(crate) const fn plain(name: &'static CStr) -> Self {
        Self { name, scalars: [0.0; 2], count: 0, algorithm: c"" }
    }

    /// An activation with one parameter.
    pub(crate) const fn with_scalar(name: &'static CStr, scalar: f64) -> Self {
        Self { name, scalars: [scalar, 0.0], count: 1, algorithm: c"" }
    }

    /// An activation with a lower and an upper bound.
    pub(crate) const fn with_bounds(name: &'static CStr, low: f64, high: f64) -> Self {
        Self { name, scalars: [low, high], count: 2, algorithm: c"" }
    }

    /// An activation that exists in more than one formula.
    pub(crate) const fn with_algorithm(name: &'static CStr, algorithm: &'static CStr) -> Self {
        Self { name, scalars: [0.0; 2], count: 0, algorithm }
    }

    /// Name, scalars and formula.
    pub(super) fn parts(&self) -> (&'static str, [f64; 2], &'static str) {
        // All names are ASCII literals.
        (self.name.to_str().unwrap_or(""), self.scalars, self.algorithm.to_str().unwrap_or(""))
    }

    /// Hands the four C arguments to `call`; the pointers live that long.
    pub(super) fn lend<R>(&self, call: impl FnOnce(RawPostOp) -> R) -> R {
        let scalars = [&raw const self.scalars[0], &raw const self.scalars[1]];
        let algorithm = self.algorithm.as_ptr();
        call(RawPostOp {
            name: self.name.as_ptr(),
            scalars: scalars.as_ptr(),
            // At most two, see the constructors.
            count: if self.count == 2 { 2 } else { i64::from(self.count == 1) },
            algorithm: &raw const algorithm,
        })
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
