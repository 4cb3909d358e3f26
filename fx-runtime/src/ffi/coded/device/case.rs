//! What kernels of products with integers are compiled for.

use crate::ffi::pointwise::device::Stored;

/// What a kernel is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Case {
    pub(super) stored: Stored,
    /// Of four bits.
    pub(super) is_halves: bool,
    /// Of `x`, or eights of them.
    pub(super) rows: i64,
}

/// Numbers of one load of 16 bytes, of four bits or of eight.
pub(super) fn width(is_halves: bool) -> i64 {
    if is_halves { 32 } else { 16 }
}
