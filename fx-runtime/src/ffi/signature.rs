//! Operators by name with the types they take, so that a call through the dispatcher can be checked before it is made.

use std::ffi::CStr;

/// Type of an argument or result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Tensor,
    Bool,
    IntList,
    Int,
    MemoryFormat,
    /// The type itself, or nothing.
    Optional(&'static Type),
}

/// A registered operator: name, overload, arguments in order, and its one result.
///
/// The dispatcher reads every slot as the operator's own schema says; a tensor where it expects an integer would be
/// undefined behaviour. That is why signatures are made in [`super::ops`] alone.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(super) name: &'static CStr,
    pub(super) overload: &'static CStr,
    pub(super) arguments: &'static [Type],
    pub(super) result: Type,
}

impl Signature {
    /// # Safety
    ///
    /// The operator exists in the known release of libtorch with exactly this schema.
    pub(super) const unsafe fn new(
        name: &'static CStr,
        overload: &'static CStr,
        arguments: &'static [Type],
        result: Type,
    ) -> Self {
        Self { name, overload, arguments, result }
    }
}
