//! What methods of the standard library's options and lists mean.

pub(in crate::trace) mod convert;
pub(in crate::trace) mod element;
pub(in crate::trace) mod map;
pub(in crate::trace) mod method_type;
pub(in crate::trace) mod option;
pub(in crate::trace) mod store;
pub(in crate::trace) mod tensor_of;
pub(in crate::trace) mod vec;
pub(in crate::trace) mod vec_append;
pub(in crate::trace) mod vec_extend;
pub(in crate::trace) mod vec_fill;
pub(in crate::trace) mod vec_push;
